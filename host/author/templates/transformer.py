"""Writes tabs of tool results as spaces."""

from leafgate import transformer

# What `config` of a rule file may be: the gate tells what does not fit by key and line.
SCHEMA = {
    "type": "object",
    "properties": {
        "width": {"type": "integer", "minimum": 0, "maximum": 16, "description": "Spaces that a tab becomes; 4."},
    },
    "additionalProperties": False,
}


@transformer(name="{{name}}", schema=SCHEMA)
def rewrite(config, request):
    """Writes tabs of tool results as spaces."""
    spaces = " " * config.get("width", 4)
    results = [leaf for leaf in request.leaves if leaf.kind == "tool-result" and "\t" in leaf.text]
    return [leaf.set(leaf.text.replace("\t", spaces)) for leaf in results]

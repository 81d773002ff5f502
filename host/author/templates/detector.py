"""Finds words that a rule file lists."""

import re

from leafgate import detector

# What `config` of a rule file may be: the gate tells what does not fit by key and line.
SCHEMA = {
    "type": "object",
    "properties": {
        "words": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "The words to find."},
    },
    "required": ["words"],
    "additionalProperties": False,
}


def prepare(config):
    """Runs once on load: one pattern for all words."""
    return re.compile("|".join(re.escape(word) for word in config["words"] if word) or r"(?!)")


@detector(name="{{name}}", labels=["WORD"], schema=SCHEMA, prepare=prepare)
def find(pattern, leaf):
    """Finds configured words."""
    return leaf.find(pattern)

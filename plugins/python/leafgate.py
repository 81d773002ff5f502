"""Leafgate plugins in Python: one function, tested like any other, built with componentize-py.

A detector says where in a leaf something is that must not be sent; the gate puts the placeholder in:

    import re
    from leafgate import detector

    @detector(labels=["PROJECT"], schema={"type": "object", "properties": {"words": {"type": "array"}}})
    def find_projects(config, leaf):
        \"\"\"Finds the names of projects.\"\"\"
        return [finding for word in config.get("words", []) for finding in leaf.find(re.escape(word))]

A transformer sees a request and proposes edits:

    from leafgate import transformer

    @transformer()
    def tabs(config, request):
        \"\"\"Writes tabs of tool results as spaces.\"\"\"
        results = [leaf for leaf in request.leaves if leaf.kind == "tool-result" and "\\t" in leaf.text]
        return [leaf.set(leaf.text.replace("\\t", "    ")) for leaf in results]

`prepare=f` gives the function what `f(config)` made of the configuration; a `ValueError` from it is shown to whoever wrote that, and a
JSON pointer at its beginning (`/patterns/3: not a pattern`) is told at its line. Places in a text are those of `str`. There is no clock,
no random number, no file and no network in a plugin, and the same input must give the same answer: what is read, is read while the
module is imported, which happens once, at build time. `print` goes to whoever tests the plugin.
"""

from __future__ import annotations

import builtins
import inspect
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from importlib.machinery import BuiltinImporter, FrozenImporter
from typing import Any, Callable, Iterable

try:  # In a component.
    import wit_world.imports.types as wit
    from componentize_py_types import Err
    from wit_world.imports import host
except ImportError:  # In a test: plain Python.
    wit = None


class Failure(Exception):
    """No answer can be given. The rule's `on_error` decides, and reviewers see the text."""


@dataclass
class Finding:
    """A stretch of one leaf, in UTF-8 bytes."""

    leaf: int
    start: int
    end: int
    label: str | None = None
    confidence: str = "high"


@dataclass
class Edit:
    """One edit: what it is about (`request`, `section` or `leaf`, with its place), and what it does."""

    target: tuple[str, int]
    action: str
    value: Any = None


@dataclass
class _Text:
    """A text, and where its characters lie in UTF-8."""

    text: str

    def bytes_of(self, start: int, end: int) -> tuple[int, int]:
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(f"{start} to {end} is no stretch of a text of {len(self.text)} characters")
        if self.text.isascii():
            return start, end
        # A search goes forwards: what lies before the last place is not counted again.
        known = self.__dict__.get("_known", (0, 0))
        if start < known[0]:
            known = (0, 0)
        first = known[1] + len(self.text[known[0] : start].encode())
        self.__dict__["_known"] = (start, first)
        return first, first + len(self.text[start:end].encode())

    def _matches(self, pattern: str | re.Pattern, group: int | str) -> Iterable[tuple[int, int]]:
        spans = (match.span(group) for match in re.finditer(pattern, self.text))
        return (span for span in spans if span[0] < span[1])


@dataclass
class Leaf(_Text):
    """One scalar of a request, as a detector sees it. `kind`, `value` and `role` are words of the contract: `tool-result`, `text`, `user`."""

    kind: str = "text"
    value: str = "text"
    role: str = "user"
    tool: str | None = None
    key: str = "content"
    id: int = 0

    def finding(self, start: int, end: int, label: str | None = None, confidence: str = "high") -> Finding:
        """A finding at a place of `text`, counted in characters."""
        return Finding(self.id, *self.bytes_of(start, end), label, confidence)

    def find(
        self, pattern: str | re.Pattern, label: str | None = None, confidence: str = "high", group: int | str = 0
    ) -> list[Finding]:
        """A finding for each match of a regular expression, or for a group of it."""
        return [self.finding(start, end, label, confidence) for start, end in self._matches(pattern, group)]


class _Remarks:
    """What can be said of anything."""

    def note(self, text: str) -> Edit:
        """A remark for the reviewer."""
        return Edit(self.target, "note", text)

    def pause(self, text: str) -> Edit:
        """Asks a person."""
        return Edit(self.target, "pause", text)

    def block(self, text: str) -> Edit:
        """Stops the request."""
        return Edit(self.target, "block", text)


@dataclass
class RequestLeaf(_Text, _Remarks):
    """One scalar that the rule selected, as a transformer sees it."""

    kind: str = "text"
    value: str = "text"
    pointer: str = ""
    key: str = "content"
    section: int = 0
    id: int = 0

    @property
    def target(self) -> tuple[str, int]:
        return ("leaf", self.id)

    def set(self, text: str) -> Edit:
        """New text; for a number, a boolean or null its JSON spelling."""
        return Edit(self.target, "set", text)

    def redact(self, places: Iterable[tuple[int, int]], label: str | None = None) -> Edit:
        """Redacts stretches of the text, counted in characters."""
        return Edit(self.target, "redact", [(*self.bytes_of(start, end), label) for start, end in places])

    def pin(self) -> Edit:
        """Later rules may not change it."""
        return Edit(self.target, "pin")


@dataclass
class Section(_Remarks):
    """A message, a content part, a tool call or a request option."""

    kind: str
    role: str = "user"
    label: str = ""
    tool: str | None = None
    parent: int | None = None
    message: int | None = None
    id: int = 0

    @property
    def target(self) -> tuple[str, int]:
        return ("section", self.id)

    def pin(self) -> Edit:
        """Later rules may not change it."""
        return Edit(self.target, "pin")

    def delete(self) -> Edit:
        """Deletes its message."""
        return Edit(self.target, "delete")

    def insert_before(self, role: str, text: str) -> Edit:
        """Inserts a whole message before it."""
        return Edit(self.target, "insert-before", (role, text))


@dataclass
class Request(_Remarks):
    """A request as far as the rule selected it."""

    leaves: list[RequestLeaf] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    format: str = "generic"
    model: str = ""
    session: str = ""
    subagent: bool = False

    target = ("request", 0)

    def is_within(self, leaf: RequestLeaf, kind: str) -> bool:
        """Whether a leaf lies in a section of this kind, at any depth."""
        place, left = leaf.section, len(self.sections)
        while place is not None and place < len(self.sections) and left > 0:
            if self.sections[place].kind == kind:
                return True
            place, left = self.sections[place].parent, left - 1
        return False


def detector(*, labels: list[str], **settings: Any) -> Callable:
    """Makes a function `(config, leaf) -> [Finding]` the plugin's detector. `labels` names what it finds, its first one where a finding
    names none. Further settings, all optional: `schema` (JSON Schema of the configuration), `prepare`, `name`, `version`, `summary`."""
    return lambda function: _export("Detect", function, labels, **settings)


def transformer(*, labels: list[str] = [], **settings: Any) -> Callable:
    """Makes a function `(config, request) -> [Edit]` the plugin's transformer. Settings are those of `detector`; `labels` are for
    redactions."""
    return lambda function: _export("Transform", function, labels, **settings)


def _export(
    world: str,
    function: Callable,
    labels: list[str],
    schema: dict | None = None,
    prepare: Callable[[Any], Any] | None = None,
    name: str | None = None,
    version: str = "0.1.0",
    summary: str | None = None,
) -> Callable:
    """Puts the classes that componentize-py looks for beside the function. In a test there is nobody who looks."""
    if wit is None:
        return function
    module = sys.modules[function.__module__]
    if hasattr(module, "Lifecycle"):
        raise TypeError("a plugin has one function: split it in two files")
    said = summary or (inspect.getdoc(function) or "").strip().split("\n")[0].rstrip(".")
    plugin = _Plugin(function, list(labels), prepare or (lambda config: config))
    text = None if schema is None else json.dumps(schema)
    described = (name or function.__name__.replace("_", "-"), version, said, list(labels), text)
    module.Lifecycle = type("Lifecycle", (), {
        "describe": lambda self: _description(described),
        "configure": lambda self, config: plugin.configure(config),
    })
    if world == "Detect":
        module.Detect = type("Detect", (), {"detect": lambda self, leaves: plugin.detect(leaves)})
    else:
        module.Transform = type("Transform", (), {"transform": lambda self, *given: plugin.transform(*given)})
    return function


def _description(said: tuple) -> Any:
    from wit_world.exports.lifecycle import Description

    return Description(*said, [])


class _Plugin:
    """A function between the words of the contract and those above."""

    def __init__(self, function: Callable, labels: list[str], prepare: Callable) -> None:
        self.function, self.labels, self.prepare = function, labels, prepare
        self.state: Any = None

    def configure(self, config: str) -> None:
        _seal()
        try:
            self.state = self.prepare(json.loads(config))
        except ValueError as error:
            raise Err([str(error)])
        except Exception as error:
            raise Err([_told(error)])

    def detect(self, leaves: list) -> list:
        from wit_world.exports.detect import Confidence
        from wit_world.exports.detect import Finding as Found

        def found(finding: Finding) -> Any:
            at = wit.Span(finding.start, finding.end)
            return Found(finding.leaf, at, self.place(finding.label), Confidence[finding.confidence.upper()])

        def ask(leaf: Any) -> list:
            shown = Leaf(leaf.text, _word(leaf.kind), _word(leaf.value), _word(leaf.role), leaf.tool, leaf.key, leaf.id)
            return [found(finding) for finding in self.function(self.state, shown) or []]

        return _answer(lambda: [finding for leaf in leaves for finding in ask(leaf)])

    def transform(self, head: Any, sections: list, leaves: list) -> list:
        shown = Request(
            [
                RequestLeaf(leaf.text, _word(leaf.kind), _word(leaf.value), leaf.pointer, leaf.key, leaf.section, leaf.id)
                for leaf in leaves
            ],
            [
                Section(_word(s.kind), _word(s.role), s.label, s.tool, s.parent, s.message, place)
                for place, s in enumerate(sections)
            ],
            head.format,
            head.model,
            head.session,
            head.subagent,
        )
        return _answer(lambda: [self.edit(edit) for edit in self.function(self.state, shown) or []])

    def edit(self, edit: Edit) -> Any:
        import wit_world.exports.transform as out

        kind, place = edit.target
        target = out.Target_Request() if kind == "request" else getattr(out, f"Target_{kind.capitalize()}")(place)
        action = getattr(out, "Action_" + "".join(part.capitalize() for part in edit.action.split("-")))
        match edit.action:
            case "pin" | "delete":
                return out.Edit(target, action())
            case "redact":
                redactions = [out.Redaction(wit.Span(start, end), self.place(label)) for start, end, label in edit.value]
                return out.Edit(target, action(redactions))
            case "insert-before":
                role, text = edit.value
                return out.Edit(target, action(out.NewSection(wit.Role[role.upper()], text)))
            case _:
                return out.Edit(target, action(edit.value))

    def place(self, label: str | None) -> int:
        if label is not None and label not in self.labels:
            raise ValueError(f"`{label}` is none of the plugin's labels")
        return 0 if label is None else self.labels.index(label)


def _answer(work: Callable[[], list]) -> list:
    _seal()
    try:
        return work()
    except Failure as failure:
        raise Err(wit.Failure_Unsupported(str(failure)))
    except Exception as error:
        raise Err(wit.Failure_Internal(_told(error)))


def _told(error: Exception) -> str:
    """File and line of what went wrong, the last of the plugin's own, and what it was."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = os.path.basename(trace.tb_frame.f_code.co_filename)
        if name != "leafgate.py" and not name.startswith("<"):
            place = f"{name}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return f"{place}{type(error).__name__}: {error}"


def _word(value: Any) -> str:
    """A case of an enum as the contract spells it."""
    return value.name.lower().replace("_", "-")


def _seal() -> None:
    """What a plugin has not got would end it without a word: it raises instead. Output becomes the log here and not earlier: while
    the module is imported, which is while it is built, there is no log, and whoever builds it reads what is printed and raised."""
    sys.stdout = sys.stderr = _Log()

    def refuse(what: str) -> Callable:
        def refused(*_: Any, **__: Any) -> Any:
            raise Failure(f"a plugin has no {what}")

        return refused

    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"):
        setattr(time, name, refuse(f"clock: `time.{name}`"))
    os.urandom = refuse("random numbers: `os.urandom`")
    builtins.open = refuse("files: `open`")
    # What a module is read from is there while the plugin is built, and not any more.
    sys.meta_path[:] = [*(it for it in sys.meta_path if it in (BuiltinImporter, FrozenImporter)), _Unread]


class _Unread:
    """Tells of a module that nobody imported while the plugin was built."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        raise ImportError(f"`import {name}` comes too late: write it at the top of the file, which runs while the plugin is built")


class _Log:
    """`print` in a component: the gate keeps it while a plugin is being tested."""

    def write(self, text: str) -> int:
        if text.strip():
            host.log(host.Level.INFO, text.rstrip("\n"))
        return len(text)

    def flush(self) -> None:
        pass

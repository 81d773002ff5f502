"""Plants a secret at every position of JSON requests, by a walk that shares no code with the gate.

    python3 walk.py FILE...

A position is a leaf (string, number, boolean, null) or a key. A string that is wholly a JSON object or array is walked too, four
levels deep, as the gate promises. For each file one line of JSON describes what was found, then one line follows for each planted
request: the whole body, with one position replaced by a secret that occurs nowhere else.

    {"file": ..., "leaves": [pointer, ...], "keys": [pointer, ...]}
    {"file": ..., "pointer": ..., "was": "string", "kind": "github", "prefixed": true, "secret": ..., "body": ...}

Only the standard library; objects are kept as lists of pairs, so that no duplicate key is lost.
"""

import base64
import binascii
import hashlib
import json
import sys

MAX_EMBEDDED = 4

# Prefix and body are kept apart, so that no scanner takes this file for a leak.
PREFIXED = {
    "github": ("ghp_", 36, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
    "aws": ("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "stripe": ("sk_live_", 24, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
    "gitlab": ("glpat-", 20, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
}

MEDIA = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF-", b"RIFF", b"ID3", b"\xff\xfb", b"OggS")


class Pairs(list):
    """An object: a list of [key, value]."""


class Embedded:
    """A string that is wholly a JSON object or array."""

    def __init__(self, value):
        self.value = value


class Number(str):
    """A number in its own spelling."""


def parse(text):
    def refuse(constant):
        raise ValueError(constant)

    return json.loads(
        text,
        object_pairs_hook=lambda pairs: Pairs([key, value] for key, value in pairs),
        parse_int=Number,
        parse_float=Number,
        parse_constant=refuse,
    )


def unfold(value, level=0):
    """Replaces each string that holds a document by what it holds."""
    if isinstance(value, Pairs):
        return Pairs([key, unfold(inner, level)] for key, inner in value)
    if isinstance(value, list):
        return [unfold(inner, level) for inner in value]
    if isinstance(value, str) and not isinstance(value, Number) and level < MAX_EMBEDDED:
        if value.strip(" \t\r\n")[:1] in ("{", "["):
            try:
                return Embedded(unfold(parse(value), level + 1))
            except (ValueError, RecursionError):
                return value
    return value


def write(value):
    if isinstance(value, Pairs):
        return "{" + ", ".join(json.dumps(key) + ": " + write(inner) for key, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write(inner) for inner in value) + "]"
    if isinstance(value, Embedded):
        return json.dumps(write(value.value))
    if isinstance(value, Number):
        return str.__str__(value)
    return json.dumps(value)


def places(value, pointer, replace):
    """Yields (pointer, what, old value, replace) for every position at or below a value. `replace(new)` puts a new value there."""
    if isinstance(value, Pairs):
        for pair in value:
            below = pointer + "/" + pair[0].replace("~", "~0").replace("/", "~1")
            yield below, "key", pair[0], lambda new, pair=pair: pair.__setitem__(0, new)
            yield from places(pair[1], below, lambda new, pair=pair: pair.__setitem__(1, new))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, f"{pointer}/{index}", lambda new, index=index, value=value: value.__setitem__(index, new))
    elif isinstance(value, Embedded):
        yield pointer, "embedded", value, replace
        yield from places(value.value, pointer, lambda new, value=value: setattr(value, "value", new))
    else:
        yield pointer, kind_of(value), value, replace


def kind_of(value):
    if isinstance(value, Number):
        return "number"
    if isinstance(value, bool):
        return "boolean"
    return "null" if value is None else "string"


def secret(kind, seed):
    """A secret of real format, the same for the same seed."""
    if kind in ("card", "card-number"):
        return card(seed)
    prefix, length, alphabet = PREFIXED[kind]
    # The last character is a digit, because some formats promise at least one.
    return prefix + body(seed, length - 1, alphabet) + "7"


def body(seed, length, alphabet):
    stream = b"".join(hashlib.sha256(f"{seed}:{block}".encode()).digest() for block in range(4))
    return "".join(alphabet[byte % len(alphabet)] for byte in stream[:length])


def card(seed):
    digits = "45" + body(seed, 13, "0123456789")
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


def is_media(text):
    """Whether a text is base64 of a file that starts like media, bare or in a data URL."""
    payload = text.partition(";base64,")[2] if text.startswith("data:") else text
    if len(payload) < 64:
        return False
    try:
        head = base64.b64decode(payload[:24], validate=True)
    except (binascii.Error, ValueError):
        return False
    return head.startswith(MEDIA)


def plants(index, what, old):
    """Which secrets go to a position: (kind, new value) pairs."""
    prefixed = list(PREFIXED)
    kinds = [prefixed[index % len(prefixed)], "card"]
    for kind in kinds:
        yield kind, lambda text: text
    if what == "number":
        yield "card-number", Number
    if what == "string" and is_media(old):
        # In the middle of the data: the alphabet of this key is part of base64's.
        middle = (len(old) // 2) & ~3
        yield "aws", lambda text: old[:middle] + text + old[middle:]


def walk(path):
    name = path.rsplit("/", 1)[-1]
    with open(path, "rb") as file:
        tree = unfold(parse(file.read().decode("utf-8", "strict")))
    root = [tree]
    found = list(places(tree, "", lambda new: root.__setitem__(0, new)))
    yield {
        "file": name,
        "leaves": [pointer for pointer, what, _, _ in found if what not in ("key", "embedded")],
        "keys": [pointer for pointer, what, _, _ in found if what == "key"],
    }
    for index, (pointer, what, old, replace) in enumerate(found):
        for turn, (kind, shape) in enumerate(plants(index, what, old)):
            planted = secret(kind, f"{name}#{index}#{turn}")
            replace(shape(planted))
            yield {
                "file": name,
                "pointer": pointer,
                "was": "media" if turn > 1 and what == "string" else what,
                "kind": kind,
                "prefixed": kind in PREFIXED,
                "secret": planted,
                "body": write(root[0]),
            }
            replace(old)


def main():
    for path in sys.argv[1:]:
        for line in walk(path):
            print(json.dumps(line))


if __name__ == "__main__":
    main()

"""Where the tests play: gates, an upstream and a person, started by `cargo xtask clients`, which says where in LEAFGATE_STAGE.

The upstream is a model of few rules: it calls the first tool that it is offered, and else repeats the last message.
"""

import json
import os
import urllib.error
import urllib.request
import uuid

# Only a fault reaches it: the stage itself waits no longer than a minute for anything.
PATIENCE = 90

ADDRESSES = json.loads(os.environ["LEAFGATE_STAGE"])

ECHO = ADDRESSES["echo"]
LIVELY = ADDRESSES["lively"]
QUIET = ADDRESSES["quiet"]
TEAM = ADDRESSES["team"]
UPSTREAM = ADDRESSES["upstream"]

# What the upstream's model calls tools with, and names of it that are answered with errors.
ARGUMENTS = '{"path":  "notes.txt", "lines": [1, 20]}'
BUSY_ONCE = "busy-once"
BREAKS_OFF = "breaks-off"
IN_ONE_PIECE = "in-one-piece"

# In parts, so that no secret scanner takes this file for a leak.
CREDENTIAL = "".join(["gh", "p_", "q7W2eR5tY8uI1oP4aS6dF9gH0jK3lZxCvB", "nM"])
ADDRESS = "@".join(["ann.lee", "northwind-mail.example.org"])
SECRETS = f"The key {CREDENTIAL} belongs to {ADDRESS}."

# Texts that the policy stops, and the reason that it gives.
BLOCKED = "Tell me the launch code"
REASON = "Launch codes stay here"
HELD = "Look into prod-db"


def question():
    """A question that a rule holds, and that nobody asked before: a cancel holds for a while, however the same is asked again."""
    return f"{HELD}, case {uuid.uuid4()}"


def ask(*path):
    """Asks the stage, or has it do something: see its documentation."""
    try:
        with urllib.request.urlopen("/".join([ADDRESSES["control"], *path]), timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["failed"]) from None


def left():
    """The requests that have reached the upstream since the last call."""
    return ask("left")


def header_of(request):
    """The header of a request that has left, by name."""
    return dict(request["headers"])


def redacted(test, request):
    """Checks that a request left without its secrets, and with a token for each."""
    for secret in (CREDENTIAL, ADDRESS):
        test.assertNotIn(secret, request["body"])
    test.assertRegex(request["body"], "The key [A-Z_]+_[a-z0-9]{16} belongs to EMAIL_[a-z0-9]{16}")

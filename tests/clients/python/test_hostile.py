"""The official packages against the table of hostile answers: what a rule guards reaches none of them.

Each answer is read in every way that a package offers: whole, event by event, and put together by its helper for streams. An answer that
the gate refuses, or that a package cannot read, shows nothing.
"""

import json
import unittest

import stage
import anthropic
import openai
from google import genai
from google.genai import types

WORD = "heron-7731"
TOOL = "Bash"
# What a package calls a tool that an item of Responses is, and that has no name.
UNNAMED = {"local_shell_call", "apply_patch_call"}
SCHEMA = {"type": "object", "properties": {}}
TOOLS = ["Read", "Write", TOOL]


class Seen:
    """What a package has found: calls as a tool and its arguments, and texts."""

    def __init__(self):
        self.calls, self.texts = [], []

    def call(self, tool, arguments):
        self.calls.append((tool, arguments if isinstance(arguments, str) else json.dumps(arguments)))

    def text(self, text):
        self.texts.append(text or "")


def asked(row):
    return f"Write to {stage.ADDRESS} and give me the hostile answer {row['name']}"


def openai_client(row):
    return openai.OpenAI(base_url=stage.ADDRESSES[row["guards"]] + "/v1", api_key="none", max_retries=0)


def messages(row):
    return [{"role": "user", "content": asked(row)}]


def chat_message(seen, message):
    seen.text(message.content)
    seen.text(message.refusal)
    if message.function_call:
        seen.call(message.function_call.name, message.function_call.arguments)
    for call in message.tool_calls or []:
        for called, arguments in ((getattr(call, "function", None), "arguments"), (getattr(call, "custom", None), "input")):
            if called:
                seen.call(called.name, getattr(called, arguments))


def chat(row):
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
    request = {"model": "m", "messages": messages(row), "tools": tools}
    with openai_client(row) as client:
        if not row["stream"]:
            seen = Seen()
            for choice in client.chat.completions.create(**request).choices:
                chat_message(seen, choice.message)
            seen.text("".join(seen.texts))
            yield seen
            return
        yield from (chat_pieces(client, request), chat_helper(client, request))


def chat_pieces(client, request):
    """What everybody writes: pieces, put together by their index."""
    seen, calls, said = Seen(), {}, ""
    try:
        for chunk in client.chat.completions.create(stream=True, **request):
            for choice in chunk.choices or []:
                said += choice.delta.content or "" if choice.delta else ""
                for piece in (choice.delta and choice.delta.tool_calls) or []:
                    call = calls.setdefault(piece.index, ["", ""])
                    if piece.function:
                        call[0] += piece.function.name or ""
                        call[1] += piece.function.arguments or ""
    except Exception:  # What came before counts all the same.
        pass
    seen.text(said)
    for call in calls.values():
        seen.call(*call)
    return seen


def chat_helper(client, request):
    seen = Seen()
    with client.chat.completions.stream(**request) as stream:
        for choice in stream.get_final_completion().choices:
            chat_message(seen, choice.message)
    return seen


def items(seen, response):
    for item in response.output:
        kind = item.type
        if kind == "message":
            for part in item.content:
                seen.text(getattr(part, "text", None))
        elif kind in UNNAMED:
            seen.call(kind, (getattr(item, "action", None) or item.operation).model_dump())
        elif kind == "function_call":
            seen.call(item.name, item.arguments)
        elif kind == "custom_tool_call":
            seen.call(item.name, item.input)
    seen.text(response.output_text)


def responses(row):
    tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in TOOLS]
    request = {"model": "m", "input": asked(row), "tools": tools}
    with openai_client(row) as client:
        if not row["stream"]:
            seen = Seen()
            items(seen, client.responses.create(**request))
            yield seen
            return
        yield response_events(client, request)
        seen = Seen()
        with client.responses.stream(**request) as stream:
            items(seen, stream.get_final_response())
        yield seen


class Output:
    """Items that are done, as a response of their own."""

    def __init__(self, output):
        self.output, self.output_text = output, ""


def response_events(client, request):
    seen, said = Seen(), ""
    try:
        for event in client.responses.create(stream=True, **request):
            if event.type == "response.output_item.done":
                items(seen, Output([event.item]))
            elif event.type in ("response.created", "response.completed", "response.incomplete"):
                items(seen, event.response)
            elif event.type == "response.output_text.delta":
                said += event.delta
            elif event.type == "response.output_text.done":
                seen.text(event.text)
            elif event.type == "response.function_call_arguments.done":
                seen.call(getattr(event, "name", None), event.arguments)
    except Exception:  # What came before counts all the same.
        pass
    seen.text(said)
    return seen


def blocks(seen, message):
    for block in message.content:
        if block.type == "text":
            seen.text(block.text)
        elif block.type == "tool_use":
            seen.call(block.name, block.input)
    seen.text("".join(block.text for block in message.content if block.type == "text"))


def anthropic_messages(row):
    tools = [{"name": name, "input_schema": SCHEMA} for name in TOOLS]
    request = {"model": "m", "max_tokens": 64, "messages": messages(row), "tools": tools}
    with anthropic.Anthropic(base_url=stage.ADDRESSES[row["guards"]], api_key="none", max_retries=0) as client:
        seen = Seen()
        if not row["stream"]:
            blocks(seen, client.messages.create(**request))
            yield seen
            return
        yield message_events(client, request)
        with client.messages.stream(**request) as stream:
            blocks(seen, stream.get_final_message())
        yield seen


def message_events(client, request):
    seen, calls, said = Seen(), {}, ""
    try:
        for event in client.messages.create(stream=True, **request):
            if event.type == "message_start":
                blocks(seen, event.message)
            elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                seen.call(event.content_block.name, event.content_block.input)
                calls[event.index] = [event.content_block.name, ""]
            elif event.type == "content_block_start" and event.content_block.type == "text":
                said += event.content_block.text
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                said += event.delta.text
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta" and event.index in calls:
                calls[event.index][1] += event.delta.partial_json
    except Exception:  # What came before counts all the same.
        pass
    seen.text(said)
    for call in calls.values():
        seen.call(*call)
    return seen


def gemini(row):
    options = types.HttpOptions(base_url=stage.ADDRESSES[row["guards"]], api_version="v1beta")
    declared = [types.FunctionDeclaration(name=name, parameters_json_schema=SCHEMA) for name in TOOLS]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    request = {"model": "m", "contents": asked(row), "config": config}
    client = genai.Client(api_key="none", http_options=options)
    seen, said = Seen(), ""
    try:
        pieces = client.models.generate_content_stream(**request) if row["stream"] else [client.models.generate_content(**request)]
        for piece in pieces:
            for candidate in piece.candidates or []:
                for part in (candidate.content and candidate.content.parts) or []:
                    if part.function_call:
                        seen.call(part.function_call.name, part.function_call.args)
                        seen.call(part.function_call.name, part.function_call.model_dump(mode="json"))
                    said += part.text or ""
    finally:
        client.close()
    seen.text(said)
    yield seen


APIS = {"chat": chat, "responses": responses, "messages": anthropic_messages, "gemini": gemini}


def fault(row, seen):
    """What of that which a row guards has been seen."""
    if row["guards"] == "calls":
        return [call for call in seen.calls if call[0] in {TOOL, *UNNAMED} or WORD in call[1]]
    if row["guards"] == "texts":
        return [text for text in seen.texts if WORD in text]
    linked = [text for text in seen.texts if stage.ADDRESS in text.rpartition("://")[2].split(" ")[0] and "://" in text]
    return linked + [call for call in seen.calls if stage.ADDRESS in call[1]]


class Hostile(unittest.TestCase):
    def test_what_is_guarded_reaches_no_package(self):
        refused = 0
        for row in (row for row in stage.ask("hostile") if row["api"] in APIS):
            with self.subTest(row["name"]):
                try:
                    for seen in APIS[row["api"]](row):
                        self.assertEqual(fault(row, seen), [], row["what"])
                except AssertionError:
                    raise
                except Exception:  # Whatever it is: nothing was seen.
                    refused += 1
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()

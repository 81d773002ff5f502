"""What only the `anthropic` package does: tools as blocks, its stream helper, system prompts, the count of tokens."""

import json
import unittest

import stage
from speak import Messages

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    "required": ["path"],
}
READ_FILE = {"name": "read_file", "description": "Returns a file.", "input_schema": SCHEMA}
QUESTION = {"role": "user", "content": "Read my notes"}


class Anthropic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Messages.client(stage.LIVELY)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def setUp(self):
        stage.left()

    def with_tools(self, ask):
        """A call of a tool, and its result; `ask` returns the message that answers."""
        called = ask([QUESTION])
        (call,) = called.content
        self.assertEqual((call.type, call.name, called.stop_reason), ("tool_use", "read_file", "tool_use"))
        self.assertEqual(call.input, json.loads(stage.ARGUMENTS))
        use = call.model_dump(include={"type", "id", "name", "input"})
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": stage.SECRETS}]}
        turns = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        answer = ask([QUESTION, *turns])
        self.assertEqual((answer.content[0].text, answer.stop_reason), (stage.SECRETS, "end_turn"))
        _, second = stage.left()
        stage.redacted(self, second)
        self.assertEqual(json.loads(second["body"])["messages"][1]["content"], [use])
        self.assertEqual(json.loads(second["body"])["tools"], [READ_FILE])

    def test_tools(self):
        def ask(messages):
            return self.client.messages.create(model="sample", max_tokens=64, messages=messages, tools=[READ_FILE])

        self.with_tools(ask)

    def test_tools_in_a_stream(self):
        def ask(messages):
            asked = {"model": "sample", "max_tokens": 64, "messages": messages, "tools": [READ_FILE]}
            with self.client.messages.stream(**asked) as stream:
                return stream.get_final_message()

        self.with_tools(ask)

    def test_a_system_prompt_is_redacted(self):
        system = [{"type": "text", "text": stage.SECRETS, "cache_control": {"type": "ephemeral"}}]
        self.assertEqual(Messages.whole(self.client, "Hello", system=system), "Hello")
        (request,) = stage.left()
        stage.redacted(self, request)
        self.assertEqual(json.loads(request["body"])["system"][0]["cache_control"], {"type": "ephemeral"})

    def test_tokens_are_counted_of_what_leaves(self):
        messages = [{"role": "user", "content": stage.SECRETS}]
        counted = self.client.messages.count_tokens(model="sample", messages=messages)
        (request,) = stage.left()
        self.assertEqual(request["target"], "/v1/messages/count_tokens")
        stage.redacted(self, request)
        # The upstream counts a token for each byte.
        self.assertEqual(counted.input_tokens, len(request["body"].encode()))
        with Messages.client(stage.ECHO) as echo:
            self.assertGreater(echo.messages.count_tokens(model="sample", messages=messages).input_tokens, 0)


if __name__ == "__main__":
    unittest.main()

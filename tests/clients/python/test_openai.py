"""What only the `openai` package does: tools in both of its APIs, their stream helpers, embeddings, completions, many at once."""

import asyncio
import json
import unittest

import openai
import stage
from speak import Chat

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    "required": ["path", "lines"],
    "additionalProperties": False,
}
READ_FILE = {"name": "read_file", "description": "Returns a file.", "strict": True, "parameters": PARAMETERS}
QUESTION = {"role": "user", "content": "Read my notes"}


class OpenAI(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Chat.client(stage.LIVELY)
        cls.echo = Chat.client(stage.ECHO)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.echo.close()

    def setUp(self):
        stage.left()

    def chat_with_tools(self, ask):
        """A call of a tool, and its result, in a chat; `ask` returns the message that answers."""
        call = ask([QUESTION]).tool_calls[0]
        self.assertEqual((call.function.name, call.function.arguments), ("read_file", stage.ARGUMENTS))
        called = {"id": call.id, "type": "function", "function": call.function.model_dump(include={"name", "arguments"})}
        result = {"role": "tool", "tool_call_id": call.id, "content": stage.SECRETS}
        answer = ask([QUESTION, {"role": "assistant", "content": None, "tool_calls": [called]}, result])
        self.assertEqual(answer.content, stage.SECRETS)
        _, second = stage.left()
        stage.redacted(self, second)
        self.assertEqual(json.loads(second["body"])["messages"][1]["tool_calls"], [called])
        self.assertEqual(json.loads(second["body"])["tools"], [{"type": "function", "function": READ_FILE}])

    def test_tools_in_a_chat(self):
        def ask(messages):
            tools = [{"type": "function", "function": READ_FILE}]
            answer = self.client.chat.completions.create(model="sample", messages=messages, tools=tools)
            return answer.choices[0].message

        self.chat_with_tools(ask)

    def test_tools_in_a_streamed_chat(self):
        def ask(messages):
            tools = [{"type": "function", "function": READ_FILE}]
            with self.client.chat.completions.stream(model="sample", messages=messages, tools=tools) as stream:
                return stream.get_final_completion().choices[0].message

        self.chat_with_tools(ask)

    def responses_with_tools(self, ask):
        """The same as items; `ask` returns the response."""
        (call,) = ask([QUESTION]).output
        self.assertEqual((call.type, call.name, call.arguments), ("function_call", "read_file", stage.ARGUMENTS))
        called = call.model_dump(include={"type", "id", "call_id", "name", "arguments", "status"})
        result = {"type": "function_call_output", "call_id": call.call_id, "output": stage.SECRETS}
        self.assertEqual(ask([QUESTION, called, result]).output_text, stage.SECRETS)
        _, second = stage.left()
        stage.redacted(self, second)
        self.assertEqual(json.loads(second["body"])["input"][1], called)
        self.assertEqual(json.loads(second["body"])["tools"], [{"type": "function", **READ_FILE}])

    def test_tools_in_responses(self):
        def ask(items):
            tools = [{"type": "function", **READ_FILE}]
            return self.client.responses.create(model="sample", input=items, tools=tools)

        self.responses_with_tools(ask)

    def test_tools_in_streamed_responses(self):
        def ask(items):
            tools = [{"type": "function", **READ_FILE}]
            with self.client.responses.stream(model="sample", input=items, tools=tools) as stream:
                return stream.get_final_response()

        self.responses_with_tools(ask)

    def test_every_repetition_in_a_stream_of_responses_is_restored(self):
        stream = self.client.responses.create(model="sample", input=stage.SECRETS, stream=True)
        events = {event.type: event for event in stream}
        said = [
            events["response.output_text.done"].text,
            events["response.content_part.done"].part.text,
            events["response.output_item.done"].item.content[0].text,
            events["response.completed"].response.output_text,
        ]
        self.assertEqual(said, [stage.SECRETS] * 4)
        stage.redacted(self, *stage.left())

    def test_the_price_of_a_stream(self):
        stream = self.echo.chat.completions.create(
            model="sample", messages=[QUESTION], stream=True, stream_options={"include_usage": True}
        )
        *_, last = stream
        self.assertEqual((last.choices, last.usage.total_tokens), ([], 0))

    def test_embeddings(self):
        for client in (self.client, self.echo):
            answer = client.embeddings.create(model="sample", input=[stage.SECRETS, "Hello"])
            self.assertEqual([entry.embedding for entry in answer.data], [[1.0, 0.0, 0.0]] * 2)
        stage.redacted(self, *stage.left())

    def test_completions(self):
        answer = self.echo.completions.create(model="sample", prompt="Once upon a time")
        self.assertEqual(json.loads(answer.choices[0].text)["prompt"], "Once upon a time")
        self.client.completions.create(model="sample", prompt=stage.SECRETS)
        stage.redacted(self, *stage.left())

    def test_a_deployment_on_azure(self):
        options = {"azure_endpoint": stage.LIVELY, "api_key": "my-key", "api_version": "2024-10-21"}
        with openai.AzureOpenAI(**options) as client:
            self.assertEqual(Chat.whole(client, stage.SECRETS, model="my-model"), stage.SECRETS)
        (request,) = stage.left()
        stage.redacted(self, request)
        self.assertEqual(request["target"], "/openai/deployments/my-model/chat/completions?api-version=2024-10-21")
        self.assertEqual(stage.header_of(request)["api-key"], "my-key")

    def test_an_answer_names_generation_and_edits(self):
        messages = [{"role": "user", "content": stage.SECRETS}]
        answer = self.client.chat.completions.with_raw_response.create(model="sample", messages=messages)
        self.assertRegex(answer.headers["leafgate-generation"], "^[0-9a-f]{12}$")
        self.assertEqual(answer.headers["leafgate-edits"], "2")

    def test_many_at_once(self):
        answers = asyncio.run(ask_many(20))
        self.assertEqual(answers, [f"Number {number}" for number in range(20)])


async def ask_many(count):
    async with openai.AsyncOpenAI(base_url=stage.LIVELY + "/v1", api_key="none") as client:

        async def ask(number):
            messages = [{"role": "user", "content": f"Number {number}"}]
            answer = await client.chat.completions.create(model="sample", messages=messages)
            return answer.choices[0].message.content

        return await asyncio.gather(*(ask(number) for number in range(count)))


if __name__ == "__main__":
    unittest.main()

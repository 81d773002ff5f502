"""The official `openai` package, unmodified but for its base URL, talks through the gate to `echo:`.

Run by `cargo xtask test` in a virtual environment of its own; needs LEAFGATE_BIN.
"""

import asyncio
import json
import pathlib
import tempfile
import unittest

import openai
from gate import Gate

POLICY = """
extends = "default"

[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "launch-codes"
match = { role = "user" }
when = 'leaf.text.contains("launch code")'
action = "block"
reason = "Launch codes stay here"
"""

# In parts, so that no secret scanner takes this file for a leak.
CREDENTIAL = "".join(["gh", "p_", "q7W2eR5tY8uI1oP4aS6dF9gH0jK3lZxCvB", "nM"])
ADDRESS = "@".join(["ann.lee", "northwind-mail.example.org"])

READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Returns the content of a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


class OpenAIChat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        pathlib.Path(cls.folder.name, "rules.toml").write_text(POLICY)
        cls.gate = Gate("--policy", cls.folder.name, "--upstream", "echo:")
        cls.client = openai.OpenAI(base_url=cls.gate.url + "/v1", api_key="none")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.gate.__exit__()
        cls.folder.cleanup()

    def ask(self, text, **options):
        return self.client.chat.completions.create(
            model="gpt-sample", messages=[{"role": "user", "content": text}], **options
        )

    def streamed(self, text, **options):
        chunks = list(self.ask(text, stream=True, **options))
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    def test_plain(self):
        answer = self.ask("Hello there")
        echoed = json.loads(answer.choices[0].message.content)
        self.assertEqual(echoed["messages"], [{"role": "user", "content": "Hello there"}])
        self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_streaming(self):
        echoed = json.loads(self.streamed("Grüße, 你好, 👋"))
        self.assertEqual(echoed["messages"][0]["content"], "Grüße, 你好, 👋")
        self.assertIs(echoed["stream"], True)

    def test_stream_with_usage(self):
        chunks = list(self.ask("Hi", stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.total_tokens, 0)

    def test_tools(self):
        arguments = json.dumps({"path": "notes.txt"})
        call = {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        messages = [
            {"role": "user", "content": "Read my notes"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"mail": ADDRESS})},
        ]
        answer = self.client.chat.completions.create(
            model="gpt-sample", messages=messages, tools=[READ_FILE], tool_choice="auto"
        )
        echoed = json.loads(answer.choices[0].message.content)
        self.assertEqual(echoed["tools"], [READ_FILE])
        self.assertEqual(echoed["messages"], messages)

    def test_redacted_values_come_back(self):
        text = f"The key {CREDENTIAL} belongs to {ADDRESS}."
        answer = self.client.chat.completions.with_raw_response.create(
            model="gpt-sample", messages=[{"role": "user", "content": text}]
        )
        self.assertEqual(answer.headers["leafgate-edits"], "2", "nothing was redacted, so nothing is proved")
        echoed = json.loads(answer.parse().choices[0].message.content)
        self.assertEqual(echoed["messages"][0]["content"], text)

    def test_redacted_values_come_back_in_a_stream(self):
        text = f"Write to {ADDRESS}, and never show {CREDENTIAL}."
        self.assertEqual(json.loads(self.streamed(text))["messages"][0]["content"], text)

    def test_a_blocked_request_raises_and_is_not_retried(self):
        for number, stream in enumerate((False, True)):
            with self.subTest(stream=stream):
                with self.assertRaises(openai.BadRequestError) as raised:
                    self.ask(f"What is the launch code {number}?", stream=stream)
                self.assertEqual(raised.exception.status_code, 400)
                self.assertEqual(raised.exception.code, "leafgate_blocked")
                self.assertIn("launch-codes", raised.exception.message)
                self.assertIn("Launch codes stay here", raised.exception.message)
        # Whatever a retry would have logged stands before the line of a request that is sent afterwards.
        self.client.get("/models/after-the-blocked-ones", cast_to=object)
        lines = self.gate.log_until("after-the-blocked-ones")
        self.assertEqual(sum("leafgate_blocked" in line for line in lines), 2)

    def test_an_answer_names_the_generation(self):
        answer = self.client.chat.completions.with_raw_response.create(
            model="gpt-sample", messages=[{"role": "user", "content": "Hi"}]
        )
        self.assertRegex(answer.headers["leafgate-generation"], "^[0-9a-f]{12}$")


class OpenAIChatAsync(unittest.TestCase):
    def test_many_at_once(self):
        with Gate("--upstream", "echo:") as gate:
            answers = asyncio.run(self.ask_many(gate.url + "/v1", 20))
        self.assertEqual(answers, [f"Number {number}" for number in range(20)])

    async def ask_many(self, base_url, count):
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:

            async def ask(number):
                messages = [{"role": "user", "content": f"Number {number}"}]
                answer = await client.chat.completions.create(model="gpt-sample", messages=messages)
                return json.loads(answer.choices[0].message.content)["messages"][0]["content"]

            return await asyncio.gather(*(ask(number) for number in range(count)))


if __name__ == "__main__":
    unittest.main()

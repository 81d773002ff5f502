"""Google's `google-genai`: answers whole and in pieces, secrets that leave as tokens, errors, functions, the count of tokens."""

import json
import threading
import unittest

from google import genai
from google.genai import errors, types

import stage

MODEL = "sample"
READ_FILE = types.FunctionDeclaration(
    name="read_file",
    description="Returns a file.",
    parameters_json_schema={"type": "object", "properties": {"path": {"type": "string"}}},
)


def client(url):
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    return genai.Client(api_key="none", http_options=options)


def whole(of, text, model=MODEL, **config):
    return of.models.generate_content(model=model, contents=text, config=config or None).text


def streamed(of, text, model=MODEL, **config):
    stream = of.models.generate_content_stream(model=model, contents=text, config=config or None)
    return "".join(piece.text or "" for piece in stream)


WAYS = [("whole", whole), ("streamed", streamed)]


class Gemini(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = client(stage.LIVELY)
        cls.echo = client(stage.ECHO)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.echo.close()

    def setUp(self):
        stage.left()

    def test_echo_answers_with_the_request(self):
        text = "Grüße, 你好, 👋, and \"quotes\"\n\tin lines."
        for name, say in WAYS:
            with self.subTest(name):
                echoed = json.loads(say(self.echo, text))
                self.assertEqual(echoed["contents"][0]["parts"][0]["text"], text)

    def test_secrets_leave_as_tokens_and_come_back(self):
        for name, say in WAYS:
            with self.subTest(name):
                self.assertEqual(say(self.client, stage.SECRETS), stage.SECRETS)
                (request,) = stage.left()
                stage.redacted(self, request)
                self.assertEqual(stage.header_of(request)["x-goog-api-key"], "none")

    def test_a_system_instruction_is_redacted(self):
        self.assertEqual(whole(self.client, "Hello", system_instruction=stage.SECRETS), "Hello")
        (request,) = stage.left()
        stage.redacted(self, request)

    def test_a_blocked_request_raises(self):
        for name, say in WAYS:
            with self.subTest(name):
                with self.assertRaises(errors.ClientError) as caught:
                    say(self.client, stage.BLOCKED)
                raised = caught.exception
                self.assertEqual((raised.code, raised.status), (400, "INVALID_ARGUMENT"))
                self.assertIn(stage.REASON, raised.message)
                self.assertIn("launch-codes", raised.message)
                self.assertEqual(stage.left(), [])

    def test_errors_of_the_upstream_are_the_packages_own(self):
        for name, say in WAYS:
            for status, error in ((429, errors.ClientError), (529, errors.ServerError)):
                with self.subTest(f"{name}, {status}"):
                    with self.assertRaises(error) as caught:
                        say(self.client, "Hello", model=f"status-{status}")
                    self.assertEqual(caught.exception.code, status)
                    self.assertIn(f"The upstream says {status}.", caught.exception.message)

    def test_a_stream_that_breaks_off_has_said_all_before(self):
        text = f"Write to {stage.ADDRESS}"
        said = []
        with self.assertRaises(errors.APIError):
            for piece in self.client.models.generate_content_stream(model=stage.BREAKS_OFF, contents=text):
                said.append(piece.text or "")
        self.assertEqual("".join(said), text)
        self.assertNotIn(stage.ADDRESS, stage.left()[0]["body"])

    def test_a_stream_that_is_held_gets_its_answer(self):
        said = []
        question = stage.question()
        reader = threading.Thread(target=lambda: said.append(streamed(self.client, question)))
        reader.start()
        stage.ask("lively", "resume", stage.ask("lively", "paused")["id"])
        reader.join(stage.PATIENCE)
        self.assertEqual(said, [question])

    def test_tokens_are_counted_of_what_leaves(self):
        counted = self.client.models.count_tokens(model=MODEL, contents=stage.SECRETS)
        (request,) = stage.left()
        self.assertTrue(request["target"].startswith(f"/v1beta/models/{MODEL}:countTokens"))
        stage.redacted(self, request)
        self.assertEqual(counted.total_tokens, len(request["body"].encode()))
        self.assertGreater(self.echo.models.count_tokens(model=MODEL, contents="Hello there").total_tokens, 0)

    def test_functions(self):
        tools = [types.Tool(function_declarations=[READ_FILE])]
        config = types.GenerateContentConfig(
            tools=tools, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
        )
        asked = types.Content(role="user", parts=[types.Part(text="Read my notes")])
        called = self.client.models.generate_content(model=MODEL, contents=[asked], config=config)
        (call,) = called.function_calls
        self.assertEqual((call.name, call.args), ("read_file", json.loads(stage.ARGUMENTS)))
        response = types.Part.from_function_response(name=call.name, response={"result": stage.SECRETS})
        turns = [asked, called.candidates[0].content, types.Content(role="user", parts=[response])]
        answer = self.client.models.generate_content(model=MODEL, contents=turns, config=config)
        self.assertEqual(answer.text, stage.SECRETS)
        stage.redacted(self, stage.left()[1])


if __name__ == "__main__":
    unittest.main()

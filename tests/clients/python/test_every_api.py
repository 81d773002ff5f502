"""What a client of any of the three APIs sees, streaming and not: answers, errors, secrets that do not leave, and headers that do."""

import json
import unittest

import stage
from speak import APIS, WAYS, Chat, Messages, Responses

TEXT = "Grüße, 你好, 👋, and \"quotes\"\n\tin lines."


class EveryApi(unittest.TestCase):
    def setUp(self):
        stage.left()

    def client(self, api, url, **options):
        client = api.client(url, **options)
        self.addCleanup(client.close)
        return client

    def test_echo_answers_with_the_request(self):
        for api, name, say in WAYS:
            with self.subTest(name):
                echoed = json.loads(say(self.client(api, stage.ECHO), TEXT))
                said = echoed["input"] if api is Responses else echoed["messages"][0]["content"]
                self.assertEqual(said, TEXT)
                self.assertEqual(echoed.get("stream", False), "streamed" in name)

    def test_secrets_leave_as_tokens_and_come_back(self):
        for api, name, say in WAYS:
            with self.subTest(name):
                self.assertEqual(say(self.client(api, stage.LIVELY), stage.SECRETS), stage.SECRETS)
                (request,) = stage.left()
                stage.redacted(self, request)

    def test_a_blocked_request_raises_and_is_not_tried_again(self):
        for api, name, say in WAYS:
            with self.subTest(name):
                before = stage.ask("lively", "requests")["blocked"]
                with self.assertRaises(api.package.BadRequestError) as caught:
                    say(self.client(api, stage.LIVELY), stage.BLOCKED)
                raised = caught.exception
                self.assertIn("launch-codes", raised.message)
                self.assertIn(stage.REASON, raised.message)
                kind = raised.type if api is Messages else raised.code
                self.assertEqual(kind, "invalid_request_error" if api is Messages else "leafgate_blocked")
                self.assertEqual(stage.ask("lively", "requests")["blocked"], before + 1)
                self.assertEqual(stage.left(), [])

    def test_errors_of_the_upstream_are_the_packages_own(self):
        for api, name, say in WAYS:
            overloaded = getattr(api.package, "OverloadedError", api.package.InternalServerError)
            for status, error in ((429, api.package.RateLimitError), (529, overloaded)):
                with self.subTest(f"{name}, {status}"):
                    client = self.client(api, stage.LIVELY, max_retries=0)
                    with self.assertRaises(error) as caught:
                        say(client, "Hello", model=f"status-{status}")
                    self.assertEqual(caught.exception.status_code, status)
                    self.assertIn(f"The upstream says {status}.", caught.exception.message)
                    self.assertEqual(caught.exception.response.headers["retry-after-ms"], "1")

    def test_a_stream_that_breaks_off_has_said_all_before(self):
        # The last word is a token, and nothing follows that would show where it ends.
        text = f"Write to {stage.ADDRESS}"
        for api in APIS:
            with self.subTest(api.__name__):
                said = []
                with self.assertRaises(api.package.APIError) as caught:
                    for piece in api.pieces(self.client(api, stage.LIVELY), text, model=stage.BREAKS_OFF):
                        said.append(piece)
                self.assertIn("The upstream says 529.", caught.exception.message)
                self.assertEqual("".join(said), text)
                self.assertNotIn(stage.ADDRESS, stage.left()[0]["body"])

    def test_an_answer_in_one_piece_is_read_as_the_stream_that_was_asked_for(self):
        for api in APIS:
            with self.subTest(api.__name__):
                client = self.client(api, stage.LIVELY + "/p/replayed")
                pieces = list(api.pieces(client, stage.SECRETS, model=stage.IN_ONE_PIECE))
                self.assertEqual("".join(pieces), stage.SECRETS)
                (request,) = stage.left()
                self.assertIn("Repeat it.", request["body"])
                stage.redacted(self, request)

    def test_a_busy_upstream_is_tried_again(self):
        for api, name, say in WAYS:
            with self.subTest(name):
                said = say(self.client(api, stage.LIVELY, max_retries=1), "Hello", model=stage.BUSY_ONCE)
                self.assertEqual(said, "Hello")
                tries = [stage.header_of(request)["x-stainless-retry-count"] for request in stage.left()]
                self.assertEqual(tries, ["0", "1"])


# What a proxy writes itself: about its own connections, and the codings that it can read in an answer.
OWN = {"host", "connection", "content-length", "accept-encoding"}


class Unchanged(unittest.TestCase):
    """What reaches the upstream through the gate is what reaches it without one."""

    def left_by(self, api, url, options, say):
        with api.client(url, **options) as client:
            say(client)
        (request,) = stage.left()
        kept = [header for header in request["headers"] if header[0] not in OWN]
        return {**request, "headers": kept}

    def same(self, api, say, **options):
        """Checks it, and returns what reached the upstream."""
        stage.left()
        straight = self.left_by(api, stage.UPSTREAM, options, say)
        through = self.left_by(api, stage.LIVELY, options, say)
        self.assertEqual(through, straight)
        return through

    def test_requests_of_every_api(self):
        for api, name, say in WAYS:
            with self.subTest(name):
                options = {"default_headers": {"x-team": "Blue, Green"}, "default_query": {"beta": "true", "trace": "a b&c"}}
                left = self.same(api, lambda client: say(client, TEXT), api_key="my-key", **options)
                self.assertRegex(left["target"], r"\?beta=true&trace=a(\+|%20)b%26c$")
                self.assertEqual(stage.header_of(left)["x-team"], "Blue, Green")
                self.assertEqual(stage.header_of(left)["authorization"], "Bearer my-key")

    def test_headers_of_anthropic(self):
        def say(client):
            asked = {"model": "sample", "max_tokens": 64, "messages": [{"role": "user", "content": TEXT}]}
            client.beta.messages.create(betas=["one-2025-01-01", "two-2025-01-01"], **asked)

        # Earlier packages sent the key in a header of its own, and another version.
        sent = {"x-api-key": "my-key", "anthropic-version": "2023-06-01"}
        header = stage.header_of(self.same(Messages, say, default_headers=sent))
        self.assertEqual({name: header[name] for name in sent}, sent)
        self.assertEqual(header["anthropic-beta"], "one-2025-01-01,two-2025-01-01")

    def test_organization_and_project_of_openai(self):
        for api in (Chat, Responses):
            options = {"organization": "org-a", "project": "proj-b"}
            header = stage.header_of(self.same(api, lambda client: api.whole(client, TEXT), **options))
            self.assertEqual((header["openai-organization"], header["openai-project"]), ("org-a", "proj-b"))

    def test_what_has_no_body(self):
        for api in APIS:
            left = self.same(api, lambda client: list(client.models.list()))
            self.assertEqual((left["target"], left["body"]), ("/v1/models", ""))


if __name__ == "__main__":
    unittest.main()

"""Clients that would rather speak Responses over a WebSocket are told 426, and go on over HTTP."""

import unittest

import stage
import websockets.exceptions
from speak import Responses, streamed


class WebSocket(unittest.TestCase):
    def setUp(self):
        stage.left()
        self.client = Responses.client(stage.LIVELY)
        self.addCleanup(self.client.close)

    def say(self, text):
        """What a client does that tries the faster way first, as Codex does."""
        try:
            with self.client.responses.connect() as connection:
                connection.response.create(model="sample", input=text)
                return "".join(event.delta for event in connection if event.type == "response.output_text.delta")
        except websockets.exceptions.InvalidStatus as refused:
            self.refused = refused.response
        return streamed(Responses)(self.client, text)

    def test_a_refused_client_falls_back(self):
        before = stage.ask("lively", "requests")["refused"]
        self.assertEqual(self.say(stage.SECRETS), stage.SECRETS)
        self.assertEqual(self.refused.status_code, 426)
        self.assertEqual(self.refused.headers["x-should-retry"], "false")
        self.assertIn(b"use plain HTTP", self.refused.body)
        self.assertEqual(stage.ask("lively", "requests")["refused"], before + 1)
        # The handshake itself went no further than the gate.
        (request,) = stage.left()
        stage.redacted(self, request)


if __name__ == "__main__":
    unittest.main()

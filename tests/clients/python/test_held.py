"""Clients live through a pause: held, resumed, cancelled, retried; in every API.

LEAFGATE_HOLD says for how many seconds one request is held: 3 unless told, two minutes in the soak. That wait is what the test is about; every
other wait is for an event of the gate.
"""

import os
import threading
import time
import unittest

import stage
from speak import APIS, Messages

HOLD = float(os.environ.get("LEAFGATE_HOLD", "3"))


class Call(threading.Thread):
    """A request on a thread of its own: what it was told, or what it raised."""

    def __init__(self, client, api, streams, asked):
        super().__init__()
        self.client, self.api, self.streams, self.asked = client, api, streams, asked
        self.question = stage.question()
        self.said, self.raised = None, None
        self.begun = threading.Event()
        self.start()

    def run(self):
        try:
            if self.streams:
                pieces = self.api.pieces(self.client, self.question, **self.asked)
                self.begun.set()
                self.said = "".join(pieces)
            else:
                self.said = self.api.whole(self.client, self.question, **self.asked)
        except Exception as error:  # Whatever it is, the test looks at it.
            self.raised = error

    def end(self):
        self.join(stage.PATIENCE)
        if self.is_alive():
            raise AssertionError("the client still waits")
        return self


class Held(unittest.TestCase):
    def setUp(self):
        stage.left()

    def call(self, api, url, streams=True, asked=None, **options):
        client = api.client(url, **options)
        self.addCleanup(client.close)
        return Call(client, api, streams, asked or {})

    def begun(self, api, **options):
        """A stream that has begun, and its turn, which waits."""
        call = self.call(api, stage.LIVELY, **options)
        turn = stage.ask("lively", "paused")["id"]
        self.assertTrue(call.begun.wait(stage.PATIENCE), "the stream never begins")
        return call, turn

    def cancelled(self, api, error):
        """Checks what a client raises when a person gave its turn up."""
        if api is Messages:
            self.assertEqual(error.type, "invalid_request_error")
        else:
            self.assertEqual(error.code, "leafgate_cancelled")
        self.assertIn("canceled before sending", error.message)
        self.assertEqual(stage.left(), [])

    # S0-54
    def test_streams_that_are_held_get_their_answers(self):
        # Without signs of life the clients give up long before: their read timeout is shorter than the wait.
        calls = [self.call(api, stage.LIVELY, timeout=HOLD * 0.8, max_retries=0) for api in APIS]
        turns = [stage.ask("lively", "paused")["id"] for _ in calls]
        time.sleep(HOLD)
        self.assertEqual([call.raised for call in calls], [None] * len(calls))
        self.assertEqual(stage.left(), [])
        for turn in turns:
            stage.ask("lively", "resume", turn)
        for call in calls:
            self.assertEqual(call.end().said, call.question, call.raised)
        self.assertEqual(len(stage.left()), len(calls))

    def test_a_client_without_a_stream_waits_for_its_answer(self):
        for api in APIS:
            with self.subTest(api.__name__):
                call = self.call(api, stage.LIVELY, streams=False)
                stage.ask("lively", "resume", stage.ask("lively", "paused")["id"])
                self.assertEqual(call.end().said, call.question, call.raised)

    def test_a_cancel_before_the_first_sign_of_life_has_a_status(self):
        for api in APIS:
            for streams in (False, True):
                with self.subTest(f"{api.__name__}, stream: {streams}"):
                    call = self.call(api, stage.QUIET, streams)
                    stage.ask("quiet", "cancel", stage.ask("quiet", "paused")["id"])
                    raised = call.end().raised
                    self.assertIsInstance(raised, api.package.BadRequestError)
                    self.assertFalse(call.begun.is_set())
                    self.cancelled(api, raised)

    # S0-56
    def test_a_cancel_after_it_is_raised_from_the_stream(self):
        for api in APIS:
            with self.subTest(api.__name__):
                call, turn = self.begun(api)
                stage.ask("lively", "cancel", turn)
                raised = call.end().raised
                self.assertIsInstance(raised, api.package.APIError)
                self.assertNotIsInstance(raised, api.package.APIConnectionError)
                self.cancelled(api, raised)

    def test_an_error_of_the_upstream_after_a_pause_is_raised_from_the_stream(self):
        for api in APIS:
            with self.subTest(api.__name__):
                call, turn = self.begun(api, asked={"model": "status-529"})
                stage.ask("lively", "resume", turn)
                raised = call.end().raised
                self.assertIsInstance(raised, api.package.APIError)
                self.assertIn("The upstream says 529.", raised.message)

    # S0-57
    def test_a_retry_joins_and_causes_no_second_call(self):
        # The package's own retry: the first try hears nothing for as long as it is willing to wait.
        for api in APIS:
            with self.subTest(api.__name__):
                call = self.call(api, stage.QUIET, timeout=3, max_retries=1)
                turn = stage.ask("quiet", "paused")["id"]
                stage.ask("quiet", "until", "disconnected")
                back = stage.ask("quiet", "until", "waiting")
                self.assertEqual((back["id"], back["connections"]), (turn, 1))
                stage.ask("quiet", "resume", turn)
                self.assertEqual(call.end().said, call.question, call.raised)
                self.assertEqual(len(stage.left()), 1, "one call however often it was tried")


if __name__ == "__main__":
    unittest.main()

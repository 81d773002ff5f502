"""The official `openai` package lives through a pause: held, resumed, cancelled, retried. It streams, and the grace period is shortened.

Run by `cargo xtask test` in a virtual environment of its own; needs LEAFGATE_BIN. LEAFGATE_HOLD says for how many seconds one request
is held: 5 unless told, 60 in the soak. That wait is what the test is about; every other wait is for an event of the gate.
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest

import openai
from gate import Gate

HOLD = float(os.environ.get("LEAFGATE_HOLD", "5"))
PATIENCE = 60

POLICY = """
[[rule]]
id = "ask-first"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Production data"
timeout = "5m"
"""

CHUNKS = [
    {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "kit",
     "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": reason}]}
    for text, reason in (("Here ", None), ("you are.", None), ("", "stop"))
]


class Upstream(http.server.ThreadingHTTPServer):
    """Answers every chat with the same stream, and keeps the bodies that reached it."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.bodies = []
        threading.Thread(target=self.serve_forever).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS] + ["data: [DONE]\n\n"]
        body = "".join(events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Person:
    """Decides through the admin API, as the approval prompt does."""

    def __init__(self, runtime):
        (file,) = pathlib.Path(runtime).glob("gate-*.json")
        found = json.loads(file.read_text())
        self._address = found["admin"].removeprefix("http://")
        self._headers = {"authorization": f"Bearer {found['token']}", "content-type": "application/json"}
        self._events = self._open("GET", "/v1/events")

    def _open(self, method, path, body=None):
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        # The answer keeps the connection open until it is closed itself.
        headers = {**self._headers, "connection": "close"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.read()}")
        return answer

    def _ask(self, method, path, body=None):
        with self._open(method, path, body) as answer:
            return json.load(answer)

    def until(self, holds):
        """The turn of the next event that satisfies a condition."""
        for line in self._events:
            if line.startswith(b"data: "):
                event = json.loads(line.removeprefix(b"data: "))
                if "turn" in event and holds(event):
                    return event["turn"]
        raise AssertionError("the events ended")

    def paused(self):
        return self.until(lambda event: event["event"] == "paused")["id"]

    def resume(self, turn):
        digest = self._ask("GET", f"/v1/pending/{turn}")["digest"]
        self._ask("POST", f"/v1/pending/{turn}/resume", {"digest": digest})

    def cancel(self, turn):
        self._ask("POST", f"/v1/pending/{turn}/cancel", {})

    def close(self):
        self._events.close()


class Call(threading.Thread):
    """A streaming chat on a thread of its own: what it said, or what it raised."""

    def __init__(self, client, text):
        super().__init__()
        self.client, self.text = client, text
        self.said, self.raised = None, None
        self.begun = threading.Event()
        self.start()

    def run(self):
        try:
            messages = [{"role": "user", "content": self.text}]
            stream = self.client.chat.completions.create(model="gpt-sample", messages=messages, stream=True)
            self.begun.set()
            self.said = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        except Exception as error:  # Whatever it is, the test looks at it.
            self.raised = error

    def end(self):
        self.join(PATIENCE)
        if self.is_alive():
            raise AssertionError("the client still waits")
        return self


@contextlib.contextmanager
def house(silence, **options):
    """A gate that holds what names `prod-db`, its person, and a client."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        runtime = os.path.join(folder, "run")
        os.mkdir(os.path.join(folder, "policy"))
        pathlib.Path(folder, "policy", "rules.toml").write_text(POLICY)
        upstream = stack.enter_context(Upstream())
        stack.callback(upstream.shutdown)
        pauses = ["--pause-silence", str(silence), "--pause-keepalive", "1"]
        policy = os.path.join(folder, "policy")
        gate = Gate("--policy", policy, "--upstream", upstream.url, *pauses, runtime=runtime)
        stack.enter_context(gate)
        person = Person(runtime)
        stack.callback(person.close)
        client = stack.enter_context(openai.OpenAI(base_url=gate.url + "/v1", api_key="none", **options))
        yield upstream, person, client


class Held(unittest.TestCase):
    def test_a_request_that_is_held_gets_its_answer(self):
        # Without keepalives the client gives up long before: its read timeout is shorter than the wait.
        with house(0.2, timeout=4, max_retries=0) as (upstream, person, client):
            call = Call(client, "Look into prod-db")
            turn = person.paused()
            time.sleep(HOLD)
            self.assertEqual((call.raised, upstream.bodies), (None, []))
            person.resume(turn)
            self.assertEqual(call.end().said, "Here you are.", call.raised)
            self.assertEqual(len(upstream.bodies), 1)

    def test_a_cancel_before_the_grace_period_has_a_status(self):
        with house(600) as (upstream, person, client):
            call = Call(client, "Look into prod-db")
            person.cancel(person.paused())
            raised = call.end().raised
            self.assertIsInstance(raised, openai.BadRequestError)
            self.assertEqual((raised.status_code, raised.code), (400, "leafgate_cancelled"))
            self.assertFalse(call.begun.is_set())
            self.assertEqual(upstream.bodies, [])

    def test_a_cancel_after_the_grace_period_is_raised_from_the_stream(self):
        with house(0.2) as (upstream, person, client):
            call = Call(client, "Look into prod-db")
            turn = person.paused()
            self.assertTrue(call.begun.wait(PATIENCE), "the stream never begins")
            person.cancel(turn)
            raised = call.end().raised
            self.assertIsInstance(raised, openai.APIError)
            self.assertEqual(raised.code, "leafgate_cancelled")
            self.assertEqual(upstream.bodies, [])

    def test_a_retry_joins_and_causes_no_second_call(self):
        # The package's own retry: the first try hears nothing for as long as it is willing to wait.
        with house(600, timeout=1.5, max_retries=1) as (upstream, person, client):
            call = Call(client, "Look into prod-db")
            turn = person.paused()
            person.until(lambda event: event["turn"]["state"] == "disconnected")
            back = person.until(lambda event: event["turn"]["state"] == "waiting")
            self.assertEqual((back["id"], back["connections"]), (turn, 1))
            person.resume(turn)
            self.assertEqual(call.end().said, "Here you are.", call.raised)
            self.assertEqual(len(upstream.bodies), 1, "one call however often it was tried")


if __name__ == "__main__":
    unittest.main()

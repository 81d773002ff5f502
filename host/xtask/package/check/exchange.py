"""Sends requests with a secret through a gate, and holds what left against it.

exchange.py [--until FILE] PROGRAM...   starts an upstream, and a client behind a gate: PROGRAM exec ...
                                        with --until, requests follow one another until FILE is there
exchange.py client FILE                 the client: once, or until FILE is there
"""

import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.request

# Put together here, so that no scanner takes this file for a leak.
SECRET = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
left = []


class Upstream(http.server.BaseHTTPRequestHandler):
    """A model that repeats what it is told."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        left.append(request["messages"][0]["content"])
        message = {"role": "assistant", "content": left[-1]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask(url):
    said = f"my token is {SECRET}, keep it"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": said}]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        answer = json.load(reply)["choices"][0]["message"]["content"]
    assert answer == said, f"the answer came back as {answer!r}"


def client(until):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    ask(url)
    if until:
        print("begun", flush=True)
        while not os.path.exists(until):
            ask(url)


def serve(until, program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = [sys.executable, os.path.abspath(__file__), "client", until]
    # In the settings, and no option of `exec`: the gate is the one of all programs, and goes on after this.
    settings = os.path.join(os.environ["HOME"], ".config/leafgate")
    os.makedirs(settings, exist_ok=True)
    with open(os.path.join(settings, "config.toml"), "w") as file:
        file.write(f'[upstreams.openai]\nurl = "http://127.0.0.1:{server.server_port}"\n')
    subprocess.run([*program, "exec", "--", *here], check=True)
    assert left, "nothing reached the upstream"
    assert not any(SECRET in text for text in left), "the secret has left"
    print(f"{len(left)} requests, the secret masked in each: {left[0]}")


if sys.argv[1] == "client":
    client(sys.argv[2])
elif sys.argv[1] == "--until":
    serve(sys.argv[2], sys.argv[3:])
else:
    serve("", sys.argv[1:])

"""The example scripts for clients, run as a person runs them."""

import os
import pathlib
import subprocess
import sys
import unittest

import stage

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "clients"


class Examples(unittest.TestCase):
    def setUp(self):
        stage.left()

    def run_example(self, text):
        environment = {**os.environ, "LEAFGATE_URL": stage.LIVELY, "MODEL": "gpt-sample", "OPENAI_API_KEY": "none"}
        script = [sys.executable, EXAMPLES / "openai_python.py", text]
        return subprocess.run(script, env=environment, capture_output=True, text=True, timeout=stage.PATIENCE)

    def test_a_chat_leaves_redacted_and_comes_back_whole(self):
        ran = self.run_example(stage.SECRETS)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(stage.CREDENTIAL, ran.stdout)
        (left,) = stage.left()
        stage.redacted(self, left)

    def test_a_blocked_chat_ends_with_the_reason(self):
        ran = self.run_example(stage.BLOCKED)
        self.assertIn("refused: ", ran.stderr)
        self.assertIn(stage.REASON, ran.stderr)
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(stage.left(), [])

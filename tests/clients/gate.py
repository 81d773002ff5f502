"""Runs the built gate for client tests: `LEAFGATE_BIN`, on a free port, with a log that can be waited for."""

import os
import re
import subprocess
import tempfile
import threading

PATIENCE = 30


class Gate:
    """A running gate. Used as a context manager; it ends with the block."""

    def __init__(self, *arguments, runtime=None):
        self._data = tempfile.TemporaryDirectory()
        runtime = runtime or os.path.join(self._data.name, "run")
        self._process = subprocess.Popen(
            [os.environ["LEAFGATE_BIN"], "run", "--listen", "127.0.0.1:0", *arguments],
            env={**os.environ, "LEAFGATE_DATA_DIR": self._data.name, "LEAFGATE_RUNTIME_DIR": runtime, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines = []
        self._grown = threading.Condition()
        self._follower = threading.Thread(target=self._follow)
        self._follower.start()
        first = self._process.stdout.readline()
        address = re.search(r"(\d+\.\d+\.\d+\.\d+:\d+)", first)
        if not address:
            self.__exit__()
            raise RuntimeError("the gate did not start:\n" + "".join(self._lines))
        self.url = f"http://{address.group(1)}"

    def _follow(self):
        with self._process.stderr as stderr:
            for line in stderr:
                with self._grown:
                    self._lines.append(line)
                    self._grown.notify_all()

    def log_until(self, word):
        """All lines of log up to the first that holds `word`, which is waited for."""

        def there():
            return next((at for at, line in enumerate(self._lines) if word in line), None)

        with self._grown:
            if not self._grown.wait_for(lambda: there() is not None, PATIENCE):
                raise AssertionError(f"the log never says {word!r}:\n" + "".join(self._lines))
            return self._lines[: there() + 1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._follower.join()
        self._process.stdout.close()
        self._data.cleanup()

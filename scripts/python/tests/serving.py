"""opledger serve with a simulated Gemini, and a door in front of it at which a test may do anything."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PACKAGE = pathlib.Path(__file__).parent.parent
ROOT = PACKAGE.parent.parent


@functools.cache
def command() -> str:
    """Returns the command opledger: OPLEDGER_COMMAND, else one that is built of this repository."""
    if given := os.environ.get("OPLEDGER_COMMAND", ""):
        return given
    path = os.path.join(tempfile.mkdtemp(prefix="opledger-python-"), "opledger")
    subprocess.run(["go", "build", "-o", path, "./scripts/opledger"], cwd=ROOT, check=True)
    return path


class Serve:
    """A process of opledger serve, with a simulated Gemini or with that of its environment.

    Started again, it has the same ledger and the same address. A simulated Gemini ends with it.
    """

    def __init__(self, *flags: str, simulate: bool = True, env: dict[str, str] | None = None) -> None:
        self._simulate = simulate
        self._folder = tempfile.TemporaryDirectory()
        self._flags = flags
        self._env = env or {}
        self._ports = ["0", "0"]
        self.process: subprocess.Popen[str] | None = None
        self.exports: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        folder = self._folder.name
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPLEDGER_", "GEMINI_", "GOOGLE_"))}
        simulate = ["--simulate", "--speed", "1000", "--simulate-port", self._ports[1]] if self._simulate else []
        self.process = subprocess.Popen(
            [command(), "serve", "--port", self._ports[0], "--store", self.store, *simulate, *self._flags],
            cwd=folder, env={**clean, "TMPDIR": folder, **self._env}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self.process.stdout
        said = []
        for line in self.process.stdout:
            said.append(line)
            if "export GEMINI_API_KEY=" in line:
                words = line.split()[1:]
                self.exports = dict(word.split("=", 1) for word in words)
                self._ports[1] = self.gemini.rpartition(":")[2]
                break
            if "watch in a browser: " in line:  # with the Gemini of the environment, and without a token
                self.exports = {"OPLEDGER_URL": line.partition(": ")[2].strip()}
                break
        else:
            raise AssertionError("serve did not start: " + "".join(said))
        self._ports[0] = self.url.rpartition(":")[2]
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    @property
    def url(self) -> str:
        return self.exports["OPLEDGER_URL"]

    @property
    def store(self) -> str:
        return f"sqlite:{self._folder.name}/ledger.db"

    @property
    def gemini(self) -> str:
        return self.exports["GOOGLE_GEMINI_BASE_URL"]

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def close(self) -> None:
        self.kill()
        self._folder.cleanup()


class Door(ThreadingHTTPServer):
    """Passes requests on to a server, but where guard takes one: it returns whether the request passes."""

    daemon_threads = True

    def __init__(self, to: Callable[[], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.to = to
        self.before: Callable[[str], bool] = lambda what: True
        self.after: Callable[[str], bool] = lambda what: True
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # the client was killed
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Passing(BaseHTTPRequestHandler):
    server: Door

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        what = f"{self.command} {self.path}"
        if not self.server.before(what):
            self.close_connection = True
            return
        own = ("connection", "accept-encoding")
        headers = {k: v for k, v in self.headers.items() if k.lower() not in own}
        request = urllib.request.Request(self.server.to() + self.path, body or None, headers, method=self.command)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with contextlib.closing(direct.open(request, timeout=60)) as answer:
                status, given, content = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, given, content = error.code, error.headers, error.read()
        if not self.server.after(what):
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in given.items():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the tests quiet."""


@contextlib.contextmanager
def variables(**values: str) -> Iterator[None]:
    """Sets variables of the environment for a time."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

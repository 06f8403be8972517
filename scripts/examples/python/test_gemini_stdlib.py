"""Tests of gemini_stdlib against a server on this machine that answers as it is told."""

from __future__ import annotations

import os
import socket
import threading
import unittest
import unittest.mock
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gemini_stdlib
from opledger import AnsweredError, Mark, NotSentError


class Server(ThreadingHTTPServer):
    """Gives one answer to each request; None: it hangs up."""

    answer: tuple[int, str] | None = None
    requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.requests += 1
        if self.server.answer is None:
            return
        status, text = self.server.answer
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the tests quiet."""


class GeminiTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        key = unittest.mock.patch.dict(os.environ, GEMINI_API_KEY="key")
        key.start()
        self.addCleanup(key.stop)
        self.at(f"http://127.0.0.1:{self.server.server_port}")

    def at(self, address: str) -> None:
        patch = unittest.mock.patch.object(gemini_stdlib, "GEMINI", address)
        patch.start()
        self.addCleanup(patch.stop)

    def test_says_what_gemini_answered(self) -> None:
        for status in (404, 503):
            self.server.answer = (status, '{"error":{"message":"no such model"}}')
            with self.assertRaisesRegex(AnsweredError, "no such model") as raised:
                gemini_stdlib.batch("files/x", Mark("night-1"))
            self.assertEqual(raised.exception.status, status)

    def test_says_that_nothing_was_sent(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # it does not listen
            for address, sent in (
                (f"http://127.0.0.1:{unused.getsockname()[1]}", False),
                ("http://gemini.invalid", False),
                (f"http://127.0.0.1:{self.server.server_port}", True),
            ):
                self.at(address)
                with self.subTest(address), self.assertRaises(Exception) as raised:
                    gemini_stdlib.batch("files/x", Mark("night-1"))
                self.assertEqual(isinstance(raised.exception, NotSentError), not sent)
        self.assertEqual(self.server.requests, 1)

    def test_the_key_follows_no_redirect(self) -> None:
        self.server.answer = (302, "")
        with self.assertRaises(AnsweredError) as raised:
            gemini_stdlib.batch("files/x", Mark("night-1"))
        self.assertEqual(raised.exception.status, 302)
        self.assertEqual(self.server.requests, 1)


if __name__ == "__main__":
    unittest.main()

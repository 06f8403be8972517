"""Receives the effects of opledger with the package opledger alone.

    OPLEDGER_EFFECT_SECRET=whsec_… python receiver.py
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opledger import CompletionError, Inbox, SignatureError, Verifier

MAX_BODY = 64 << 20  # bytes; an item of a batch has 32 MiB at most


class Receiver(BaseHTTPRequestHandler):
    timeout = 60  # seconds of silence
    verifier: Verifier
    inbox: Inbox

    def do_POST(self) -> None:
        announced = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,18}", announced):
            self.answer(400)
            return
        length = int(announced)
        if length > MAX_BODY:
            self.answer(413)
            # What is left unread would reset the connection, and the answer would be lost.
            while length > 0 and (part := self.rfile.read(min(length, 1 << 16))):
                length -= len(part)
            return
        try:
            completion = self.verifier.verify(self.headers, self.rfile.read(length))
        except SignatureError as error:
            print("refused:", error, file=sys.stderr)
            self.answer(401)  # it is sent again: a secret that is being changed loses nothing
            return
        except CompletionError as error:
            print("refused:", error, file=sys.stderr)
            self.answer(400)
            return
        key = completion.idempotency_key
        new = self.inbox.accept(key, completion.payload)
        print("accepted" if new else "repeated", key, completion.state, flush=True)
        self.answer(200)  # a repeat, too: what it asks for is done

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Leaves the log to do_POST."""


def main() -> None:
    secret = os.environ.get("OPLEDGER_EFFECT_SECRET", "")
    try:
        Receiver.verifier = Verifier(secret)
    except ValueError as error:
        sys.exit(f"OPLEDGER_EFFECT_SECRET: {error}; opledger serve --forward-to prints one")
    path = os.environ.get("INBOX", "inbox.db")
    try:
        Receiver.inbox = Inbox(path)
    except sqlite3.Error as error:
        sys.exit(f"INBOX is {path!r}: {error}; set it to a file in a folder that you may write to")
    port = os.environ.get("PORT", "9000")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(port)), Receiver)
    except (OSError, OverflowError, ValueError) as error:
        sys.exit(
            f"cannot listen on port {port}: {error}; set PORT to a free one, and say the same to "
            f"opledger serve --forward-to http://127.0.0.1:PORT/completions"
        )
    print(f"receives on http://127.0.0.1:{server.server_port}/completions", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()

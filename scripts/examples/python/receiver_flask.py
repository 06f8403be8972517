"""Receives the effects of opledger with Flask and the library of Standard Webhooks.

    OPLEDGER_EFFECT_SECRET=whsec_… flask --app receiver_flask run --port 9000
"""

from __future__ import annotations

import base64
import os
import sqlite3
import sys

from flask import Flask, request
from standardwebhooks import Webhook, WebhookVerificationError

from opledger import Inbox


def webhook_of_environment() -> Webhook:
    secret = os.environ.get("OPLEDGER_EFFECT_SECRET", "")
    try:  # the library takes any text, also one of no byte, with which everyone could sign
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith("whsec_") or len(key) < 16:
        sys.exit(
            'OPLEDGER_EFFECT_SECRET is not "whsec_" and the base64 of at least 16 bytes; '
            "opledger serve --forward-to prints one"
        )
    return Webhook(secret)


def inbox_of_environment() -> Inbox:
    path = os.environ.get("INBOX", "inbox.db")
    try:
        return Inbox(path)
    except sqlite3.Error as error:
        sys.exit(f"INBOX is {path!r}: {error}; set it to a file in a folder that you may write to")


app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 64 << 20  # bytes; an item of a batch has 32 MiB at most
webhook = webhook_of_environment()
inbox = inbox_of_environment()


@app.post("/completions")
def receive() -> tuple[str, int]:
    try:
        completion = webhook.verify(request.get_data(), dict(request.headers))
    except (WebhookVerificationError, ValueError):  # ValueError: a signature that is no base64
        return "not signed by opledger", 401  # it is sent again
    key = completion["idempotencyKey"]
    new = inbox.accept(key, completion)
    print("accepted" if new else "repeated", key, completion["state"], flush=True)
    return "", 200  # a repeat, too: what it asks for is done

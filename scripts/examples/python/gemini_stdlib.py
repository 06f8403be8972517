"""Creates operations over HTTP: one request each, which returns Gemini's name."""

from __future__ import annotations

import json
import os
import socket
import urllib.error
import urllib.request
from typing import Any

from opledger import AnsweredError, Mark, NotSentError, checked_url, opener, said

GEMINI = checked_url(  # here, before an intent is recorded
    "GOOGLE_GEMINI_BASE_URL",
    os.environ.get("GOOGLE_GEMINI_BASE_URL") or "https://generativelanguage.googleapis.com",
)

PIECE = 8 << 20  # bytes of an upload in one request; a multiple of 256 KiB


def post(path: str, body: dict[str, Any]) -> Any:
    """Sends one request, and never repeats it: Gemini runs, and charges for, each that it gets.

    Raises AnsweredError where it was refused, NotSentError where it made no connection.
    """
    request = urllib.request.Request(
        f"{GEMINI}/v1beta/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "x-goog-api-key": os.environ["GEMINI_API_KEY"]},
    )
    try:
        with opener(GEMINI).open(request, timeout=60) as response:  # a redirect would get the key
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            raise AnsweredError(error.code, said(error)) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, (ConnectionRefusedError, socket.gaierror)):
            raise NotSentError(str(error.reason)) from error
        raise


def upload(path: str) -> str:
    """Uploads a file of requests, in pieces, and returns its name, such as files/abc."""
    size = os.path.getsize(path)
    start = urllib.request.Request(f"{GEMINI}/upload/v1beta/files", b"{}", {
        "Content-Type": "application/json",
        "x-goog-api-key": os.environ["GEMINI_API_KEY"],
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Length": str(size),
        "X-Goog-Upload-Header-Content-Type": "application/jsonl",
    })
    with opener(GEMINI).open(start, timeout=60) as response:
        session = response.headers["X-Goog-Upload-URL"]
    with open(path, "rb") as file:
        offset = 0
        while True:
            part = file.read(PIECE)
            last = offset + len(part) >= size
            request = urllib.request.Request(session, part, {
                "Content-Type": "application/octet-stream",
                "X-Goog-Upload-Offset": str(offset),
                "X-Goog-Upload-Command": "upload, finalize" if last else "upload",
            })
            with opener(session).open(request, timeout=600) as response:
                if last:  # the answers before it are empty
                    return str(json.load(response)["file"]["name"])
            offset += len(part)


def batch(file: str, mark: Mark) -> str:
    """file was uploaded to Gemini, such as files/reviews."""
    created = post("models/gemini-3.5-flash:batchGenerateContent", {
        "batch": {
            "displayName": mark.display_name("reviews"),
            "inputConfig": {"fileName": file},
            "webhookConfig": {"userMetadata": mark.user_metadata()},
        },
    })
    return str(created["name"])


def video(prompt: str, mark: Mark) -> str:
    created = post("models/veo-3.1-generate-preview:predictLongRunning", {
        "instances": [{"prompt": prompt}],
        "webhookConfig": {"userMetadata": mark.user_metadata()},
    })
    return str(created["name"])


def interaction(text: str, mark: Mark) -> str:
    created = post("interactions", {
        "model": "gemini-3.5-flash",
        "input": text,
        "background": True,  # else there is no operation to track
        "store": True,
        "webhook_config": {"user_metadata": mark.user_metadata()},
    })
    return f"interactions/{created['id']}"


CREATE = {"batch": batch, "video": video, "interaction": interaction}

"""Verifies what an http effect sends."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from ._errors import CompletionError, SignatureError
from ._model import Completion

_TOLERANCE = 300.0  # seconds between a signature's time and ours


class Headers(Protocol):
    """The headers of a request, as a dict or as any web framework has them."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Returns their names and values."""
        ...


class Verifier:
    """Verifies what an http effect sends, which is signed by Standard Webhooks.

    Args:
        secret: "whsec_…", or two with a space between while one replaces the other.
        now: The time, for tests.

    Raises:
        ValueError: The secret is none, or so short that it could be guessed.

    Example:
        >>> secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        >>> body = (b'{"operation":"batches/abc","state":"SUCCEEDED","result":{},"metadata":null,'
        ...         b'"idempotencyKey":"gemini:batches/abc#publish"}')
        >>> headers = {"webhook-id": "msg_1", "webhook-timestamp": "1700000000",
        ...            "webhook-signature": "v1,lhE7dBqoFlUIfm6wSRAXb0k0Xmt+fpycOBnyXdIy2Ks="}
        >>> completion = Verifier(secret, now=lambda: 1700000000).verify(headers, body)
        >>> completion.operation, completion.state
        ('batches/abc', 'SUCCEEDED')
    """

    def __init__(self, secret: str, *, now: Callable[[], float] = time.time) -> None:
        self._keys = [_key(text) for text in secret.split()]
        self._now = now
        if not self._keys:
            raise ValueError("the secret is empty, and everyone could sign with it")

    def verify(self, headers: Headers, body: bytes) -> Completion:
        """Returns what a request says.

        Args:
            headers: Those of the request, in any case.
            body: Its bytes as received.

        Raises:
            SignatureError: It is not signed with the secret, or is too old. Answer 401.
            CompletionError: It is signed, and not what an effect sends. Answer 400.
        """
        given = {name.lower(): value for name, value in headers.items()}
        stamp = given.get("webhook-timestamp", "")
        signed = f"{given.get('webhook-id', '')}.{stamp}.".encode() + body
        signatures = given.get("webhook-signature", "").encode().split()
        expected = [b"v1," + base64.b64encode(hmac.digest(k, signed, "sha256")) for k in self._keys]
        # A list, so that every comparison is made: the time must not tell which one fits.
        if not any([hmac.compare_digest(e, s) for e in expected for s in signatures]):
            raise SignatureError("no signature of the request fits the secret")
        if not stamp.isdecimal() or abs(self._now() - int(stamp)) > _TOLERANCE:
            raise SignatureError(f"the request was signed at {stamp!r}, which is not now")
        return _completion(body)


def _completion(body: bytes) -> Completion:
    try:
        read: object = json.loads(body)
    except ValueError as error:
        raise CompletionError(f"the signed body is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise CompletionError("the signed body is no JSON object")
    payload = cast("dict[str, Any]", read)
    kinds = {"idempotencyKey": str, "operation": str, "state": str, "result": dict}
    for name, kind in kinds.items():
        if not isinstance(payload.get(name), kind):
            raise CompletionError(f"the signed body has no {name}, which every effect sends")
    return Completion(
        idempotency_key=payload["idempotencyKey"], operation=payload["operation"],
        state=payload["state"], result=payload["result"], item=payload.get("item"),
        payload=payload,
    )


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith("whsec_") or len(key) < 16:
        raise ValueError('the secret is not "whsec_" and the base64 of at least 16 bytes')
    return key

"""A client of opledger: submit an operation to Gemini once, wait until it ends, verify its effects.

Copy this file. It needs Python 3.10 and the standard library, nothing else.

    opledger = Opledger("http://127.0.0.1:8080")
    submitted = opledger.submit_once("reviews-2026-11-22", create, collection="batches")
    ended = opledger.wait(submitted.operation.key)

    verifier = Verifier(os.environ["OPLEDGER_EFFECT_SECRET"])
    completion = verifier.verify(request.headers, request.body)

create is yours: it sends Gemini one request with the mark in it, and returns the name that Gemini
gives, as batch does in gemini_stdlib.py.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import random
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Literal, Protocol

Collection = Literal["batches", "operations", "interactions"]  # of batches, videos, interactions
Outcome = Literal["refused", "earlier-run", "unanswered", "unregistered"]

_RESULT = ("outputFile", "inline", "errorCode", "errorMessage", "counts")
_TERMINAL = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"})
_RETRIED = frozenset({0, 408, 429, 500, 502, 503, 504})  # 0: no answer
_TIMEOUT = 60.0  # seconds, of one request; longer than _LONGEST_WAIT
_GRACE = 5.0  # seconds after wait's time, in which its last request may be answered
_LONGEST_WAIT = 30.0  # that opledger allows in one request
_LONGEST_PAUSE = 60.0  # between two attempts, also where Retry-After asks for more
_OUTAGE = 90.0  # seconds in which a request is repeated while opledger is away
_SUBMIT_WITHIN = 120.0  # seconds after the question in which create may be called
_REFUSED_LATER = 429  # a status of Gemini with which nothing runs, and which passes
_TOLERANCE = 300.0  # seconds between a signature's time and ours
_LISTED = 20  # wrong lines of a file that an error lists

_log = logging.getLogger("opledger")  # says when a call waits; without a handler on stderr


class OpledgerError(Exception):
    """opledger refused a request, or did not answer it. The text ends with what to do."""

    def __init__(
        self, message: str, code: int = 0, problems: Sequence[str] = (), retry_after: float = 0.0
    ) -> None:
        super().__init__(f"{message}; {_remedy(code)}")
        self.what = message  # without what to do
        self.code = code  # the HTTP status; 0: no answer
        self.problems = tuple(problems)  # every problem of an invalid request
        self.retry_after = retry_after  # seconds


class SubmitError(Exception):
    """submit_once did not end with a registered operation. outcome says what runs at Gemini.

    refused: nothing. The cause is Gemini's answer, or that it was not reached. The id may be used
    again at once.
    earlier-run: perhaps what an earlier call submitted. Nothing was submitted now.
    unanswered: perhaps one operation. The cause is what create raised.
    unregistered: the operation name. The cause is why it is not registered.

    retryable: the same call, made again later, gets through without an operator; of an earlier
    run after retry_after seconds.
    """

    def __init__(
        self, outcome: Outcome, correlation_id: str, why: object, name: str = "",
        retryable: bool = False, retry_after: float = 0.0,
    ) -> None:
        later = "if it runs, its event or a reconcile pass registers it"
        when = f"try again after {_time_in(retry_after)}" if retry_after else "call it again"
        again = f"{when}, with the same id" if retryable else later
        remedy = "call it again later" if retryable else "correct the request; the id is free"
        text = {
            "refused": f"Gemini {why}, and nothing runs; {remedy}",
            "earlier-run": f"an earlier run may have submitted it; {again}",
            "unanswered": f"no answer says whether it was submitted ({why}); {again}",
            "unregistered": f"{name} runs, but is not registered ({why}); its event or a reconcile "
            "pass registers it, or register",
        }[outcome]
        super().__init__(f"{correlation_id}: {text}")
        self.outcome: Outcome = outcome
        self.correlation_id = correlation_id
        self.name = name
        self.retryable = retryable
        self.retry_after = retry_after


class AnsweredError(Exception):
    """create raises it with the status of Gemini's answer to the creation, and what that says.

    Only create knows: the same status may come from a second request, or of another server.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class NotSentError(Exception):
    """create raises it where no connection to Gemini was made, so that nothing runs.

    Only create knows: the same error of the network may come from a second request, or of a
    program of its own.
    """


class NotSettledError(TimeoutError):
    """wait ended before the operation. operation is its record as it was then.

    Where opledger never answered, the record has no state. The cause is the last error, if any.
    """

    def __init__(self, operation: Operation, why: object = None) -> None:
        state = f"{operation.state or 'unknown'}{f' ({why})' if why else ''}"
        super().__init__(f"{operation.key} is still {state}; wait again")
        self.operation = operation


class SignatureError(Exception):
    """A request is not signed with the secret, or is too old. Answer 401: it is sent again."""


class CompletionError(Exception):
    """A signed body is not what an effect sends. Answer 400: it is not opledger's."""


@dataclass(frozen=True)
class Mark:
    """What an operation must carry, so that it is found even if its submitter dies.

    Raises ValueError for an id that it cannot carry.
    """

    correlation_id: str

    def __post_init__(self) -> None:
        value = self.correlation_id
        fits = 1 <= len(value.encode(errors="replace")) <= 100 and value.isprintable()
        if not fits or " " in value or "\ufffd" in value:
            raise ValueError(
                f"the correlation id {value!r} is not 1 to 100 printable bytes, no spaces"
            )

    def display_name(self, own: str = "") -> str:
        """Returns the display name of a batch: own, cut to fit, and the id, as Gemini lists it."""
        mark = f"opledger:{self.correlation_id}"
        room = 128 - len(f" {mark}".encode())
        return f"{own.strip().encode()[:room].decode(errors='ignore')} {mark}".strip()

    def user_metadata(self, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the user metadata of a webhook config: own, and the id, which events repeat."""
        return {**(own or {}), "opledger_correlation_id": self.correlation_id}


@dataclass(frozen=True)
class Operation:
    """The ledger's record of an operation."""

    key: str  # such as "batches/abc123"
    name: str  # as Gemini gave it
    state: str  # PENDING, RUNNING, REQUIRES_ACTION, SUCCEEDED, FAILED, CANCELLED or EXPIRED
    # outputFile, inline, errorCode, errorMessage, counts; None where Gemini did not report it
    result: Mapping[str, Any]
    record: Mapping[str, Any]  # all that opledger answered

    @property
    def settled(self) -> bool:
        """Whether the operation has ended."""
        return self.state in _TERMINAL


@dataclass(frozen=True)
class Submitted:
    """The operation of a correlation id."""

    operation: Operation
    known: bool  # an earlier call submitted it


@dataclass(frozen=True)
class Completion:
    """What an effect sends: an operation has ended, or an item of a batch is there."""

    idempotency_key: str  # the same in every repeat
    operation: str  # such as "batches/abc123"
    state: str
    result: Mapping[str, Any]
    item: Mapping[str, Any] | None  # key, and response or error; of an effect once per item
    payload: Mapping[str, Any]  # all that opledger sent


class Opledger:
    """A client of opledger serve, or of the function Register. Threads may share it.

    token is sent as a bearer token; where tokens expire, give a function that returns a valid one.
    Without it OPLEDGER_TOKEN is sent, or what is in the file OPLEDGER_TOKEN_FILE.
    sleep, clock and uniform are time and randomness, for tests.
    """

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str] | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._url = checked_url("the URL of opledger", url)
        self._token = _token_of_environment() if token is None else token
        self._sleep = sleep
        self._clock = clock
        self._uniform = uniform
        self._opener = opener(self._url)

    def submit_once(
        self,
        correlation_id: str,
        create: Callable[[Mark], str],
        *,
        collection: Collection,
        job_kind: str = "",
        metadata: Mapping[str, Any] | None = None,
        patience: float = 900.0,
    ) -> Submitted:
        """Submits an operation, once for a correlation id, however often it is called.

        It records the intent, calls create, and registers the name that create returns. create
        sends Gemini one request, within a minute, which carries the mark, and never repeats it:
        Gemini would run, and charge for, both. Where that failed it raises AnsweredError with the
        status of Gemini's answer, or NotSentError: where nothing runs, the id is free at once.
        After any other error it may run. What an earlier call submitted is returned, and create
        not called. Upload files before, where find knows of no such operation.

        Where an earlier call died, opledger finds out from Gemini's list of batches whether it
        submitted: five minutes after it, and a reconcile pass. This call waits for that, patience
        seconds at most, and logs that it does. Videos and interactions cannot be listed, and an
        operator finds out.

        Raises ValueError or OpledgerError where nothing was submitted, else SubmitError.
        """
        mark = Mark(correlation_id)
        job = _job(correlation_id, job_kind, metadata)
        listed = collection == "batches"
        intent: dict[str, object] = {"intent": True, "collection": collection, "attempt": secrets.token_hex(16), **job}
        bound = self._may_submit(intent, correlation_id, patience)
        if bound:
            return Submitted(self._read(bound, 0), known=True)
        try:
            name = _create(create, mark, listed)
        except SubmitError as error:
            if error.outcome == "refused":
                self._withdraw(intent)
            raise
        try:
            return Submitted(self._register({**job, "name": name}), known=False)
        except OpledgerError as error:
            raise SubmitError("unregistered", correlation_id, error, name, listed) from error

    def find(self, correlation_id: str) -> Submitted | None:
        """Returns what an earlier call submitted; None where no operation is known. It waits for none.

        Raises ValueError or OpledgerError.
        """
        quoted = urllib.parse.quote(Mark(correlation_id).correlation_id, safe="")
        try:
            intent = self._call("GET", f"/intents/{quoted}", None)
        except OpledgerError as error:
            if error.code in (404, 405):  # an older opledger has no such route
                return None
            raise
        if intent["state"] != "BOUND":
            return None
        return Submitted(self._read(intent["operation"], 0), known=True)

    def _may_submit(
        self, intent: Mapping[str, Any], correlation_id: str, patience: float
    ) -> str:
        """Returns the operation that there is; "" where this call may submit, now."""
        deadline = self._clock() + patience
        waits = False
        while True:
            asked = self._clock()
            answer = self._call("POST", "/register", intent)
            if answer["verdict"] == "bound":
                return str(answer["intent"]["operation"])
            wait = float(answer.get("waitSeconds", 0))
            if answer["verdict"] == "submit":
                if self._clock() - asked < _SUBMIT_WITHIN:
                    return ""
                wait = _LONGEST_PAUSE  # it was answered too late; what it allowed is over first
            wanted = min(wait, _LONGEST_PAUSE)
            if not wanted or self._clock() + wanted > deadline:
                raise SubmitError(
                    "earlier-run", correlation_id, "", retryable=wanted > 0, retry_after=wait
                )
            if not waits:
                until = _time_in(deadline - self._clock())
                _log.warning(
                    "%s: an earlier run may have submitted it; asking again until %s",
                    correlation_id, until,
                )
                waits = True
            self._sleep(wanted)

    def _withdraw(self, intent: Mapping[str, Any]) -> None:
        """Frees the id at once. Where that fails, a later call waits until the id is decided."""
        try:
            self._call("POST", "/register", {**intent, "withdraw": True})
        except OpledgerError:
            pass  # what the caller must know is why Gemini refused

    def register(
        self,
        name: str,
        *,
        correlation_id: str = "",
        job_kind: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Operation:
        """Registers an operation that runs at Gemini. Repeating it only adds what is new."""
        return self._register({**_job(correlation_id, job_kind, metadata), "name": name})

    def wait(self, name: str, timeout: float = 600.0) -> Operation:
        """Waits until an operation is settled; NotSettledError where timeout seconds are over."""
        deadline = self._clock() + timeout
        operation = Operation(name, name, "", dict.fromkeys(_RESULT), {})
        while True:
            began = self._clock()
            asked = max(0.0, min(_LONGEST_WAIT, deadline - began))
            try:
                operation = self._read(name, asked, deadline)
            except OpledgerError as error:
                if error.code not in _RETRIED:
                    raise
                raise NotSettledError(operation, error) from error
            if operation.settled:
                return operation
            if self._clock() >= deadline:
                raise NotSettledError(operation)
            # A server that is stopping answers early: the next one is not asked at once.
            self._sleep(max(0.0, min(2.0, began + asked - self._clock())))

    def _register(self, body: Mapping[str, Any]) -> Operation:
        return _operation(self._call("POST", "/register", body))

    def _read(self, name: str, wait: float, deadline: float | None = None) -> Operation:
        path = f"/operations/{urllib.parse.quote(name)}?wait={int(wait * 1000)}ms"
        return _operation(self._call("GET", path, None, deadline))

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        deadline: float | None = None,
    ) -> Any:
        """Repeats a request until it is answered: at opledger every request may be repeated."""
        if deadline is None:
            deadline = self._clock() + _OUTAGE
        pause = 0.5
        waits = False
        while True:
            try:
                limit = min(_TIMEOUT, max(0.0, deadline - self._clock()) + _GRACE)
                return self._send(method, path, body, limit)
            except OpledgerError as error:
                asked = max(error.retry_after, self._uniform(pause / 2, pause))
                wanted = min(asked, _LONGEST_PAUSE)
                if error.code not in _RETRIED or self._clock() + wanted > deadline:
                    raise
                if not waits:
                    _log.warning("%s; asking again until %s", error.what, _time_in(deadline - self._clock()))
                    waits = True
            self._sleep(wanted)
            pause = min(2 * pause, 8.0)

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float
    ) -> Any:
        request = urllib.request.Request(self._url + path, method=method)
        if body is not None:
            request.data = json.dumps({k: v for k, v in body.items() if v}).encode()
            request.add_header("Content-Type", "application/json")
        if token := self._token if isinstance(self._token, str) else self._token():
            request.add_header("Authorization", f"Bearer {token}")
        what = f"{method} {self._url}{path}"
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise _refusal(what, error) from None
        except (OSError, HTTPException, ValueError) as error:
            raise OpledgerError(f"{what} was not answered: {error}") from error


def check_requests(path: str) -> int:
    """Checks a file of requests, one {"key":…,"request":{…}} a line, and returns how many it has.

    Upload it, and submit the batch with the file. Requests inside a batch have results without
    their keys, and not always in order. Raises ValueError, which lists the lines that are wrong.
    """
    lines: dict[bytes, int] = {}  # of each key, whose digest takes less memory
    wrong: list[str] = []
    count = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            key, problems = _read_request(line, number)
            digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16]
            if key and (first := lines.setdefault(digest, number)) != number:
                problems.append(f"its key {key!r} is that of line {first}")
            if problems:
                count += 1
                if count <= _LISTED:
                    wrong.append(f"line {number}: {', and '.join(problems)}")
    if count > _LISTED:
        wrong.append(f"and {count - _LISTED} more")
    if wrong:
        of = "1 line is wrong" if count == 1 else f"{count} lines are wrong"
        raise ValueError("\n  ".join([f"{path}: {of}", *wrong]))
    if not lines:
        raise ValueError(f"{path} has no requests")
    return len(lines)


def _read_request(line: bytes, number: int) -> tuple[str, list[str]]:
    """Returns the key of a line of requests, or "", and what is wrong with it."""
    problems = []
    if number == 1 and line.startswith(codecs.BOM_UTF8):
        line = line[len(codecs.BOM_UTF8):]
        problems.append("it begins with a byte order mark; save the file as UTF-8 without one")
    try:
        request = json.loads(line.decode(), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return "", [*problems, f"it is not JSON: {error.msg} at column {error.colno}"]
    except (ValueError, RecursionError) as error:
        return "", [*problems, f"it is not JSON: {error}"]
    if not isinstance(request, dict):
        return "", [*problems, 'it is not {"key":…,"request":{…}}']
    key, body = request.get("key"), request.get("request")
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        problems.append(f'its key {key} is a number; write "{key}"')
    elif not isinstance(key, str) or not key:
        problems.append("it has no key, a text by which its result is told from others")
    if not isinstance(body, dict) or not body:
        problems.append('it has no request, as in "request":{"contents":[…]}')
    return key if isinstance(key, str) else "", problems


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


class Headers(Protocol):
    """The headers of a request, as a dict or as any web framework has them."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class Verifier:
    """Verifies what an http effect sends, which is signed by Standard Webhooks.

    secret is "whsec_…", or two with a space between while one replaces the other. now is the time,
    for tests.
    """

    def __init__(self, secret: str, *, now: Callable[[], float] = time.time) -> None:
        self._keys = [_key(text) for text in secret.split()]
        self._now = now
        if not self._keys:
            raise ValueError("the secret is empty, and everyone could sign with it")

    def verify(self, headers: Headers, body: bytes) -> Completion:
        """Returns what a request says; body is its bytes as received.

        Raises SignatureError or CompletionError.
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


def opener(url: str) -> urllib.request.OpenerDirector:
    """Returns what sends requests with a secret: no redirect and, on this machine, no proxy."""
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    direct = [urllib.request.ProxyHandler({})] if local else []
    return urllib.request.build_opener(_NoRedirect, *direct)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would carry the token to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def checked_url(what: str, url: str) -> str:
    """Returns an HTTP URL without slashes at its end. Raises ValueError, which begins with what."""
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(
            f"{what} is {url!r}; begin it with http:// or https:// and a host, as in "
            "http://127.0.0.1:8080"
        )
    return url.rstrip("/")


def _completion(body: bytes) -> Completion:
    try:
        payload = json.loads(body)
    except ValueError as error:
        raise CompletionError(f"the signed body is not JSON: {error}") from error
    if not isinstance(payload, dict):
        raise CompletionError("the signed body is no JSON object")
    kinds = {"idempotencyKey": str, "operation": str, "state": str, "result": dict}
    for field, kind in kinds.items():
        if not isinstance(payload.get(field), kind):
            raise CompletionError(f"the signed body has no {field}, which every effect sends")
    return Completion(
        idempotency_key=payload["idempotencyKey"], operation=payload["operation"],
        state=payload["state"], result=payload["result"], item=payload.get("item"),
        payload=payload,
    )


def _create(create: Callable[[Mark], str], mark: Mark, listed: bool) -> str:
    try:
        name = create(mark)
    except Exception as error:
        outcome: Outcome = "unanswered"
        why, again = said(error), listed
        if isinstance(error, NotSentError):
            outcome, why, again = "refused", f"was not reached ({why})", True
        elif isinstance(error, AnsweredError) and _refused(error.status):
            outcome, why, again = "refused", f"refused it ({why})", error.status == _REFUSED_LATER
        raise SubmitError(outcome, mark.correlation_id, why, retryable=again) from error
    if not name:
        why = "the answer has no name"
        raise SubmitError("unanswered", mark.correlation_id, why, retryable=listed)
    return name


def _refused(status: int) -> bool:
    """Whether nothing runs for certain: after 408, 499 and 5xx Gemini may have begun."""
    return 400 <= status < 500 and status not in (408, 499)


def said(error: Exception) -> str:
    """Returns an error's text with Gemini's reason, which urllib leaves in the body."""
    if not isinstance(error, urllib.error.HTTPError):
        return str(error)
    try:
        text = error.read(1 << 16).decode(errors="replace")
    except (OSError, HTTPException, ValueError):
        text = ""
    try:
        text = str(json.loads(text)["error"]["message"])
    except (ValueError, TypeError, KeyError):
        text = text[:200]
    return f"{error}: {text.strip()}" if text.strip() else str(error)


def _token_of_environment() -> str:
    file = os.environ.get("OPLEDGER_TOKEN_FILE", "")
    if (token := os.environ.get("OPLEDGER_TOKEN", "")) or not file:
        return token
    try:
        with open(file, encoding="ascii") as content:
            return content.read().strip()
    except (OSError, ValueError) as error:
        raise ValueError(f"OPLEDGER_TOKEN_FILE: {error}; opledger serve prints which it is") from None


def _job(
    correlation_id: str, job_kind: str, metadata: Mapping[str, Any] | None
) -> dict[str, object]:
    return {"correlationId": correlation_id, "jobKind": job_kind, "metadata": metadata}


def _operation(record: Mapping[str, Any]) -> Operation:
    return Operation(
        record["key"], record["name"], record["state"], record["result"], record
    )


def _refusal(what: str, error: urllib.error.HTTPError) -> OpledgerError:
    """Reads an answer in opledger's form, {"error":{"message","problems"}}, or a proxy's."""
    try:
        text = error.read().decode(errors="replace")
    except (OSError, HTTPException):
        text = ""
    try:
        said = json.loads(text)["error"]
        message, problems = str(said["message"]), said.get("problems") or ()
    except (ValueError, TypeError, KeyError, AttributeError):
        message, problems = text[:200].strip(), ()
    seconds = error.headers.get("Retry-After", "")
    retry_after = float(seconds) if seconds.isdecimal() else 0.0
    message = f"{what}: {error.code} {message or error.reason}"
    return OpledgerError(message, error.code, problems, retry_after)


def _remedy(code: int) -> str:
    if code in _RETRIED:
        return "try again later: opledger does nothing twice"
    return {
        400: "correct the request",
        401: "send a valid token: what serve prints sets OPLEDGER_TOKEN_FILE, and Register takes an "
        "identity token for its URL",
        403: "let the caller in: roles/run.invoker on Register, or serve's --allow-host",
        404: "check the URL and the name, and register the operation first",
        413: "send less metadata",
    }.get(code, "check the URL")


def _time_in(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith("whsec_") or len(key) < 16:
        raise ValueError('the secret is not "whsec_" and the base64 of at least 16 bytes')
    return key

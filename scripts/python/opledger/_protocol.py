"""The protocol of opledger without any input or output: generators of commands, which a client carries out.

A plan yields commands, gets what each of them brought, and returns the answer of a call. So the client that blocks
and the one that awaits are one implementation, and tests give it any answers and any time.
"""

from __future__ import annotations

import codecs
import getpass
import hashlib
import json
import logging
import random
import re
import secrets
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Generic, Literal, TypeVar, Union, cast

from ._errors import (
    AnsweredError, ConflictError, NotFoundError, NotSentError, NotSettledError, OpledgerError, RefusedError,
    ResultsError, SubmitError, UnavailableError, error_of, said, time_in,
)
from ._model import REPORTED, Collection, Job, Mark, Operation, Result, Submitted, fields, job_of, operation_of
from ._requests import Request, lines_of

T = TypeVar("T")
Kind = Literal["results", "failed", "unmatched"]

_ATTEMPT = 60.0  # seconds, of one request; longer than _LONGEST_WAIT
_GRACE = 5.0  # seconds after a call's time, in which its last request may be answered
_LONGEST_WAIT = 30.0  # that opledger allows in one request
_LONGEST_PAUSE = 60.0  # between two attempts, also where Retry-After asks for more
_SUBMIT_WITHIN = 120.0  # seconds after the question in which create may be called
_STORED_WITHIN = 1800.0  # seconds in which the server stores an input whose bytes have all arrived
_REFUSED_LATER = 429  # a status of Gemini with which nothing runs, and which passes
_PIECE = 8 << 20  # bytes of an upload in one request; a multiple of 256 KiB
_TAKEN = 500  # requests of an iterable that are taken at once
_DAY = 86400.0
_BUFFERED = 8 << 20  # bytes of results that are kept in memory

_JOB_ID = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

log = logging.getLogger("opledger")  # says when a call waits; without a handler on stderr


@dataclass(frozen=True)
class Send:
    """Sends a request, and brings a Reply. Its error is an Unreached."""

    method: str
    url: str  # a path of opledger, or a whole URL
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    timeout: float = _ATTEMPT
    auth: Literal["opledger", "gemini", "google", "none"] = "opledger"
    into: IO[bytes] | None = None  # where the body of a 200 goes


@dataclass(frozen=True)
class Reply:
    """An answer, of any status. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Unreached(Exception):
    """No answer came, or it broke off."""


@dataclass(frozen=True)
class Pause:
    """Waits."""

    seconds: float


@dataclass(frozen=True)
class Ask:
    """Calls the caller's function, and brings what it returns."""

    function: Callable[[Any], Any]
    argument: object


@dataclass(frozen=True)
class Take:
    """Brings the next elements of an iterator as a list; an empty one at its end."""

    elements: Any
    most: int


@dataclass(frozen=True)
class Emit(Generic[T]):
    """Gives the caller an element of what it iterates over."""

    value: T


Command = Union[Send, Pause, Ask, Take]
Plan = Generator[Command, Any, T]
Stream = Generator["Command | Emit[T]", Any, None]


@dataclass(frozen=True)
class Bounds:
    """What a call may take."""

    deadline: float
    retries: int | None = None  # of one request; None: as many as fit


class Protocol:
    """Plans of all calls, with the time and the randomness of a client."""

    def __init__(
        self, *, timeout: float, max_retries: int | None, clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform, traceparent: Callable[[], str] | None = None,
        gemini: str = "", google: str = "", storage: str = "",
    ) -> None:
        self.timeout = timeout
        self.max_retries = max_retries
        self.clock = clock
        self.uniform = uniform
        self.traceparent = traceparent or _current_trace
        self.gemini = gemini
        self.google = google
        self.storage = storage.rstrip("/")

    def bounds(self, timeout: float | None = None, max_retries: int | None = None) -> Bounds:
        """Returns what a call may take that begins now."""
        retries = self.max_retries if max_retries is None else max_retries
        return Bounds(self.clock() + (self.timeout if timeout is None else timeout), retries)

    # Operations

    def submit_once(
        self, correlation_id: str, create: Callable[[Mark], Any], collection: Collection, job_kind: str,
        metadata: Mapping[str, Any] | None, patience: float, traceparent: str, timeout: float | None,
        max_retries: int | None,
    ) -> Plan[Submitted]:
        mark = Mark(correlation_id)
        job = self._said(correlation_id, job_kind, metadata, traceparent)
        listed = collection == "batches"
        intent: dict[str, Any] = {
            "intent": True, "collection": collection, "attempt": secrets.token_hex(16), **job,
        }
        bound = yield from self._may_submit(intent, correlation_id, patience, timeout, max_retries)
        if bound:
            return Submitted((yield from self.operation(bound, timeout, max_retries)), known=True)
        try:
            name = yield from _created(create, mark, listed)
        except SubmitError as error:
            if error.outcome == "refused":
                yield from self._withdraw(intent, timeout, max_retries)
            raise
        try:
            return Submitted((yield from self._register({**job, "name": name}, timeout, max_retries)), known=False)
        except Exception as error:  # whatever it is, the caller gets the name
            raise SubmitError(
                "unregistered", correlation_id, error, name=name, retryable=listed, status=getattr(error, "status", 0),
            ) from error

    def _may_submit(
        self, intent: Mapping[str, Any], correlation_id: str, patience: float, timeout: float | None,
        max_retries: int | None,
    ) -> Plan[str]:
        """Returns the operation that there is; "" where this call may submit, now."""
        deadline = self.clock() + patience
        waits = False
        while True:
            asked = self.clock()
            verdict, bound, wait = yield from self.call(
                "POST", "/register", intent, self.bounds(timeout, max_retries), _verdict,
            )
            if verdict == "bound":
                return bound
            if verdict == "submit":
                if self.clock() - asked < _SUBMIT_WITHIN:
                    return ""
                wait = _LONGEST_PAUSE  # it was answered too late; what it allowed is over first
            wanted = min(wait, _LONGEST_PAUSE)
            if not wanted or self.clock() + wanted > deadline:
                raise SubmitError("earlier-run", correlation_id, "", retryable=wanted > 0, retry_after=wait)
            if not waits:
                until = time_in(deadline - self.clock())
                log.warning("%s: an earlier run may have submitted it; asking again until %s", correlation_id, until)
                waits = True
            yield Pause(wanted)

    def _withdraw(self, intent: Mapping[str, Any], timeout: float | None, max_retries: int | None) -> Plan[None]:
        """Frees the id at once. Where that fails, a later call waits until the id is decided."""
        try:
            bounds = self.bounds(timeout, max_retries)
            yield from self.call("POST", "/register", {**intent, "withdraw": True}, bounds, fields)
        except OpledgerError:
            pass  # what the caller must know is why Gemini refused

    def find(self, correlation_id: str, timeout: float | None, max_retries: int | None) -> Plan[Submitted | None]:
        quoted = urllib.parse.quote(Mark(correlation_id).correlation_id, safe="")
        try:
            bound = yield from self.call(
                "GET", f"/intents/{quoted}", None, self.bounds(timeout, max_retries),
                lambda intent: str(intent["operation"]) if intent["state"] == "BOUND" else "",
            )
        except OpledgerError as error:
            if error.status in (404, 405):  # an older opledger has no such route
                return None
            raise
        return Submitted((yield from self.operation(bound, timeout, max_retries)), known=True) if bound else None

    def register(
        self, name: str, correlation_id: str, job_kind: str, metadata: Mapping[str, Any] | None, traceparent: str,
        timeout: float | None, max_retries: int | None,
    ) -> Plan[Operation]:
        said = self._said(correlation_id, job_kind, metadata, traceparent)
        return (yield from self._register({**said, "name": name}, timeout, max_retries))

    def _register(self, body: Mapping[str, Any], timeout: float | None, max_retries: int | None) -> Plan[Operation]:
        return (yield from self.call("POST", "/register", body, self.bounds(timeout, max_retries), operation_of))

    def _said(
        self, correlation_id: str, job_kind: str, metadata: Mapping[str, Any] | None, traceparent: str,
    ) -> dict[str, Any]:
        said = {"correlationId": correlation_id, "jobKind": job_kind, "metadata": metadata}
        return {**said, "traceParent": traceparent or self.traceparent()}

    def operation(self, name: str, timeout: float | None, max_retries: int | None) -> Plan[Operation]:
        return (yield from self._read(name, 0.0, self.bounds(timeout, max_retries)))

    def _read(self, name: str, wait: float, bounds: Bounds) -> Plan[Operation]:
        path = f"/operations/{urllib.parse.quote(name)}?wait={int(wait * 1000)}ms"
        return (yield from self.call("GET", path, None, bounds, operation_of))

    def wait(self, name: str, timeout: float | None, max_retries: int | None) -> Plan[Operation]:
        bounds = self.bounds(float("inf") if timeout is None else timeout, max_retries)
        operation = Operation(name, name, "", dict.fromkeys(REPORTED))
        while True:
            began = self.clock()
            asked = max(0.0, min(_LONGEST_WAIT, bounds.deadline - began))
            try:
                operation = yield from self._read(name, asked, bounds)
            except UnavailableError as error:
                raise NotSettledError(operation, error, status=error.status) from error
            if operation.settled:
                return operation
            if self.clock() >= bounds.deadline:
                raise NotSettledError(operation)
            # A server that is stopping answers early: the next one is not asked at once.
            yield Pause(max(0.0, min(2.0, began + asked - self.clock())))

    def changes(
        self, name: str, every: float, timeout: float | None, max_retries: int | None,
    ) -> Stream[Operation]:
        bounds = self.bounds(float("inf") if timeout is None else timeout, max_retries)
        operation = Operation(name, name, "", dict.fromkeys(REPORTED))
        version: object = None
        every = min(every, _DAY)  # no sleep takes what is infinite
        while True:
            began = self.clock()
            asked = max(0.0, min(every, _LONGEST_WAIT, bounds.deadline - began))
            try:
                operation = yield from self._read(name, asked, bounds)
            except UnavailableError as error:
                raise NotSettledError(operation, error, status=error.status) from error
            if (now := operation.record.get("version")) != version:
                version = now
                yield Emit(operation)
            if operation.settled:
                return
            if self.clock() >= bounds.deadline:
                raise NotSettledError(operation)
            yield Pause(max(0.0, began + every - self.clock()))

    def operations(
        self, correlation_id: str, filters: Mapping[str, Any], timeout: float | None, max_retries: int | None,
    ) -> Stream[Operation]:
        given = {name: value for name, value in filters.items() if value}
        if correlation_id:
            if others := [name for name in given if name != "limit"]:
                raise ValueError(f"correlation_id names one operation; leave out {', '.join(others)}")
            if found := (yield from self.find(correlation_id, timeout, max_retries)):
                yield Emit(found.operation)
            return
        while True:
            query = urllib.parse.urlencode(given, doseq=True)
            bounds = self.bounds(timeout, max_retries)
            page, after = yield from self.call("GET", f"/operations?{query}", None, bounds, lambda answer: (
                [operation_of(record) for record in answer["operations"]], answer.get("next"),
            ))
            for operation in page:
                yield Emit(operation)
            if not after:
                return
            given["after"] = after

    def cancel(
        self, name: str, why: str, by: str, timeout: float | None, max_retries: int | None,
    ) -> Plan[Operation]:
        path = f"/operations/{urllib.parse.quote(name)}:cancel"
        yield from self.call("POST", path, _decision(by, why), self.bounds(timeout, max_retries), fields)
        return (yield from self.operation(name, timeout, max_retries))

    def forget(self, name: str, timeout: float | None, max_retries: int | None) -> Plan[int]:
        path = f"/operations/{urllib.parse.quote(name)}"
        try:
            return (yield from self.call(
                "DELETE", path, None, self.bounds(timeout, max_retries), lambda answer: int(answer["deleted"]),
            ))
        except NotFoundError:
            return 0  # a repeat whose first answer was lost

    # Jobs

    def submit_job(
        self, job_id: str, requests: Any, said: Mapping[str, Any], config: object, key_field: str,
        timeout: float | None, max_retries: int | None,
    ) -> Plan[Job]:
        path = f"/jobs/{_id(job_id)}"
        raw = isinstance(requests, str) and config is None and not self.storage
        with (open(requests, "rb") if raw else tempfile.TemporaryFile()) as file:
            count = 0
            if raw:
                _check_lines(file, requests)
            else:
                count = yield from _spool(file, requests, config, key_field)
            digest = yield from _digest(file)
            size = file.seek(0, 2)
            if not size:
                raise ValueError("there are no requests")
            upload = _Upload(self, job_id, file, size, digest, timeout, max_retries)
            if self.storage:
                given: Mapping[str, Any] = {"sha256": digest, "bytes": size, "requests": count}
                yield from upload.to_bucket(self.storage)
            else:
                given = yield from upload.to_serve(key_field if raw else "")
        traceparent = said.get("traceParent") or self.traceparent()
        body = {**said, "traceParent": traceparent, "input": given}
        reply = yield from self.exchange("POST", path, _json(body), self.bounds(timeout, max_retries))
        return _read(f"POST {path}", reply, lambda answer: job_of(answer, known=reply.status == 200))

    def job(self, job_id: str, timeout: float | None, max_retries: int | None) -> Plan[Job]:
        path = f"/jobs/{_id(job_id)}"
        return (yield from self.call("GET", path, None, self.bounds(timeout, max_retries), job_of))

    def wait_job(self, job_id: str, timeout: float | None, max_retries: int | None) -> Plan[Job]:
        ends = None if timeout is None else self.clock() + timeout
        yield from self.wait(f"jobs/{_id(job_id)}", timeout, max_retries)
        left = None if ends is None else max(0.0, ends - self.clock())
        return (yield from self.job(job_id, left, max_retries))

    def decide_job(
        self, job_id: str, verb: str, body: Mapping[str, Any], why: str, by: str, timeout: float | None,
        max_retries: int | None,
    ) -> Plan[Job]:
        method, path = ("POST", f"/jobs/{_id(job_id)}:{verb}") if verb else ("PATCH", f"/jobs/{_id(job_id)}")
        whole = {**body, **_decision(by, why)}
        return (yield from self.call(method, path, whole, self.bounds(timeout, max_retries), job_of))

    # Results

    def results(
        self, name: str, kind: Kind, merged: bool, partial: bool, at: str, timeout: float | None,
        max_retries: int | None,
    ) -> Stream[Result]:
        with tempfile.SpooledTemporaryFile(_BUFFERED) as file:  # so that a slow reader holds no connection
            whole = cast("IO[bytes]", file)
            expected = yield from self._download(whole, name, kind, merged, partial, at, timeout, max_retries)
            whole.seek(0)
            lines = 0
            for line in whole:
                if line.strip():
                    lines += 1
                    yield Emit(_result(name, lines, line))
        if expected > lines:
            of = "lines" if name.startswith("jobs/") else "requests"
            raise ResultsError(
                f"{name} has {expected} {of}, and its results have {lines} lines", remedy="read them again, "
                "and submit the requests without a line again",
            )

    def _download(
        self, file: IO[bytes], name: str, kind: Kind, merged: bool, partial: bool, at: str,
        timeout: float | None, max_retries: int | None,
    ) -> Plan[int]:
        """Writes results into a file, and returns how many lines there should be; 0: it is not known."""
        if at:
            yield from self._object(file, at, timeout, max_retries)
            return 0
        is_job = name.startswith("jobs/")
        if not is_job and "batches/" not in name:
            raise ValueError(f"{name!r} is neither a batch nor a job, as batches/… and jobs/… are")
        name = name if is_job else f"batches/{name.rpartition('/')[2]}"
        if is_job and self.storage:
            if merged or partial:
                raise ValueError(
                    "merged and partial need opledger serve; with storage read the results of each job that has ended"
                )
            return (yield from self._job_object(file, name, kind, timeout, max_retries))
        query = urllib.parse.urlencode({k: v for k, v in (
            ("kind", "" if kind == "results" else kind), ("merged", "true" if merged else ""),
        ) if v})
        path = f"/operations/{urllib.parse.quote(name)}/results" + (f"?{query}" if query else "")
        try:
            reply = yield from self.exchange("GET", path, None, self.bounds(timeout, max_retries), into=file)
        except RefusedError as error:
            if error.status == 501 and not is_job and self.gemini:
                yield from self._of_gemini(file, name, timeout, max_retries)
                return 0
            raise
        if is_job and reply.headers.get("opledger-complete") == "false" and not partial:
            raise NotSettledError((yield from self.operation(name, timeout, max_retries)))
        if is_job and not merged and not partial:
            return _lines_of((yield from self.job(name, timeout, max_retries)), kind)
        return int(reply.headers.get("opledger-requests", "0"))

    def _job_object(
        self, file: IO[bytes], name: str, kind: Kind, timeout: float | None, max_retries: int | None,
    ) -> Plan[int]:
        """Writes the results of a job from job storage, and returns how many lines there should be."""
        job = yield from self.job(name.removeprefix("jobs/"), timeout, max_retries)
        if not job.settled:
            raise NotSettledError((yield from self.operation(name, timeout, max_retries)))
        expected = _lines_of(job, kind)
        stored = fields(fields(job.progress.get("output")).get(kind)).get("name")
        if stored and (storage := job.progress.get("storage")):
            yield from self._object(file, f"{storage}/{stored}", timeout, max_retries)
        elif expected:
            raise ResultsError(
                f"{name} has {expected} lines of {kind}, and names no object that has them",
                remedy="read jobs.get: its progress says where they are",
            )
        return expected

    def _object(self, file: IO[bytes], at: str, timeout: float | None, max_retries: int | None) -> Plan[None]:
        bucket, name = _bucket(at)
        url = f"{self.google}/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}?alt=media"
        yield from self.exchange("GET", url, None, self.bounds(timeout, max_retries), into=file, auth="google")

    def _of_gemini(
        self, file: IO[bytes], name: str, timeout: float | None, max_retries: int | None,
    ) -> Plan[None]:
        """Writes the results of a batch as Gemini has them, with the caller's own key."""
        batch = f"batches/{name.rpartition('/')[2]}"
        reply = yield from self.exchange(
            "GET", f"{self.gemini}/v1beta/{batch}", None, self.bounds(timeout, max_retries), auth="gemini",
        )
        answer = _read(f"GET {batch}", reply, fields)
        output = fields(fields(answer.get("metadata")).get("output")) or fields(answer.get("response"))
        if stored := output.get("responsesFile"):
            url = f"{self.gemini}/v1beta/files/{str(stored).rpartition('/')[2]}:download?alt=media"
            yield from self.exchange("GET", url, None, self.bounds(timeout, max_retries), into=file, auth="gemini")
            return
        inline: list[Any] | None = fields(output.get("inlinedResponses")).get("inlinedResponses")
        if inline is None:
            remedy = "wait until it has ended; a failed batch has none"
            raise ResultsError(f"Gemini has no results of {batch}", remedy=remedy)
        for item in map(fields, inline):
            key = item.get("key") or fields(item.get("metadata")).get("key", "")
            file.write(_json({"key": key, **{k: v for k, v in item.items() if k in ("response", "error")}}) + b"\n")

    # Requests

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None, bounds: Bounds,
        read: Callable[[dict[str, Any]], T],
    ) -> Plan[T]:
        """Returns what read makes of the object that a request is answered with."""
        reply = yield from self.exchange(method, path, None if body is None else _json(body), bounds)
        return _read(f"{method} {path}", reply, read)

    def exchange(
        self, method: str, url: str, body: bytes | None, bounds: Bounds, *, headers: Mapping[str, str] | None = None,
        accept: Sequence[int] = (), into: IO[bytes] | None = None,
        auth: Literal["opledger", "gemini", "google", "none"] = "opledger", attempt: float = _ATTEMPT,
    ) -> Plan[Reply]:
        """Repeats a request until it is answered: at opledger every request may be repeated.

        Returns the answer, with a status of 2xx or of accept. Else it raises the error of its status.
        """
        all_headers = dict(headers or {})
        what = f"{method} {url.partition('?')[0]}"  # the query of a session at Cloud Storage is a secret
        empty = method == "HEAD" or auth in ("google", "none")
        if body is not None:
            all_headers.setdefault("Content-Type", "application/json")
        pause, repeats, waits = 0.5, 0, False
        deadline, most = bounds.deadline, 0  # most: bytes that came of a download
        patience = deadline - self.clock()
        while True:
            limit = min(attempt, max(0.0, deadline - self.clock()) + _GRACE)
            try:
                if into is not None:
                    into.seek(0)
                    into.truncate()
                reply = yield Send(method, url, body, all_headers, limit, auth, into)
                assert isinstance(reply, Reply)
                whole = into is not None or _is_object(reply, empty)
                if 200 <= reply.status < 300 and whole or reply.status in accept:
                    return reply
                error = _refusal(what, reply)
            except Unreached as unreached:
                error = UnavailableError(f"{what} was not answered: {unreached}")
                if into is not None and into.tell() > most:  # a download may break off after hours
                    most, deadline = into.tell(), self.clock() + patience
            wanted = min(max(error.retry_after, self.uniform(pause / 2, pause)), _LONGEST_PAUSE)
            over = self.clock() + wanted > deadline or repeats == bounds.retries
            if not isinstance(error, UnavailableError) or over:
                raise error
            if not waits:
                log.warning("%s; asking again until %s", error.message, _until(deadline, self.clock()))
                waits = True
            yield Pause(wanted)
            repeats += 1
            pause = min(2 * pause, 8.0)


@dataclass
class _Upload:
    """The input of a job on its way."""

    protocol: Protocol
    job_id: str
    file: IO[bytes]
    size: int
    digest: str
    timeout: float | None
    max_retries: int | None

    def bounds(self) -> Bounds:
        return self.protocol.bounds(self.timeout, self.max_retries)

    def to_serve(self, key_field: str) -> Plan[Mapping[str, Any]]:
        """Sends what has not arrived, in pieces, and returns the input that POST /jobs/{id} takes."""
        query = f"?{urllib.parse.urlencode({'keyField': key_field})}" if key_field else ""
        at = f"/jobs/{_id(self.job_id)}/input/{self.digest}{query}"
        clock = self.protocol.clock
        most, until, turns = -1, 0.0, 0  # turns: since the last progress
        stores = waits = False
        while True:
            reply = yield from self.protocol.exchange("HEAD", at, None, self.bounds(), accept=(200,))
            offset = max(0, _offset(reply.headers.get("upload-offset", "")))
            whole = reply.headers.get("upload-complete") == "?1" or offset >= self.size
            if offset > most:
                most, until, turns = offset, self.bounds().deadline, 0
            if whole and not stores:
                stores, until, turns = True, max(until, clock() + _STORED_WITHIN), 0  # a large input takes minutes
            if whole:
                part, of = b"", f"bytes */{self.size}"
            else:
                self.file.seek(offset)
                part = self.file.read(_PIECE)
                of = f"bytes {offset}-{offset + len(part) - 1}/{self.size}"
            headers = {"Content-Range": of, "Content-Type": "application/octet-stream"}
            error: OpledgerError
            try:  # once: a server that has the bytes answers before it has read them, and the connection breaks
                reply = yield from self.protocol.exchange(
                    "PUT", at, part, Bounds(until, 0), headers=headers, attempt=600.0,
                )
                if answer := fields(_read(f"PUT {at}", reply, fields).get("input")):
                    return answer
                if not whole and not turns:
                    turns = 1  # until the next HEAD says that more has arrived
                    continue
                error = UnavailableError(f"PUT {at} is answered, and the upload does not go on", status=503)
            except (UnavailableError, ConflictError) as failed:
                error = failed
            wait = min(max(error.retry_after, 0.5), _LONGEST_PAUSE)
            retries = self.bounds().retries
            if clock() + wait > until or retries is not None and turns >= retries:
                raise error
            if not waits:
                log.warning("%s; asking again until %s", error.message, time_in(until - clock()))
                waits = True
            turns += 1
            yield Pause(wait)

    def to_bucket(self, storage: str) -> Plan[None]:
        """Creates the object that the steps of a deployed job read. One that is there has the same bytes."""
        bucket, name = _bucket(f"{storage}/{_id(self.job_id)}/{self.digest}/input.jsonl")
        query = urllib.parse.urlencode({"uploadType": "resumable", "ifGenerationMatch": "0"})
        google = self.protocol.google
        begun = yield from self.protocol.exchange(
            "POST", f"{google}/upload/storage/v1/b/{bucket}/o?{query}", _json({"name": name}), self.bounds(),
            auth="google", accept=(412,), headers={"X-Upload-Content-Length": str(self.size)},
        )
        if begun.status == 412:
            return
        if not (session := begun.headers.get("location", "")):
            raise UnavailableError(f"Cloud Storage began no upload to {bucket}: its answer has no Location", status=503)
        offset = 0
        while offset < self.size:
            self.file.seek(offset)
            part = self.file.read(_PIECE)
            end = offset + len(part)
            size = self.size if end >= self.size else "*"  # of which the last piece alone says that it ends there
            headers = {"Content-Range": f"bytes {offset}-{end - 1}/{size}"}
            reply = yield from self.protocol.exchange(
                "PUT", session, part, self.bounds(), headers=headers, auth="none",  # the URL is the permission
                accept=(200, 201, 308, 412), attempt=600.0,
            )
            if reply.status != 308:
                return
            arrived = _offset(reply.headers.get("range", "").rpartition("-")[2]) + 1
            if arrived <= offset:
                raise UnavailableError(f"the upload to {bucket} does not go on after {offset} bytes", status=503)
            offset = arrived


def _spool(file: IO[bytes], requests: Any, config: object, key_field: str) -> Plan[int]:
    """Writes requests as lines, and returns how many there are."""
    if isinstance(requests, Mapping):
        raise ValueError("requests are a dict: give its items(), pairs of a key and contents, or a list of lines")
    opened = isinstance(requests, str)
    source: Any = open(requests, "rb") if opened else requests
    try:
        elements = source.__aiter__() if hasattr(source, "__aiter__") else iter(cast("Iterable[Request]", source))
        count = 0
        while taken := (yield Take(elements, _TAKEN)):
            if opened:
                taken = [_renamed(requests, line, key_field) for line in taken if line.strip()]
            file.write(lines_of(cast("list[Request]", taken), config))
            count += len(taken)
        return count
    finally:
        if opened:
            source.close()


def _check_lines(file: IO[bytes], path: str) -> None:
    """Raises ValueError where a file does not begin as JSON Lines do, as a CSV, before it is sent."""
    first = file.read(1000).removeprefix(codecs.BOM_UTF8).lstrip()
    if first and not first.startswith(b"{"):
        raise _no_line(path, first.splitlines()[0])


def _no_line(path: str, line: bytes) -> ValueError:
    text = line.removeprefix(codecs.BOM_UTF8).rstrip()[:100].decode(errors="replace")
    return ValueError(
        f'{path}: the line {text!r} is not {{"key":…,"request":{{…}}}}. Of a CSV give its '
        "rows, such as ((row['id'], row['text']) for row in csv.DictReader(file))"
    )


def _renamed(path: str, line: bytes, key_field: str) -> Mapping[str, Any]:
    try:
        given = fields(json.loads(line.removeprefix(codecs.BOM_UTF8)))
    except ValueError:
        given = {}
    if not given:
        raise _no_line(path, line)
    key = given.get(key_field or "key")
    return {"key": str(key) if isinstance(key, int) else key, "request": given.get("request")}


def _digest(file: IO[bytes]) -> Plan[str]:
    """Returns the SHA-256 of a file. Others may go on in between, as it may have gigabytes."""
    file.seek(0)
    digest = hashlib.sha256()
    while part := file.read(_PIECE):
        digest.update(part)
        yield Pause(0.0)
    return digest.hexdigest()


def _created(create: Callable[[Mark], Any], mark: Mark, listed: bool) -> Plan[str]:
    try:
        name = yield Ask(create, mark)
    except Exception as error:
        why, again, status = said(error), listed, getattr(error, "status", 0)
        if isinstance(error, NotSentError):
            raise SubmitError(
                "refused", mark.correlation_id, f"was not reached ({why})", retryable=True,
            ) from error
        if isinstance(error, AnsweredError) and _refused(error.status):
            raise SubmitError(
                "refused", mark.correlation_id, f"refused it ({why})", status=error.status,
                retryable=error.status == _REFUSED_LATER,
            ) from error
        status = status if isinstance(error, OpledgerError) else 0
        raise SubmitError("unanswered", mark.correlation_id, why, retryable=again, status=status) from error
    if not isinstance(name, str):
        name = getattr(name, "name", None)  # google-genai's object, as create got it
    if not isinstance(name, str) or not name:
        why = "the answer has no name"
        raise SubmitError("unanswered", mark.correlation_id, why, retryable=listed)
    return name


def _refused(status: int) -> bool:
    """Whether nothing runs for certain: after 408, 499 and 5xx Gemini may have begun."""
    return 400 <= status < 500 and status not in (408, 499)


def _decision(by: str, why: str) -> dict[str, str]:
    if not by:
        try:
            by = getpass.getuser()
        except (KeyError, OSError, ImportError):
            by = "opledger"
    return {"by": by, "why": why}


def _id(job_id: str) -> str:
    bare = job_id.removeprefix("jobs/") if isinstance(cast(object, job_id), str) else ""
    if not _JOB_ID.fullmatch(bare):
        raise ValueError(f"the job id {job_id!r} is not 1 to 64 letters, digits, - and _, the first no - or _")
    return bare


def _bucket(at: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(at)
    if parts.scheme != "gs" or not parts.netloc or not parts.path.strip("/"):
        raise ValueError(f"{at!r} is no object; write gs://BUCKET/NAME")
    return parts.netloc, parts.path.lstrip("/")


def _json(body: Mapping[str, Any]) -> bytes:
    given = {k: v for k, v in body.items() if v is not None and v != "" and v != {}}
    try:
        return json.dumps(given, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{', '.join(given)} cannot be sent as JSON: {error}") from error


def _is_object(reply: Reply, empty: bool) -> bool:
    """Whether a body is an object of JSON: a proxy may answer 200 with a page of its own, or with nothing."""
    try:
        return isinstance(json.loads(reply.body), dict) if reply.body.strip() else empty
    except ValueError:
        return False


def _read(what: str, reply: Reply, read: Callable[[dict[str, Any]], T]) -> T:
    """Returns what read makes of an answer, which a proxy may have given."""
    try:
        return read(fields(json.loads(reply.body or b"{}")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnavailableError(f"{what}: the answer is not from opledger: {error!r}", status=503) from error


def _verdict(answer: Mapping[str, Any]) -> tuple[str, str, float]:
    """Returns what is said of an intent, the operation where it is bound, and the seconds to wait."""
    verdict = str(answer["verdict"])
    bound = str(answer["intent"]["operation"]) if verdict == "bound" else ""
    return verdict, bound, float(answer.get("waitSeconds", 0))


def _offset(text: str) -> int:
    """Returns the number that an answer says; -1 where it says none."""
    try:
        return int(text)
    except ValueError:
        return -1


def _result(name: str, number: int, line: bytes) -> Result:
    try:
        return Result.of(json.loads(line))
    except (ValueError, AttributeError) as error:
        raise ResultsError(
            f"line {number} of the results of {name} is no object of JSON: {line[:100]!r}", remedy="read them again",
        ) from error


def _lines_of(job: Job, kind: Kind) -> int:
    """Returns how many lines of a kind the results of a job have that has ended."""
    if kind == "unmatched":
        return job.counts.get(kind, 0)
    unwanted = {"unmatched"} if kind == "results" else {"unmatched", "done"}
    return sum(n for outcome, n in job.counts.items() if outcome not in unwanted)


def _until(deadline: float, now: float) -> str:
    return "it answers" if deadline == float("inf") else time_in(deadline - now)


def _refusal(what: str, reply: Reply) -> OpledgerError:
    """Reads an answer in opledger's form, {"error":{"message","problems","reason"}}, or a proxy's."""
    text = reply.body.decode(errors="replace")
    reason, problems = "", cast("Sequence[str]", ())
    try:
        answer = json.loads(text)["error"]
        message, reason = str(answer["message"]), str(answer.get("reason") or "")
        problems = [str(problem) for problem in answer.get("problems") or ()]
    except (ValueError, TypeError, KeyError, AttributeError):
        message = text[:200].strip()
    seconds = reply.headers.get("retry-after", "")
    status = 503 if 200 <= reply.status < 300 else reply.status  # not from opledger
    return error_of(status)(
        f"{what}: {reply.status} {message}".rstrip(), status=status, problems=problems, reason=reason,
        retry_after=float(seconds) if seconds.isdecimal() else 0.0,
    )


def _current_trace() -> str:
    """Returns the trace of the caller, where the program uses OpenTelemetry; else an empty text."""
    import sys

    propagate = sys.modules.get("opentelemetry.propagate")
    if propagate is None:
        return ""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent", "")

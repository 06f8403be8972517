"""Tests of the client against a server on this machine that answers as it is told."""

from __future__ import annotations

import asyncio
import base64
import datetime
import hmac
import io
import json
import logging
import os
import pathlib
import pickle
import socket
import sys
import tempfile
import threading
import traceback
import types
import unittest
import unittest.mock
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opledger import (
    AccessError, AnsweredError, CompletionError, Mark, NotSentError, NotSettledError, Operation,
    Opledger, OpledgerError, ResultsError, SignatureError, SubmitError, Submitted, UnavailableError, Verifier,
    check_requests, checked_url,
    google_token, opener, said,
)
from opledger._async import in_thread
from opledger._protocol import Protocol, Send

UNREPORTED = dict.fromkeys(["outputFile", "inline", "errorCode", "errorMessage", "counts"])
RECORD: dict[str, Any] = {
    "key": "batches/abc", "name": "batches/abc", "state": "RUNNING", "version": 3,
    "result": UNREPORTED,
}
SETTLED = {
    **RECORD, "state": "SUCCEEDED", "result": {**UNREPORTED, "outputFile": "files/out", "inline": False},
}
JOB: dict[str, Any] = {"key": "jobs/abc", "state": "SUCCEEDED", "counts": {"done": 1}, "open": 0}
OPEN = {"intent": {"correlationId": "night-1", "state": "OPEN"}, "verdict": "submit"}
WAIT = {"intent": {"state": "OPEN"}, "verdict": "wait", "waitSeconds": 300}
BOUND = {"intent": {"state": "BOUND", "operation": "batches/abc"}, "verdict": "bound"}
AWAY = (503, {"error": {"code": 503, "message": "the store is away"}})
WITHDRAWN = (200, {"withdrawn": True})

logging.getLogger("opledger").setLevel(logging.CRITICAL)  # but where a test looks at it

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]] | None  # None: hang up


class Server(ThreadingHTTPServer):
    """Gives the answers of a test, one to each request, and keeps the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[Message] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        read = json.loads(body) if "json" in self.headers.get("Content-Type", "") else None
        self.server.requests.append((self.command, self.path, read))
        self.server.headers.append(self.headers)
        answer = self.server.answers.pop(0)
        if answer is None:
            return
        status, said, headers = answer if len(answer) == 3 else (*answer, {})
        content = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the tests quiet."""


class ClientTest(unittest.TestCase):
    """A client with a clock of its own, which only its pauses move."""

    def setUp(self) -> None:
        self.server = Server()
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.now = 0.0
        self.pauses: list[float] = []
        self.client = Opledger(
            f"http://127.0.0.1:{self.server.server_port}/",
            sleep=self.pause,
            clock=lambda: self.now,
            uniform=lambda least, most: most,
        )

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def answers(self, *answers: Answer) -> None:
        self.server.answers = list(answers)

    def submit_once(self, create: Callable[[Mark], str], **options: Any) -> Submitted:
        options.setdefault("collection", "batches")
        return self.client.submit_once("night-1", create, **options)

    def asked(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.server.requests]


def create(mark: Mark) -> str:
    return "batches/abc"


def fails(error: Exception) -> Callable[[Mark], str]:
    def raises(mark: Mark) -> str:
        raise error

    return raises


def proxies(director: urllib.request.OpenerDirector) -> bool:
    return any(isinstance(h, urllib.request.ProxyHandler) for h in getattr(director, "handlers"))


class Coded(Exception):
    """An error as Gemini's SDK raises it."""

    def __init__(self, **fields: object) -> None:
        super().__init__(f"Gemini's answer {fields}")
        self.__dict__.update(fields)


class SubmitOnceTest(ClientTest):
    def test_intent_then_creation_then_registration(self) -> None:
        self.answers((201, OPEN), (201, RECORD))
        order: list[str] = []

        def creates(mark: Mark) -> str:
            order.extend(self.asked())
            return f"batches/{mark.user_metadata()['opledger_correlation_id']}"

        submitted = self.client.submit_once(
            "night-1", creates, collection="batches", job_kind="review", metadata={"rows": 3}
        )
        self.assertEqual(order, ["POST /register"])
        job: dict[str, Any] = {
            "correlationId": "night-1", "jobKind": "review", "metadata": {"rows": 3},
        }
        intent = self.server.requests[0][2]
        self.assertEqual(len(intent.pop("attempt")), 32)
        self.assertEqual(self.server.requests, [
            ("POST", "/register", {**job, "intent": True, "collection": "batches"}),
            ("POST", "/register", {**job, "name": "batches/night-1"}),
        ])
        self.assertFalse(submitted.known)
        self.assertEqual(submitted.operation.key, "batches/abc")
        self.assertEqual(submitted.operation.record["version"], 3)

    def test_what_is_bound_is_not_created(self) -> None:
        self.answers((200, BOUND), (200, SETTLED))
        submitted = self.submit_once(fails(AssertionError("created")))
        self.assertTrue(submitted.known)
        self.assertEqual(submitted.operation.state, "SUCCEEDED")
        self.assertEqual(self.asked()[1:], ["GET /operations/batches/abc?wait=0ms"])

    def test_finds_what_is_bound_before_an_upload(self) -> None:
        self.answers((200, BOUND["intent"]), (200, SETTLED))
        found = self.client.find("nightly/2026#ü?")
        assert found
        self.assertEqual((found.known, found.operation.record), (True, SETTLED))
        self.assertEqual(self.asked(), [
            "GET /intents/nightly%2F2026%23%C3%BC%3F", "GET /operations/batches/abc?wait=0ms",
        ])

    def test_finds_nothing_where_nothing_is_bound(self) -> None:
        seen = {"state": "SEEN", "operation": "batches/abc"}
        for answer in ((404, {"error": {"code": 404}}), (200, OPEN["intent"]), (200, seen)):
            with self.subTest(answer=answer):
                self.answers(answer)
                self.assertIsNone(self.client.find("night-1"))

    def test_does_not_find_where_opledger_refuses(self) -> None:
        self.answers((401, ""))
        with self.assertRaises(OpledgerError):
            self.client.find("night-1")

    def test_waits_until_an_earlier_run_is_decided(self) -> None:
        for verdict, known in (((200, OPEN), False), ((200, BOUND), True)):
            with self.subTest(known=known):
                self.pauses.clear()
                self.answers((200, WAIT), (200, {**WAIT, "waitSeconds": 7}), verdict, (200, RECORD))
                submitted = self.submit_once(fails(AssertionError("created")) if known else create)
                self.assertEqual((submitted.known, self.pauses), (known, [60, 7]))

    def test_waits_no_longer_than_its_patience(self) -> None:
        self.answers(*[(200, WAIT)] * 2)
        with self.assertRaisesRegex(SubmitError, "again after 2.*Z, with the same id") as raised:
            self.submit_once(fails(AssertionError("created")), patience=100)
        self.assertEqual((raised.exception.outcome, self.pauses), ("earlier-run", [60]))
        self.assertTrue(raised.exception.retryable)
        self.assertEqual(raised.exception.retry_after, 300)

    def test_says_once_until_when_it_waits(self) -> None:
        self.answers((200, WAIT), (200, WAIT), (200, BOUND), (200, RECORD))
        with self.assertLogs("opledger") as logged:
            self.submit_once(fails(AssertionError("created")))
        self.assertEqual(len(logged.output), 1)
        self.assertRegex(logged.output[0], "night-1: an earlier run .* asking again until 2.*Z")

    def test_what_no_list_decides_is_not_waited_for(self) -> None:
        self.answers((200, {"intent": {"state": "OPEN"}, "verdict": "wait"}))
        with self.assertRaises(SubmitError) as raised:
            self.submit_once(fails(AssertionError("created")), collection="operations")
        self.assertEqual((raised.exception.outcome, self.pauses), ("earlier-run", []))
        self.assertFalse(raised.exception.retryable)

    def test_an_intent_whose_answer_was_lost_is_the_same_attempt(self) -> None:
        self.answers(None, (200, OPEN), (201, RECORD))
        self.assertFalse(self.submit_once(create).known)
        first, second = (body["attempt"] for _, _, body in self.server.requests[:2])
        self.assertEqual(first, second)

    def test_an_answer_that_comes_too_late_allows_nothing(self) -> None:
        slow = iter([130, 0, 0])

        def token() -> str:
            self.now += next(slow)  # the request takes so long
            return "token"

        self.client._transport._token = token
        self.answers((200, OPEN), (200, BOUND), (200, RECORD))
        self.assertTrue(self.submit_once(fails(AssertionError("created"))).known)
        self.assertEqual(self.pauses, [60])

    def test_no_intent_no_creation(self) -> None:
        self.answers((400, {"error": {"code": 400, "message": "no", "problems": ["a", "b"]}}))
        with self.assertRaises(OpledgerError) as raised:
            self.submit_once(fails(AssertionError("created")))
        self.assertEqual((raised.exception.status, raised.exception.problems), (400, ("a", "b")))

    def test_creation_that_fails_is_never_repeated(self) -> None:
        for error, outcome, retryable in (
            (AnsweredError(400, "no such model"), "refused", False),
            (AnsweredError(404, "no such model"), "refused", False),
            (AnsweredError(429, "slower"), "refused", True),
            (AnsweredError(408, "slow"), "unanswered", True),
            (AnsweredError(499, "gone"), "unanswered", True),
            (AnsweredError(503, "away"), "unanswered", True),
            (AnsweredError(302, "elsewhere"), "unanswered", True),
            (TimeoutError("timed out"), "unanswered", True),
        ):
            with self.subTest(str(error)):
                self.answers((201, OPEN), WITHDRAWN)
                self.server.requests.clear()
                with self.assertRaises(SubmitError) as raised:
                    self.submit_once(fails(error))
                self.assertEqual(raised.exception.outcome, outcome)
                self.assertEqual(raised.exception.retryable, retryable)
                self.assertIs(raised.exception.__cause__, error)
                self.assertIn("night-1", str(raised.exception))
                asked = [body for _, _, body in self.server.requests]
                self.assertEqual(len(asked), 2 if outcome == "refused" else 1)
                self.assertEqual(asked[1:], [{**asked[0], "withdraw": True}][:len(asked) - 1])
                self.assertEqual(self.pauses, [])

    def test_only_create_says_that_gemini_refused(self) -> None:
        http = urllib.error.HTTPError("http://shop", 404, "no such order", Message(), None)
        wrapped = RuntimeError("of a look-up")
        wrapped.__cause__ = AnsweredError(404, "not found yet")
        for error in (http, Coded(code=404), Coded(status_code=400), wrapped):
            with self.subTest(str(error)):
                self.answers((201, OPEN))
                self.server.requests.clear()
                with self.assertRaises(SubmitError) as raised:
                    self.submit_once(fails(error))
                self.assertEqual(raised.exception.outcome, "unanswered")
                self.assertEqual(len(self.server.requests), 1)
        http.close()

    def test_only_create_says_that_nothing_was_sent(self) -> None:
        refused, unsent = ConnectionRefusedError("of a database"), NotSentError("no route")
        database, repeated = RuntimeError("of an SDK"), RuntimeError("of a second attempt")
        database.__cause__, repeated.__cause__ = refused, unsent
        for error, outcome in (
            (unsent, "refused"),
            (refused, "unanswered"),
            (urllib.error.URLError(refused), "unanswered"),
            (socket.gaierror("unknown host"), "unanswered"),
            (database, "unanswered"),
            (repeated, "unanswered"),
        ):
            with self.subTest(str(error)):
                self.answers((201, OPEN), WITHDRAWN)
                self.server.requests.clear()
                with self.assertRaises(SubmitError) as raised:
                    self.submit_once(fails(error))
                self.assertEqual(raised.exception.outcome, outcome)
                self.assertTrue(raised.exception.retryable)
                self.assertIs(raised.exception.__cause__, error)
                self.assertEqual(len(self.server.requests), 2 if outcome == "refused" else 1)
                if outcome == "refused":
                    self.assertIn("not reached (no route)", str(raised.exception))

    def test_gemini_s_reason_is_said(self) -> None:
        for body, reason in (
            ('{"error":{"code":400,"message":"the model is unknown"}}', "the model is unknown"),
            ("<html>no", "<html>no"), ("", "HTTP Error 400"), ('{"error":[]}', "error"),
        ):
            with self.subTest(body):
                self.answers((201, OPEN), WITHDRAWN)
                http = urllib.error.HTTPError(
                    "http://gemini", 400, "Bad Request", Message(), io.BytesIO(body.encode())
                )
                with self.assertRaisesRegex(SubmitError, reason):
                    self.submit_once(fails(AnsweredError(400, said(http))))
                http.close()

    def test_a_refusal_is_said_where_its_intent_stays(self) -> None:
        self.answers((201, OPEN), (403, "no"))
        with self.assertRaises(SubmitError) as raised:
            self.submit_once(fails(AnsweredError(400, "no such model")))
        self.assertEqual(raised.exception.outcome, "refused")

    def test_an_answer_without_a_name(self) -> None:
        self.answers((201, OPEN))
        with self.assertRaises(SubmitError) as raised:
            self.submit_once(lambda mark: "")
        self.assertEqual(raised.exception.outcome, "unanswered")

    def test_registration_is_repeated_then_left_to_the_ledger(self) -> None:
        self.answers((201, OPEN), AWAY, None, (201, RECORD))
        self.assertEqual(self.submit_once(create).operation.name, "batches/abc")
        self.answers((201, OPEN), *[AWAY] * 15)
        with self.assertRaises(SubmitError) as raised:
            self.submit_once(create)
        self.assertEqual(raised.exception.outcome, "unregistered")
        self.assertEqual(raised.exception.name, "batches/abc")

    def test_ids_that_a_display_name_cannot_carry(self) -> None:
        for value in ("", "two words", "tab\t", "x" * 101, "é" * 51, "\ufffd", "\u2028"):
            with self.subTest(value), self.assertRaises(ValueError):
                self.client.submit_once(
                    value, fails(AssertionError("created")), collection="batches"
                )
        self.assertEqual(self.server.requests, [])


class CallTest(ClientTest):
    def test_retries_back_off_and_heed_retry_after(self) -> None:
        self.answers(
            (503, "", {"Retry-After": "5"}), AWAY, (502, "<html>"),
            (429, "", {"Retry-After": "3600"}), AWAY, AWAY, (200, RECORD),
        )
        self.client.register("batches/abc")
        self.assertEqual(self.pauses, [5, 1, 2, 60, 8, 8])

    def test_an_outage_of_half_a_minute_is_survived(self) -> None:
        self.client.protocol.uniform = lambda least, most: least  # the shortest pauses
        outage = [None] * 11  # 0.25 s, 0.5 s, 1 s, 2 s, 4 s …
        calls: dict[str, Callable[[], object]] = {
            "submit_once": lambda: self.submit_once(create),
            "register": lambda: self.client.register("batches/abc"),
            "wait": lambda: self.client.wait("batches/abc", timeout=3600),
        }
        for name, call in calls.items():
            with self.subTest(name):
                began = self.now
                answers = [(201, OPEN)] if name == "submit_once" else []
                self.answers(*outage, *answers, (200, SETTLED))
                call()
                self.assertGreater(self.now - began, 30)

    def test_an_outage_is_said_once(self) -> None:
        self.answers(None, AWAY, (200, RECORD))
        with self.assertLogs("opledger") as logged:
            self.client.register("batches/abc")
        self.assertEqual(len(logged.output), 1)
        self.assertRegex(logged.output[0], "was not answered: .*; asking again until 2.*Z")

    def test_url_without_a_scheme(self) -> None:
        for url in ("127.0.0.1:8080", "localhost:8080", "ftp://host", "http://", "http://a:x",
                    "http://[::1", "/"):
            with self.subTest(url), self.assertRaisesRegex(ValueError, "begin it with http"):
                Opledger(url)
        with self.assertRaisesRegex(ValueError, "^GOOGLE_GEMINI_BASE_URL is 'gemini'"):
            checked_url("GOOGLE_GEMINI_BASE_URL", "gemini")
        self.assertEqual(checked_url("x", "https://gemini:80/"), "https://gemini:80")

    def test_no_proxy_for_this_machine(self) -> None:
        proxy = {"http_proxy": "http://127.0.0.1:1", "no_proxy": "", "NO_PROXY": ""}
        with unittest.mock.patch.dict(os.environ, proxy):
            for host in ("127.0.0.1", "localhost"):
                self.answers((200, RECORD))
                Opledger(f"http://{host}:{self.server.server_port}").register("batches/abc")
            self.assertTrue(proxies(opener("http://opledger.example")))
            self.assertFalse(proxies(opener("http://[::1]:8080")))

    def test_refusals_are_not_repeated(self) -> None:
        for code, remedy in ((400, "correct"), (401, "token"), (403, "invoker"), (404, "register"),
                             (405, "serve has this route"), (302, "URL")):
            with self.subTest(code):
                self.answers((code, "<html>no</html>", {"Location": "/elsewhere"}))
                self.server.requests.clear()
                with self.assertRaisesRegex(OpledgerError, remedy) as raised:
                    self.client.register("batches/abc")
                self.assertEqual(raised.exception.status, code)
                self.assertEqual(len(self.server.requests), 1)

    def test_no_answer_has_no_code(self) -> None:
        self.answers(*[None] * 15)
        with self.assertRaisesRegex(OpledgerError, "was not answered.*try again later") as raised:
            self.client.register("batches/abc")
        self.assertEqual(raised.exception.status, 0)
        self.assertEqual(len(self.server.requests), 15)
        self.assertEqual(sum(self.pauses), 87.5)

    def test_token_is_asked_for_each_request(self) -> None:
        tokens = iter(["one", "two"])
        client = Opledger(f"http://127.0.0.1:{self.server.server_port}", lambda: next(tokens))
        self.answers((200, RECORD), (200, RECORD))
        client.register("batches/abc")
        client.register("batches/abc")
        sent = [headers["Authorization"] for headers in self.server.headers]
        self.assertEqual(sent, ["Bearer one", "Bearer two"])

    def test_an_attempt_ends_with_its_call(self) -> None:
        """Where a server accepts a request and says nothing, the call ends all the same."""
        protocol = Protocol(timeout=10, max_retries=None, clock=lambda: 7.0)
        for timeout, wants in ((None, 15), (900, 60), (0, 5)):
            command = next(protocol.operation("batches/abc", timeout, None))
            assert isinstance(command, Send)
            self.assertEqual(command.timeout, wants)

    def test_the_trace_of_a_submission(self) -> None:
        """The trace that is given, or the client's, or that of OpenTelemetry, where the program uses it."""
        given, own, current = (f"00-{digit * 32}-{digit * 16}-01" for digit in "123")
        url = f"http://127.0.0.1:{self.server.server_port}"
        propagate = types.ModuleType("opentelemetry.propagate")
        setattr(propagate, "inject", lambda carrier: carrier.update(traceparent=current))
        self.answers(*[(200, RECORD)] * 4)
        Opledger(url).register("batches/abc")
        Opledger(url, traceparent=lambda: own).register("batches/abc")
        Opledger(url, traceparent=lambda: own).register("batches/abc", traceparent=given)
        with unittest.mock.patch.dict(sys.modules, {"opentelemetry.propagate": propagate}):
            Opledger(url).register("batches/abc")
        sent = [body.get("traceParent") for _, _, body in self.server.requests]
        self.assertEqual(sent, [None, own, given, current])

    def test_a_token_of_google(self) -> None:
        """An identity token is fetched where there is none that is valid."""

        class Credentials:
            valid, token, refreshed = False, "identity", 0

            def refresh(self, request: object) -> None:
                self.valid, self.refreshed = True, self.refreshed + 1

        credentials, audiences = Credentials(), list[str]()

        def fetch(audience: str) -> Credentials:
            audiences.append(audience)
            return credentials

        modules = {name: types.ModuleType(name) for name in (
            "google", "google.auth", "google.auth.transport", "google.auth.transport.requests", "google.oauth2",
            "google.oauth2.id_token",
        )}
        setattr(modules["google.auth.transport.requests"], "Request", object)
        setattr(modules["google.oauth2.id_token"], "fetch_id_token_credentials", fetch)
        with unittest.mock.patch.dict(sys.modules, modules):
            token = google_token("https://register")
            client = Opledger(f"http://127.0.0.1:{self.server.server_port}", token)
            self.answers(*[(200, RECORD)] * 2)
            client.register("batches/abc")
            client.register("batches/abc")
        self.assertEqual(self.server.headers[-1]["Authorization"], "Bearer identity")
        self.assertEqual((audiences, credentials.refreshed), (["https://register"], 1))

    def test_token_of_a_path(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "opledger.db.token")
            client = Opledger(f"http://127.0.0.1:{self.server.server_port}", path)
            self.answers(*[(200, RECORD)] * 2)
            for token in ("one", "two"):
                path.write_text(token + "\n")
                client.register("batches/abc")
                self.assertEqual(self.server.headers[-1]["Authorization"], f"Bearer {token}")

    def test_token_of_the_environment(self) -> None:
        url = f"http://127.0.0.1:{self.server.server_port}"
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("of-a-file\n")
            file.flush()
            for variables, token in (
                ({"OPLEDGER_TOKEN_FILE": file.name}, "Bearer of-a-file"),
                ({"OPLEDGER_TOKEN_FILE": file.name, "OPLEDGER_TOKEN": "given"}, "Bearer given"),
                ({}, None),
            ):
                with self.subTest(token), unittest.mock.patch.dict(os.environ, variables):
                    self.answers((200, RECORD))
                    Opledger(url).register("batches/abc")
                    self.assertEqual(self.server.headers[-1]["Authorization"], token)
        missing = unittest.mock.patch.dict(os.environ, {"OPLEDGER_TOKEN_FILE": file.name})
        with missing, self.assertRaisesRegex(ValueError, "OPLEDGER_TOKEN_FILE: .*serve prints"):
            Opledger(url)


class BrokenTest(ClientTest):
    """What a network, a proxy or a caller does wrong is an error that says so, and never a part of the truth."""

    def test_a_download_that_breaks_off(self) -> None:
        """It is asked for again, and is not taken for whole."""
        lines = '{"key":"a","response":{}}\n{"key":"b","response":{}}\n'
        self.answers((200, lines[:26], {"Content-Length": "52"}), (200, lines))
        self.assertEqual([result.key for result in self.client.results("batches/abc")], ["a", "b"])
        self.assertEqual(len(self.server.requests), 2)

    def test_a_download_has_its_whole_time_again_where_more_came(self) -> None:
        self.client = Opledger(
            f"http://127.0.0.1:{self.server.server_port}", sleep=self.pause,
            clock=lambda: 100.0 * len(self.server.requests),  # an attempt takes longer than a call may
        )
        part = (200, '{"key":"a"', {"Content-Length": "52"})
        self.answers(part, (200, '{"key":"a","response":{}}'))
        self.assertEqual([result.key for result in self.client.results("batches/abc")], ["a"])
        self.answers(part, part, (200, "{}"))
        self.assertRaises(UnavailableError, list, self.client.results("batches/abc"))
        self.assertEqual(len(self.server.answers), 1)

    def test_lines_that_are_none(self) -> None:
        for line in ('{"key":"a"', "null", "[]"):
            with self.subTest(line), self.assertRaisesRegex(ResultsError, "line 2 of the results of batches/abc"):
                self.answers((200, f'{{"key":"a","response":{{}}}}\n{line}\n'))
                list(self.client.results("batches/abc"))

    def test_a_job_has_a_line_of_each_outcome(self) -> None:
        job: dict[str, Any] = {**JOB, "counts": {"done": 2, "failed": 1, "unmatched": 1}}
        for kind, lines, whole in (
            ("results", 3, True), ("results", 2, False), ("failed", 1, True), ("failed", 0, False),
            ("unmatched", 1, True), ("unmatched", 0, False),
        ):
            with self.subTest(f"{lines} of {kind}"):
                self.answers((200, '{"key":"a","response":{}}\n' * lines), (200, job))
                results = self.client.jobs.results("abc", kind=kind)  # type: ignore[arg-type]
                if whole:
                    self.assertEqual(len(list(results)), lines)
                else:
                    with self.assertRaises(ResultsError):
                        list(results)

    def test_what_job_storage_cannot_have(self) -> None:
        client = Opledger(f"http://127.0.0.1:{self.server.server_port}", storage="gs://bucket/jobs", storage_token="t")
        for option in ("merged", "partial"):
            with self.assertRaisesRegex(ValueError, "need opledger serve"):
                list(client.jobs.results("abc", **{option: True}))  # type: ignore[arg-type]
        self.answers((200, {**JOB, "counts": {"done": 2}}))
        with self.assertRaisesRegex(ResultsError, "2 lines of results, and names no object"):
            list(client.jobs.results("abc"))
        self.answers((200, {**JOB, "counts": {"done": 2}}))
        self.assertEqual(list(client.jobs.results("abc", kind="failed")), [])

    def test_an_upload_to_serve_ends(self) -> None:
        """One that does not go on ends with the time and the repeats of the call, or after half an hour of storing."""
        cases: tuple[tuple[str, float, dict[str, Any]], ...] = (
            ("?0", 90, {}), ("?0", 10, {"timeout": 10.0}), ("?0", 1, {"max_retries": 2}), ("?1", 1800, {}),
            ("?1", 1, {"max_retries": 2}),
        )
        slow: Answer = (503, "", {"Retry-After": "60"})
        for complete, times, options in cases:
            for put in [slow] if times == 1800 else [AWAY, (200, {})]:
                with self.subTest(f"{complete} {options} {put}"):
                    self.server.requests.clear()
                    began = self.now
                    head: Answer = (200, "", {"Upload-Offset": "0", "Upload-Complete": complete})
                    self.answers(*[head, put] * 400)
                    with self.assertLogs("opledger") as logged, self.assertRaises(UnavailableError):
                        self.client.jobs.submit("abc", [("a", "hello")], model="m", **options)
                    self.assertEqual(len(logged.output), 1)
                    self.assertAlmostEqual(self.now - began, times, delta=1)
                    if "max_retries" in options:
                        self.assertIn(len(self.server.requests), (6, 8))

    def test_a_secret_with_a_line_break(self) -> None:
        """White space around it is taken away; one inside is an error at once, and is nowhere repeated."""
        url = f"http://127.0.0.1:{self.server.server_port}"
        self.answers((200, RECORD))
        Opledger(url, "token\n").register("batches/abc")
        self.assertEqual(self.server.headers[-1]["Authorization"], "Bearer token")
        for token in ("hid\nden", "hid den", "hid\u2026den"):
            for client, call in (
                (Opledger(url, lambda: token), "operation"), (Opledger(url, token), "operation"),
            ):
                with self.subTest(token), self.assertNoLogs("opledger"), self.assertRaises(AccessError) as raised:
                    getattr(client, call)("batches/abc")
                self.assertNotIn("den", "".join(traceback.format_exception(raised.exception)))
        client = Opledger(url, gemini_api_key="hid\nden")
        self.answers((501, {"error": {"message": "no"}}))
        with self.assertNoLogs("opledger"), self.assertRaises(AccessError) as raised:
            list(client.results("batches/abc"))
        self.assertNotIn("den", "".join(traceback.format_exception(raised.exception)))
        self.assertEqual(self.pauses, [])

    def test_a_token_that_nothing_brings(self) -> None:
        default = type("DefaultCredentialsError", (Exception,), {})
        for error in (ImportError("google-auth"), default("no credentials")):
            def token() -> str:
                raise error

            client = Opledger(f"http://127.0.0.1:{self.server.server_port}", token, sleep=self.pause)
            with self.subTest(str(error)), self.assertRaises(type(error)):
                client.register("batches/abc")
        self.assertEqual(self.pauses, [])

    def test_a_disk_that_is_full(self) -> None:
        class Full(io.BytesIO):
            def write(self, part: Any) -> int:
                raise OSError(28, "no space left")

        self.answers((200, "{}"))
        transport = self.client._transport
        with self.assertRaisesRegex(OSError, "no space left"):
            transport.send(Send("GET", "/x", into=Full()))

    def test_an_answer_of_something_else(self) -> None:
        """A proxy that answers 200 with nothing, or with JSON of its own, is not opledger."""
        calls: list[Callable[[], object]] = [
            lambda: self.client.register("batches/abc", timeout=0), lambda: self.client.find("a", timeout=0),
            lambda: self.client.operation("batches/abc", timeout=0), lambda: self.client.forget("batches/a", timeout=0),
            lambda: list(self.client.operations(timeout=0)), lambda: self.client.jobs.get("abc", timeout=0),
            lambda: self.client.jobs.cancel("abc", why="x", timeout=0),
            lambda: self.client.submit_once("a", create, collection="batches", timeout=0),
        ]
        for said in ("", {}, {"key": 1, "result": 2, "counts": 3, "verdict": "bound", "state": "BOUND"}):
            for number, call in enumerate(calls):
                with self.subTest(f"{said} {number}"), self.assertRaises(UnavailableError) as raised:
                    self.answers((200, said))
                    call()
                self.assertEqual(raised.exception.status, 503)

    def test_a_registration_that_is_none_keeps_the_name(self) -> None:
        self.answers((201, OPEN), (200, {}))
        with self.assertRaises(SubmitError) as raised:
            self.submit_once(create)
        self.assertEqual((raised.exception.outcome, raised.exception.name), ("unregistered", "batches/abc"))

    def test_create_that_returns_google_genai_s_object(self) -> None:
        self.answers((201, OPEN), (201, RECORD))
        creates: Any = lambda mark: types.SimpleNamespace(name="batches/abc")
        self.assertEqual(self.submit_once(creates).operation.key, "batches/abc")
        self.assertEqual(self.server.requests[1][2]["name"], "batches/abc")

    def test_a_function_that_ends_the_program(self) -> None:
        """What is no Exception reaches the caller, who does not wait for ever."""

        def ends(error: BaseException) -> Callable[[object], None]:
            def raises(argument: object) -> None:
                raise error

            return raises

        async def main() -> None:
            with self.assertRaises(RuntimeError) as stopped:
                await asyncio.wait_for(in_thread(ends(StopIteration(7)), None), 20)
            self.assertIsInstance(stopped.exception.__cause__, StopIteration)
            with self.assertRaises(GeneratorExit):
                await asyncio.wait_for(in_thread(ends(GeneratorExit()), None), 20)

        asyncio.run(main())
        with self.assertRaises(SystemExit):
            asyncio.run(in_thread(ends(SystemExit(3)), None))

    def test_arguments_that_are_none(self) -> None:
        other: Any = 7
        calls: list[Callable[[], object]] = [
            lambda: Mark(other), lambda: self.client.find(other), lambda: self.client.jobs.get(other),
            lambda: self.client.register("batches/abc", metadata={"at": datetime.datetime.now()}),
            lambda: self.client.register("batches/abc", metadata={"at": float("nan")}),
            lambda: list(self.client.operations(correlation_id="a", state="FAILED")),
            lambda: self.client.jobs.submit("two words", "no-such-file", model="m"),
        ]
        for call in calls:
            with self.assertRaises(ValueError):
                call()
        self.assertEqual(self.server.requests, [])

    def test_no_wait_is_too_long(self) -> None:
        forever = float("inf")
        self.answers((200, WAIT), (200, BOUND), (200, RECORD))
        with self.assertLogs("opledger", "WARNING"):
            self.assertTrue(self.submit_once(create, patience=forever).known)
        self.answers((200, RECORD), (200, {**SETTLED, "version": 4}))
        self.assertEqual(len(list(self.client.changes("batches/abc", every=forever))), 2)
        self.assertLess(max(self.pauses), 1e6)

    def test_the_time_of_a_call_is_that_of_all_its_requests(self) -> None:
        self.answers((200, SETTLED), *[AWAY] * 20)
        with self.assertRaises(UnavailableError):
            self.client.jobs.wait("abc", timeout=3)
        self.assertLess(self.now, 5)
        self.server.requests.clear()
        self.answers((201, OPEN), *[AWAY] * 20)
        with self.assertRaises(SubmitError):
            self.submit_once(fails(AnsweredError(400, "no")), max_retries=1)
        self.assertEqual(len(self.server.requests), 3)

    def test_errors_reach_another_process(self) -> None:
        operation = self.answered(RECORD)
        for error in (
            OpledgerError("away", status=503, problems=["a"], retry_after=2.0), AnsweredError(400, "no"),
            NotSentError("no route"), NotSettledError(operation, "away", status=503), SignatureError("no"),
            SubmitError("unregistered", "night-1", "away", name="batches/abc", retryable=True),
        ):
            with self.subTest(type(error).__name__):
                there = pickle.loads(pickle.dumps(error))
                self.assertEqual((type(there), str(there), vars(there)), (type(error), str(error), vars(error)))

    def answered(self, record: Any) -> Operation:
        self.answers((200, record))
        return self.client.operation("batches/abc")


class BucketTest(ClientTest):
    """An upload to Cloud Storage, whose session is a URL that is a secret."""

    def setUp(self) -> None:
        super().setUp()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        with unittest.mock.patch.dict(os.environ, {"STORAGE_EMULATOR_HOST": self.url, "OPLEDGER_TOKEN": "of-opledger"}):
            self.client = Opledger(
                self.url, storage="gs://bucket/jobs", storage_token="of-google", sleep=self.pause,
                clock=lambda: self.now,
            )

    def submit(self) -> None:
        self.client.jobs.submit("abc", [("a", "hello")], model="m")

    def test_the_session_gets_no_token(self) -> None:
        session = {"Location": f"{self.url}/session?upload_id=secret"}
        self.answers((200, "", session), AWAY, (200, "{}"), (201, JOB))
        with unittest.mock.patch.dict(os.environ, {"OPLEDGER_TOKEN": "of-opledger"}), \
                self.assertLogs("opledger") as logged:
            self.submit()
        self.assertNotIn("secret", "".join(logged.output))
        self.assertEqual(
            [headers["Authorization"] for headers in self.server.headers],
            ["Bearer of-google", None, None, "Bearer of-opledger"],
        )

    def test_an_upload_that_does_not_go_on(self) -> None:
        session = {"Location": f"{self.url}/session"}
        begun: Answer = (200, "", session)
        several: list[list[Answer]] = [[(200, "")], [begun, (308, "")], [begun, (308, "", {"Range": "x"})]]
        for answers in several:
            with self.subTest(str(answers)), self.assertRaisesRegex(UnavailableError, "no Location|does not go on"):
                self.answers(*answers)
                self.submit()


class WaitTest(ClientTest):
    def test_asks_until_it_is_settled(self) -> None:
        self.answers((200, RECORD), (503, ""), (200, SETTLED))
        operation = self.client.wait("models/veo/operations/a b")
        self.assertTrue(operation.settled)
        self.assertEqual(operation.result["outputFile"], "files/out")
        self.assertIsNone(operation.result["errorCode"])
        path = "/operations/models/veo/operations/a%20b?wait=30000ms"
        self.assertEqual(self.asked()[0], f"GET {path}")
        self.assertEqual(self.pauses, [2, 0.5])

    def test_ends_with_its_timeout(self) -> None:
        self.answers(*[(200, RECORD)] * 3)  # early, as of a server that stops
        with self.assertRaisesRegex(NotSettledError, "batches/abc is still RUNNING") as raised:
            self.client.wait("batches/abc", timeout=3)
        self.assertEqual(raised.exception.operation.state, "RUNNING")
        self.assertEqual(self.pauses, [2, 1])


    def test_retries_end_with_its_timeout(self) -> None:
        self.answers((200, RECORD), (503, ""), (503, "", {"Retry-After": "60"}))
        with self.assertRaisesRegex(NotSettledError, "still RUNNING .*503") as raised:
            self.client.wait("batches/abc", timeout=10)
        self.assertIsInstance(raised.exception.__cause__, OpledgerError)
        self.assertEqual(self.pauses, [2, 0.5])

    def test_ends_where_nothing_answers(self) -> None:
        self.answers(*[None] * 3)
        with self.assertRaisesRegex(NotSettledError, "batches/abc is still unknown") as raised:
            self.client.wait("batches/abc", timeout=3)
        self.assertEqual(raised.exception.operation.state, "")
        self.assertEqual(self.pauses, [0.5, 1])


class RequestsTest(unittest.TestCase):
    def check(self, text: str) -> int:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            return check_requests(file.name)

    def test_each_has_a_key_of_its_own(self) -> None:
        one = '{"key":"a","request":{"contents":[{}]}}'
        self.assertEqual(self.check(f'{one}\n\n{one.replace("a", "b", 1)}\n'), 2)
        for text, says in (
            ("", "no requests"), ("\n", "no requests"),
            ("no json", "line 1: it is not JSON: Expecting value at column 1"),
            ("[]", "line 1: it is not "), ('{"request":{"contents":[{}]}}', "line 1: it has no key"),
            ('{"key":"","request":{"contents":[{}]}}', "line 1: it has no key"),
            ('{"key":true,"request":{"contents":[{}]}}', "line 1: it has no key"),
            ('{"key":7,"request":{"contents":[{}]}}', 'its key 7 is a number; write "7"'),
            ('{"key":"a","request":{}}', "line 1: it has no request"),
            ('{"key":"a","request":{"x":NaN}}', "line 1: it is not JSON: NaN"),
            ("{}", "line 1: it has no key.*, and it has no request"),
            ("\ufeff" + one, "1 line is wrong\n  line 1: it begins with a byte order mark"),
            (f"{one}\n{one}", "line 2: its key 'a' is that of line 1"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, says):
                self.check(text)


    def test_all_wrong_lines_are_listed(self) -> None:
        one = '{"key":"a","request":{"contents":[{}]}}'
        with self.assertRaises(ValueError) as raised:
            self.check("\n".join([one, "[]", one, *["no json"] * 21]))
        lines = str(raised.exception).split("\n")
        self.assertRegex(lines[0], ": 23 lines are wrong$")
        self.assertEqual(len(lines), 22)
        self.assertRegex(lines[1], "^  line 2: ")
        self.assertRegex(lines[20], "^  line 21: ")
        self.assertEqual(lines[21], "  and 3 more")


class MarkTest(unittest.TestCase):
    def test_display_name(self) -> None:
        mark = Mark("night-1")
        self.assertEqual(mark.display_name(), "opledger:night-1")
        self.assertEqual(mark.display_name(" reviews "), "reviews opledger:night-1")
        long = mark.display_name("é" * 100)
        self.assertEqual(len(long.encode()), 127)  # no half of a letter
        self.assertTrue(long.endswith("é opledger:night-1"))

    def test_user_metadata_keeps_the_caller_s(self) -> None:
        own = {"tenant": "a"}
        marked = Mark("night-1").user_metadata(own)
        self.assertEqual(marked, {"tenant": "a", "opledger_correlation_id": "night-1"})
        self.assertEqual(own, {"tenant": "a"})


class VerifierTest(unittest.TestCase):
    """The vector was made by another implementation of Standard Webhooks."""

    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    body = (
        b'{"operation":"batches/abc","state":"SUCCEEDED","result":{},"metadata":null,'
        b'"idempotencyKey":"gemini:batches/abc#publish"}'
    )
    signature = "v1,lhE7dBqoFlUIfm6wSRAXb0k0Xmt+fpycOBnyXdIy2Ks="

    def headers(self, **changed: str) -> dict[str, str]:
        headers = {
            "Webhook-Id": "msg_1",
            "WEBHOOK-TIMESTAMP": "1700000000",
            "webhook-signature": self.signature,
        }
        return {**headers, **changed}

    def verifier(self, secret: str = secret, now: float = 1700000000) -> Verifier:
        return Verifier(secret, now=lambda: now)

    def test_a_signed_completion(self) -> None:
        other = "whsec_" + "b3RoZXJvdGhlcm90aGVyb3RoZXI="
        for secret in (self.secret, f"{other} {self.secret}"):
            completion = self.verifier(secret).verify(self.headers(), self.body)
            self.assertEqual(completion.idempotency_key, "gemini:batches/abc#publish")
            self.assertEqual((completion.operation, completion.state), ("batches/abc", "SUCCEEDED"))
            self.assertIsNone(completion.item)
        two = self.headers(**{"webhook-signature": f"v1a,x v1,AAAA {self.signature}"})
        self.assertEqual(self.verifier().verify(two, self.body).state, "SUCCEEDED")

    def test_what_is_refused(self) -> None:
        wrong: dict[str, tuple[dict[str, str], bytes]] = {
            "other body": (self.headers(), self.body + b" "),
            "other id": (self.headers(**{"Webhook-Id": "msg_2"}), self.body),
            "no headers": ({}, self.body),
            "no signature": (self.headers(**{"webhook-signature": ""}), self.body),
            "another version": (
                self.headers(**{"webhook-signature": f"v2{self.signature[2:]}"}), self.body,
            ),
            "letters for a time": (self.headers(**{"WEBHOOK-TIMESTAMP": "now"}), self.body),
        }
        for name, (headers, body) in wrong.items():
            with self.subTest(name), self.assertRaises(SignatureError):
                self.verifier().verify(headers, body)

    def test_time(self) -> None:
        for away in (-300, 300):
            self.verifier(now=1700000000 + away).verify(self.headers(), self.body)
        for away in (-301, 301):
            with self.assertRaisesRegex(SignatureError, "1700000000"):
                self.verifier(now=1700000000 + away).verify(self.headers(), self.body)

    def test_a_signed_body_of_another_form(self) -> None:
        for body in (b"", b"no json", b"[]", b"null", b'"text"', b'{"operation":"batches/abc"}',
                     b'{"idempotencyKey":1,"operation":"a","state":"b","result":{}}', b"\xff"):
            signed = b"msg_1.1700000000." + body
            digest = hmac.digest(base64.b64decode(self.secret[6:]), signed, "sha256")
            headers = self.headers(
                **{"webhook-signature": "v1," + base64.b64encode(digest).decode()}
            )
            with self.subTest(body), self.assertRaises(CompletionError):
                self.verifier().verify(headers, body)

    def test_secrets_that_anyone_could_sign_with(self) -> None:
        for secret in ("", "  ", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64", self.secret[6:]):
            with self.subTest(secret), self.assertRaises(ValueError) as raised:
                Verifier(secret)
            self.assertNotIn("c2hvcnQ", str(raised.exception))


if __name__ == "__main__":
    unittest.main()

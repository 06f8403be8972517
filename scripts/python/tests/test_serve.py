"""Tests of both clients against opledger serve, also while it is away and while it is killed."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
import logging
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any, Literal, NamedTuple

from opledger import (
    AccessError, AsyncOpledger, ConflictError, Jobs, Opledger, OpledgerError, RefusedError, Result, UnavailableError,
    opener,
)
from tests.serving import Door, Serve, command, variables
from tests.test_docs import create_batch

logging.getLogger("opledger").setLevel(logging.CRITICAL)
MODEL = "gemini-3.5-flash"
OUTAGE = 60.0
SOAK = os.environ.get("OPLEDGER_SOAK", "short") != "short"  # repeat what only repetition proves


def rows(n: int) -> list[tuple[str, str]]:
    return [(f"row-{i}", f"Is review {i} good?") for i in range(n)]


class ServeTest(unittest.TestCase):
    """Clients behind a door, with a clock that only their pauses move."""

    flags: tuple[str, ...] = ()
    env: dict[str, str] = {}
    serve: Serve
    door: Door

    @classmethod
    def setUpClass(cls) -> None:
        cls.serve = Serve(*cls.flags, env=cls.env)
        cls.addClassCleanup(cls.serve.close)
        cls.door = Door(lambda: cls.serve.url)
        cls.addClassCleanup(cls.door.close)
        cls.enterVariables(**{**cls.serve.exports, "OPLEDGER_URL": cls.door.url})

    @classmethod
    def enterVariables(cls, **values: str) -> None:
        stack = contextlib.ExitStack()
        stack.enter_context(variables(**values))
        cls.addClassCleanup(stack.close)

    def setUp(self) -> None:
        self.now = 0.0
        self.door.before = self.door.after = lambda what: True
        self.client = Opledger(sleep=self.pause, clock=lambda: self.now)
        self.awaits = AsyncOpledger(sleep=self.apause, clock=lambda: self.now)

    def pause(self, seconds: float) -> None:
        self.now += seconds
        time.sleep(0.01)  # what runs in serve goes on in its own time

    async def apause(self, seconds: float) -> None:
        self.pause(seconds)

    def away(self) -> None:
        """Lets opledger be away for a minute of the client's time."""
        until = self.now + OUTAGE
        self.door.before = lambda what: self.now >= until


class OutageTest(ServeTest):
    def test_each_call_survives_a_minute(self) -> None:
        c, jobs = self.client, self.client.jobs
        why = "a test"

        def refused(call: Callable[[], Any]) -> str:
            with self.assertRaises(ConflictError) as raised:
                call()
            return str(raised.exception.status)

        calls: list[tuple[str, Callable[[], Any], Any]] = [
            ("submit_once", lambda: c.submit_once("out", create_batch, collection="batches").known, False),
            ("submit_once again", lambda: c.submit_once("out", create_batch, collection="batches").known, True),
            ("find", lambda: c.find("out") is not None, True),
            ("register", lambda: c.register("batches/mine").key, "batches/mine"),
            ("operation", lambda: c.operation("batches/mine").state, "PENDING"),
            ("wait", lambda: c.wait(self.name()).state, "SUCCEEDED"),
            ("changes", lambda: [o.state for o in c.changes(self.name())], ["SUCCEEDED"]),
            ("operations", lambda: len(list(c.operations(collection="batches"))), 2),
            ("operations by id", lambda: [o.key for o in c.operations(correlation_id="out")], [self.name]),
            ("results", lambda: len(list(c.results(self.name()))) > 0, True),
            ("cancel", lambda: refused(lambda: c.cancel(self.name(), why=why)), "409"),
            ("forget", lambda: c.forget("batches/mine") > 0, True),
            ("jobs.submit", lambda: jobs.submit("out", rows(3), model=MODEL).known, False),
            ("jobs.get", lambda: jobs.get("out").key, "jobs/out"),
            ("jobs.wait", lambda: jobs.wait("out").counts["done"], 3),
            ("jobs.submit again", lambda: jobs.submit("out", rows(3), model=MODEL).known, True),
            ("jobs.results", lambda: sorted(r.key for r in jobs.results("out")), ["row-0", "row-1", "row-2"]),
            ("jobs.pause", lambda: refused(lambda: jobs.pause("out", why=why)), "409"),
            ("jobs.resume", lambda: jobs.resume("out", why=why).key, "jobs/out"),
            ("jobs.cancel", lambda: refused(lambda: jobs.cancel("out", why=why)), "409"),
            ("jobs.change", lambda: refused(lambda: jobs.change("out", max_batches=2, why=why)), "409"),
            ("jobs.redrive", lambda: refused(lambda: jobs.redrive("out", why=why)), "409"),
        ]
        public = {n for n in vars(Opledger) if n[0] != "_" and n not in ("run", "each", "protocol", "jobs")}
        public |= {f"jobs.{n}" for n in vars(Jobs) if n[0] != "_"}
        self.assertEqual({name.split()[0] for name, _, _ in calls}, public)
        for name, call, wants in calls:
            with self.subTest(name):
                began = self.now
                self.away()
                self.assertEqual(call(), [self.name()] if wants == [self.name] else wants)
                self.assertGreaterEqual(self.now - began, OUTAGE)

    def name(self) -> str:
        found = Opledger(self.serve.url).find("out")
        assert found
        return found.operation.key

    def test_no_more_repeats_than_allowed(self) -> None:
        asked: list[str] = []

        def refuses(what: str) -> bool:
            asked.append(what)
            return False

        self.door.before = refuses
        with self.assertRaises(UnavailableError) as raised:
            self.client.operation("batches/x", max_retries=2)
        self.assertEqual((len(asked), raised.exception.status), (3, 0))
        asked.clear()
        with self.assertRaises(UnavailableError):
            self.client.operation("batches/x", timeout=3)
        self.assertLess(self.now, 10)

    def test_the_same_for_asyncio(self) -> None:
        async def main() -> None:
            c = self.awaits
            self.away()
            submitted = await c.submit_once("async", self.create, collection="batches")
            self.assertFalse(submitted.known)
            self.assertGreaterEqual(self.now, OUTAGE)
            self.assertEqual((await c.wait(submitted.operation.key)).state, "SUCCEEDED")
            self.assertEqual([o.state async for o in c.changes(submitted.operation.key)], ["SUCCEEDED"])
            self.assertGreater(len([r async for r in c.results(submitted.operation.key)]), 0)

            async def generated() -> Any:
                for row in rows(1200):
                    yield row

            job = await c.jobs.submit("async", generated(), model=MODEL, config={"temperature": 0})
            self.assertEqual(job.open, 1200)
            self.assertEqual((await c.jobs.wait("async")).counts["done"], 1200)
            self.assertEqual(len({r.key async for r in c.jobs.results("async")}), 1200)
            again = await c.jobs.submit("async", rows(1200), model=MODEL, config={"temperature": 0})
            self.assertTrue(again.known)

        asyncio.run(main())

    async def create(self, mark: Any) -> str:
        return create_batch(mark)

    def test_many_waits_at_once_take_no_pool(self) -> None:
        """More calls wait than a pool of asyncio has threads, and one more goes on."""

        async def main() -> None:
            c = AsyncOpledger(self.serve.url)
            await c.register("batches/never")
            waits = [asyncio.ensure_future(c.wait("batches/never")) for _ in range(40)]
            await asyncio.sleep(0)
            began = time.monotonic()
            self.assertEqual((await c.operation("batches/never")).state, "PENDING")
            self.assertLess(time.monotonic() - began, 20)  # one of the waits takes 30 s
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

        asyncio.run(main())


class JobsTest(ServeTest):
    flags = ("--fault", "jobs/redriven:expired=1")

    def test_files_rows_and_lines(self) -> None:
        """A file, the rows of a CSV and lines become the same input."""
        lines = [{"key": k, "request": {"contents": [{"role": "user", "parts": [{"text": t}]}]}} for k, t in rows(9)]
        job = self.client.jobs.submit("rows", rows(9), model=MODEL)
        table = io.StringIO("".join(f"{k},{t}\n" for k, t in rows(9)))
        self.assertTrue(self.client.jobs.submit("rows", csv.reader(table), model=MODEL).known)
        self.assertTrue(self.client.jobs.submit("rows", lines, model=MODEL).known)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            self.assertTrue(self.client.jobs.submit("rows", path, model=MODEL).known)
        self.assertEqual(job.progress["input"]["requests"], 9)

    def test_a_large_input_is_sent_in_pieces(self) -> None:
        pieces: list[str] = []

        def loses(what: str) -> bool:
            pieces.append(what)
            return len(pieces) != 2

        self.door.after = loses
        large = [(k, t + " " + "x" * (3 << 20)) for k, t in rows(6)]
        self.client.jobs.submit("large", large, model=MODEL)
        self.assertGreaterEqual(len([p for p in pieces if p.startswith("PUT")]), 3)
        self.assertEqual(self.client.jobs.wait("large").counts["done"], 6)

    def test_what_differs_is_refused(self) -> None:
        self.client.jobs.submit("differs", rows(2), model=MODEL)
        with self.assertRaises(ConflictError):
            self.client.jobs.submit("differs", rows(3), model=MODEL)
        with self.assertRaises(RefusedError) as raised:
            self.client.jobs.submit("wrong", [{"key": "a", "request": {"content": []}}], model=MODEL, max_batches=-1)
        self.assertTrue(raised.exception.problems)
        wrong: list[Any] = [[], [("a", object())], [("a", float("nan"))], [("a", "b", "c")], [{"key": "a", "x": {1}}]]
        for requests in wrong:
            with self.subTest(requests), self.assertRaises(ValueError):
                self.client.jobs.submit("none", requests, model=MODEL)

    def test_files_that_are_no_lines(self) -> None:
        """A path of a CSV, of nothing, and of a line that is cut: the error names it, before anything is sent."""
        self.client = Opledger("http://127.0.0.1:1", timeout=0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "reviews.csv")
            self.assertRaisesRegex(OSError, "reviews.csv", self.client.jobs.submit, "none", path, model=MODEL)
            for text, config, wants in (
                ("id,text\n1,It broke.\n", None, "reviews.csv: the line 'id,text' is not .*csv.DictReader"),
                ("\ufeffid,text\n1,It broke.\n", {"temperature": 0}, "reviews.csv: the line 'id,text"),
                ('{"key": "a", "request": {}}\n{"key"', {"top_k": 1}, "reviews.csv: the line '{\"key\"' is not"),
            ):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                with self.subTest(text), self.assertRaisesRegex(ValueError, wants):
                    self.client.jobs.submit("none", path, model=MODEL, config=config)

    def test_an_id_that_is_none_is_said_first(self) -> None:
        """Nothing of the input is read."""
        requests = iter(rows(2))
        with self.assertRaisesRegex(ValueError, "the job id 'two words'"):
            self.client.jobs.submit("two words", requests, model=MODEL)
        self.assertEqual(len(list(requests)), 2)

    def test_tolerances_are_numbers_or_shares(self) -> None:
        given: list[int | str] = [3, "3", "1%"]
        for i, most in enumerate(given):
            job = self.client.jobs.submit(f"tolerance-{i}", rows(1), model=MODEL, max_failures=most, stop_after=most)
            options = job.progress["options"]
            self.assertEqual((options["maxFailures"], options["stopAfter"]), (str(most), str(most)))

    def test_names_that_are_none(self) -> None:
        """What the server would refuse, in an answer that may have no body, is an error before it is sent."""
        calls: list[Callable[[], object]] = [
            lambda: self.client.jobs.submit("two words", rows(1), model=MODEL), lambda: self.client.jobs.get("_x"),
            lambda: self.client.jobs.wait("x" * 65), lambda: list(self.client.results("operations/video")),
        ]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "is not 1 to 64 letters|is neither a batch nor a job"):
                call()

    def test_results_that_are_final_so_far(self) -> None:
        self.client.jobs.submit("held", rows(2), model=MODEL)
        self.client.jobs.pause("held", why="a test")
        self.assertLessEqual({r.key for r in self.client.jobs.results("held", partial=True)}, {"row-0", "row-1"})
        self.client.jobs.resume("held", why="a test")
        self.assertTrue(self.client.jobs.wait("held").succeeded)

    def test_what_is_not_done_is_redriven(self) -> None:
        jobs, trace = self.client.jobs, f"00-{'4' * 32}-{'4' * 16}-01"
        first = jobs.submit("redriven", rows(3), model=MODEL, traceparent=trace, max_attempts=1)
        self.assertEqual(first.progress["record"]["traceParent"], trace)
        ended = jobs.wait("redriven")
        self.assertEqual((ended.state, ended.counts["failed"]), ("FAILED", 3), ended.why)
        failed = list(jobs.results("redriven", kind="failed"))
        self.assertTrue(len(failed) == 3 and all(r.line["request"] and r.why for r in failed))
        second = jobs.redrive("redriven", why="a test", by="ann", max_attempts=2)
        self.assertEqual((second.id, second.open), ("redriven-2", 3))
        self.assertEqual(jobs.wait(second.id).counts["done"], 3)
        merged = {r.key: r.outcome for r in jobs.results("redriven", merged=True)}
        self.assertEqual(merged, {key: "done" for key, _ in rows(3)})

    def test_a_token_that_is_replaced(self) -> None:
        """The file of the token is read for each request, as serve makes a new one."""
        with tempfile.NamedTemporaryFile("w") as file, variables(OPLEDGER_TOKEN_FILE=file.name):
            client = Opledger(self.serve.url)
            client.register("batches/tokens")
            os.remove(file.name)
            with self.assertRaisesRegex(UnavailableError, "the token cannot be had"):
                client.register("batches/tokens", timeout=0)
            open(file.name, "w").close()


class HarshTest(ServeTest):
    """Gemini refuses, delays and loses, and so does its webhook.

    Two waits of serve are in real time, and tests with a clock of their own cover them: of five minutes after a
    creation that was not answered, and after each read that fails, longer each time. So there are none of the first,
    and few of the second, but where OPLEDGER_SOAK asks for all of them.
    """

    flags = ("--faults", "harsh", *(() if SOAK else (
        "--fault", "createsLost=0", "--fault", "apiErrors=0.02", "--fault", "apiRateLimited=0.02",
        "--fault", "apiStale=0.05", "--fault", "apiHollow=0.01",
    )))

    def test_nothing_is_lost_or_doubled(self) -> None:
        client = Opledger(self.serve.url)
        for i in range(3):
            client.jobs.submit(f"harsh-{i}", rows(100), model=MODEL, max_failures="100%")
        for i in range(3):
            job = client.jobs.wait(f"harsh-{i}", timeout=1500)
            keys = [result.key for result in client.jobs.results(f"harsh-{i}")]
            self.assertEqual((job.open, sorted(keys)), (0, sorted(k for k, _ in rows(100))))


class StoredTest(ServeTest):
    """Results come from where an effect has put them, else from Gemini."""

    env = {
        "OPLEDGER_EFFECTS": "[{name: reviews, on: [SUCCEEDED], do: results, collection: reviews, jobKinds: [kept]}]",
    }

    def results(self, kind: str) -> list[Result]:
        client = Opledger(self.serve.url)
        submitted = client.submit_once(kind, create_batch, collection="batches", job_kind=kind)
        key = client.wait(submitted.operation.key).key
        until = time.monotonic() + 60
        while "reviews" in client.operation(key).record.get("effects", {}) and time.monotonic() < until and \
                client.operation(key).record["effects"]["reviews"] != "done":
            time.sleep(0.05)
        return list(client.results(key))

    def printed(self, key: str, **env: str) -> str:
        """Returns what the command prints of the results, which has no API key."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPLEDGER_", "GEMINI_", "GOOGLE_"))}
        done = subprocess.run(
            [command(), "results", key, "--store", self.serve.store], env={**clean, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        return done.stdout if done.returncode == 0 else f"{done.returncode} {done.stderr}"

    def test_of_the_collection(self) -> None:
        kept, asked = self.results("kept"), self.results("asked")
        self.assertTrue(kept and all("index" in result.line for result in kept))
        self.assertTrue(asked and not any("index" in result.line for result in asked))
        self.assertTrue(any(result.usage for result in asked))
        found = Opledger(self.serve.url).find("kept")
        assert found
        text = self.printed(found.operation.key, **self.env)
        self.assertTrue(text.startswith("{"), text)
        self.assertEqual([json.loads(line) for line in text.splitlines()], [result.line for result in kept])
        self.assertIn("GEMINI_API_KEY", self.printed(found.operation.key))


class Point(NamedTuple):
    """A request at which serve is killed: of a client to it, or of it to Gemini."""

    of: Literal["job", "batch"]  # what is submitted
    door: Literal["serve", "gemini"]
    request: str  # a pattern
    short: Literal["before", "after", ""] = ""  # the moment at which every run of the tests kills it
    nth: int = 1


POINTS = (
    Point("job", "serve", "HEAD /jobs/"), Point("job", "serve", "PUT /jobs/"),
    Point("job", "serve", "POST /jobs/", "after"), Point("job", "serve", ".*wait="),
    Point("job", "serve", "GET /jobs/"), Point("job", "serve", ".*/results"), Point("job", "serve", "POST /webhook"),
    Point("job", "gemini", "POST /upload/v1beta/files$"), Point("job", "gemini", "POST /upload/v1beta/files/"),
    Point("job", "gemini", ".*:batchGenerateContent", "after"), Point("job", "gemini", "GET /v1beta/batches/"),
    Point("job", "gemini", "GET /v1beta/batches[?]"), Point("job", "gemini", ".*:download", "before"),
    Point("job", "gemini", "DELETE /v1beta/files/"), Point("batch", "serve", "POST /register", "after"),
    Point("batch", "serve", "POST /register", "before", 2), Point("batch", "serve", ".*wait="),
    Point("batch", "serve", ".*/results"), Point("batch", "serve", "POST /webhook"),
    Point("batch", "gemini", ".*:download"),
)


class KilledTest(unittest.TestCase):
    """serve is killed, and started again, while Gemini, which another process simulates, lives on."""

    def setUp(self) -> None:
        gemini = Serve(env={"OPLEDGER_INTERVAL": "1h"})  # its own ledger stays empty
        self.addCleanup(gemini.close)
        self.gemini, self.key = gemini.gemini, gemini.exports["GEMINI_API_KEY"]
        self.doors = {"serve": Door(lambda: self.serve.url), "gemini": Door(lambda: gemini.gemini)}
        for door in self.doors.values():
            self.addCleanup(door.close)
        hook = self.asks("webhooks", {
            "uri": self.doors["serve"].url + "/webhook", "subscribed_events": ["batch.succeeded", "batch.failed"],
        })
        self.serve = Serve(simulate=False, env={
            "GEMINI_API_KEY": self.key, "GOOGLE_GEMINI_BASE_URL": self.doors["gemini"].url,
            "OPLEDGER_WEBHOOK_SECRET": hook["new_signing_secret"], "OPLEDGER_SERVE_TOKEN": "none",
            "OPLEDGER_GRACE": "1s", "OPLEDGER_INTERVAL": "1s", "OPLEDGER_CLAIM_TTL": "4s",
        })
        self.addCleanup(self.serve.close)

    def asks(self, resource: str, body: dict[str, Any] | None = None) -> Any:
        """Asks Gemini."""
        request = urllib.request.Request(
            f"{self.gemini}/v1beta/{resource}", json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json", "x-goog-api-key": self.key},
        )
        with opener(self.gemini).open(request) as answer:
            return json.load(answer)

    def test_serve_is_killed_at_each_point(self) -> None:
        """Before the request is carried out, or before it is answered.

        Nothing is lost, nothing is submitted twice, and no call raises anything. Five kills, and forty where
        OPLEDGER_SOAK says so: with one of them five minutes pass before Gemini's list shows that nothing was created.
        """
        for number, point in enumerate(POINTS):
            for moment in ("before", "after"):
                if SOAK or point.short == moment:
                    with self.subTest(point, moment=moment):
                        self.killed_at(point, moment, f"killed-{moment}-{number}")

    def killed_at(self, point: Point, moment: str, name: str) -> None:
        door, seen, lock = self.doors[point.door], 0, threading.Lock()

        def kills(what: str) -> bool:
            nonlocal seen
            with lock:
                seen += bool(re.match(point.request, what))
                if seen != point.nth or not re.match(point.request, what):
                    return True
                self.serve.kill()
                self.serve.start()
                return False

        setattr(door, moment, kills)
        client = Opledger(self.doors["serve"].url, sleep=lambda seconds: time.sleep(seconds / 20))
        if point.of == "job":
            client.jobs.submit(name, rows(2), model=MODEL)
            key = client.jobs.wait(name, timeout=600).key
        else:
            with variables(GOOGLE_GEMINI_BASE_URL=self.gemini):
                key = client.submit_once(name, create_batch, collection="batches").operation.key
            self.assertEqual(client.wait(key).state, "SUCCEEDED")
        keys = [result.key for result in client.results(key)]
        self.assertGreaterEqual(seen, point.nth)
        door.before = door.after = lambda what: True
        batches = [batch["metadata"] for batch in self.asks("batches?pageSize=100")["operations"]]
        named = [batch for batch in batches if re.search(rf"{name}\b", batch["displayName"])]
        self.assertEqual(len(named), 1, batches)
        self.assertEqual([len(keys), len(set(keys))], [int(named[0]["batchStats"]["requestCount"])] * 2)
        if point.of == "job":
            self.assertEqual(sorted(keys), [key for key, _ in rows(2)])


class RefusedTest(unittest.TestCase):
    def test_a_token_that_is_wrong(self) -> None:
        serve = Serve(env={"OPLEDGER_SERVE_TOKEN": "a-token-of-thirty-two-characters"})
        self.addCleanup(serve.close)
        with self.assertRaises(AccessError) as raised:
            Opledger(serve.url, "another").register("batches/x")
        self.assertEqual(raised.exception.status, 401)
        self.assertIsInstance(raised.exception, OpledgerError)


if __name__ == "__main__":
    unittest.main()

"""Kills nightly.py at 20 points, or at every second one, each against opledger serve with a simulated Gemini, and starts it again."""

from __future__ import annotations

import concurrent.futures
import contextlib
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import nightly
from tests.serving import Door, Serve, variables

HERE = pathlib.Path(__file__).parent
ROWS = 30
SHOP = 'Zürich, "Mitte"'
# Whether a test may take longer than `go test ./...` has time for, as test/harness says.
THOROUGH = os.environ.get("OPLEDGER_REQUIRE_EMULATORS") == "1" or os.environ.get("OPLEDGER_SOAK", "short") != "short"
# Points at which the program kills itself: before or after a call of the operating system.
CALLS = ("os.fsync", "os.replace", "csv.DictWriter.writeheader", "csv.DictWriter.writerow")
KILLED_AT = """
import csv, os, runpy, signal, sys
def dies(real, before):
    def call(*given):
        brought = None if before else real(*given)
        os.kill(os.getpid(), signal.SIGKILL)
    return call
of, _, name = {call!r}.rpartition(".")
place = eval(of)
setattr(place, name, dies(getattr(place, name), {before}))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Point:
    """A point at which the program is killed: a door and a folder of its own."""

    def __init__(self, serve: Serve, job: str) -> None:
        self.serve, self.job = serve, job
        self.door = Door(lambda: serve.url)
        self.folder = tempfile.TemporaryDirectory()
        self.source = os.path.join(self.folder.name, "reviews.csv")
        self.target = os.path.join(self.folder.name, "rated.csv")
        with open(self.source, "w", encoding="utf-8-sig", newline="") as file:  # as Excel writes it
            table = csv.writer(file)
            table.writerow(["id", "shop", "text"])
            table.writerows([str(i), SHOP, f"It is,\nas number {i}, good."] for i in range(ROWS))

    def start(self, *before: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *before, str(HERE / "nightly.py"), self.source, self.target, self.job], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=HERE,
            env={**os.environ, "OPLEDGER_URL": self.door.url, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def at_request(self, moment: str, at: int) -> None:
        """Kills the program before its request is passed on, or before the answer to it is."""
        count, program = 0, None

        def kill(what: str) -> bool:
            nonlocal count
            count += 1
            if count == at and program:
                program.kill()
            return count < at

        setattr(self.door, moment, kill)
        program = self.start()
        self.killed(program)

    def at_call(self, call: str, before: bool) -> None:
        """Lets the program kill itself before or after its first such call."""
        self.killed(self.start("-c", KILLED_AT.format(call=call, before=before)))

    def killed(self, program: subprocess.Popen[str]) -> None:
        """What was killed left no half of a file; run again it ends with each row once, of one batch.

        It is run again in this process, which is quicker: nothing of a run stays in the module.
        """
        said, _ = program.communicate(timeout=300)
        same(program.returncode, -signal.SIGKILL, said)
        if os.path.exists(self.target):
            self.whole()
        same(nightly.run(self.source, self.target, self.job), True, self.job)
        self.whole()
        with urllib.request.urlopen(f"{self.serve.url}/jobs/{self.job}") as answer:
            progress = json.load(answer)
        same((progress["counts"]["done"], progress["batches"]["total"]), (ROWS, 1), self.job)
        self.close()

    def close(self) -> None:
        self.door.close()
        self.folder.cleanup()

    def whole(self) -> None:
        with open(self.target, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        same([row["id"] for row in rows], [str(i) for i in range(ROWS)], self.job)
        same({(row["shop"], row["outcome"], bool(row["rating"])) for row in rows}, {(SHOP, "done", True)}, self.job)


def same(got: object, wants: object, about: str) -> None:
    if got != wants:
        raise AssertionError(f"{got!r} is not {wants!r}: {about}")


class NightlyTest(unittest.TestCase):
    serve: Serve

    @classmethod
    def setUpClass(cls) -> None:
        cls.serve = Serve()
        cls.addClassCleanup(cls.serve.close)
        stack = contextlib.ExitStack()
        stack.enter_context(variables(**cls.serve.exports))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        cls.addClassCleanup(stack.close)

    def test_killed_at_twenty_points(self) -> None:
        """Before and after each request and call; unless THOROUGH, before one and after the next."""
        requests = [(moment, at) for moment in ("before", "after") for at in range(1, 7)]
        calls = [(call, before) for call in CALLS for before in (True, False)]
        if not THOROUGH:
            requests = [(moment, at) for moment, at in requests if (moment == "before") == (at % 2 == 1)]
            calls = [(call, before) for call, before in calls if before == (CALLS.index(call) % 2 == 0)]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            points = {
                **{f"{moment}-{at}": pool.submit(Point(self.serve, f"{moment}-{at}").at_request, moment, at)
                   for moment, at in requests},
                **{f"{call}, {before}": pool.submit(Point(self.serve, f"call-{i}").at_call, call, before)
                   for i, (call, before) in enumerate(calls)},
            }
            for name, point in points.items():
                with self.subTest(name):
                    point.result()
        self.assertEqual(len(points), 20 if THOROUGH else 10)

    def test_a_run_that_is_not_killed(self) -> None:
        point = Point(self.serve, "whole")
        self.addCleanup(point.close)
        for wants in ("jobs/whole submitted", "jobs/whole was submitted before"):
            program = point.start()
            said, _ = program.communicate(timeout=300)
            same(program.returncode, 0, said)
            self.assertRegex(said, wants)
            point.whole()

    def test_says_what_is_wrong(self) -> None:
        point = Point(self.serve, "wrong")
        self.addCleanup(point.close)
        with open(point.source, "w", encoding="utf-8") as file:
            file.write("key,text\n1,It broke.\n")
        for wants in (r"reviews.csv has the columns \['key', 'text'\]", "No such file or directory: .*reviews.csv"):
            program = point.start()
            said, _ = program.communicate(timeout=60)
            self.assertEqual(program.returncode, 1)
            self.assertRegex(said, wants)
            self.assertNotIn("Traceback", said)
            pathlib.Path(point.source).unlink(missing_ok=True)


if __name__ == "__main__":
    unittest.main()

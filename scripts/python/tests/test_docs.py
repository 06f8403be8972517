"""Runs the examples of the docstrings and of the READMEs against opledger serve."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import pkgutil
import tempfile
import unittest
import urllib.request

import opledger
from tests import docstrings
from tests.serving import PACKAGE, ROOT, Serve, variables


def create_batch(mark: opledger.Mark) -> str:
    """Creates a batch at Gemini, as the example of submit_once."""
    body = {"batch": {
        "displayName": mark.display_name("doc"), "inputConfig": {"fileName": "files/reviews"},
        "webhookConfig": {"userMetadata": mark.user_metadata()},
    }}
    request = urllib.request.Request(
        os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-3.5-flash:batchGenerateContent",
        json.dumps(body).encode(), {"Content-Type": "application/json", "x-goog-api-key": "key"},
    )
    with opledger.opener(request.full_url).open(request) as response:
        return str(json.load(response)["name"])


class DocsTest(unittest.TestCase):
    def test_examples(self) -> None:
        serve = Serve()
        self.addCleanup(serve.close)
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        names = {
            "asyncio": importlib.import_module("asyncio"), "os": os, "create_batch": create_batch,
            **{name: getattr(opledger, name) for name in opledger.__all__},
        }
        with variables(**serve.exports):
            runner = doctest.DocTestRunner()
            finder = doctest.DocTestFinder()
            tests = []
            for module in pkgutil.iter_modules(opledger.__path__):
                of = importlib.import_module(f"opledger.{module.name}")
                tests += finder.find(of, extraglobs=names)
            tests.sort(key=lambda test: (test.filename or "", test.lineno or 0))  # as they are read
            for test in tests:
                runner.run(test)
            readme = PACKAGE / "README.md"
            runner.run(doctest.DocTestParser().get_doctest(readme.read_text(), dict(names), "README", str(readme), 0))
            block = (ROOT / "README.md").read_text().split("\n```python\n")[1].split("\n```\n")[0]
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(block, {"Opledger": opledger.Opledger})
        self.assertRegex(said.getvalue(), "^[ab] done ")
        self.assertEqual(runner.summarize().failed, 0)
        self.assertGreater(runner.tries, 60)

    def test_each_call_has_an_example(self) -> None:
        for of in (opledger.Opledger, opledger.Jobs):
            for name, call in vars(of).items():
                if name.startswith("_") or name in ("run", "each", "protocol"):
                    continue
                with self.subTest(f"{of.__name__}.{name}"):
                    self.assertIn(">>>", call.__doc__ or "")

    def test_each_name_has_an_example(self) -> None:
        """A class has one of its own, or in one of its methods."""
        for name in opledger.__all__:
            of = getattr(opledger, name)
            if not callable(of) or name == "Collection":
                continue
            documents = [of, *vars(of).values()] if isinstance(of, type) else [of]
            with self.subTest(name):
                self.assertTrue(any(">>>" in (document.__doc__ or "") for document in documents))

    def test_each_argument_is_described(self) -> None:
        for of in (opledger.Opledger, opledger.Jobs):
            for name, call in vars(of).items():
                if name.startswith("_") or name in ("run", "each", "protocol"):
                    continue
                for argument in list(inspect.signature(call).parameters)[1:]:
                    with self.subTest(f"{of.__name__}.{name}({argument})"):
                        self.assertIn(f"            {argument}: ", call.__doc__ or "")

    def test_each_option_is_described(self) -> None:
        readme = (PACKAGE / "README.md").read_text()
        for option in opledger.JobOptions.__optional_keys__:
            with self.subTest(option):
                self.assertIn(f"                - {option}: ", opledger.Jobs.submit.__doc__ or "")
                self.assertIn(f"| `{option}` | ", readme)

    def test_the_client_that_awaits_is_described_as_the_other(self) -> None:
        self.assertEqual(docstrings.ASYNC.read_text(), docstrings.written(), "run python3 -m tests.docstrings")

    def test_both_clients_have_the_same_calls(self) -> None:
        for one, other in ((opledger.Opledger, opledger.AsyncOpledger), (opledger.Jobs, opledger.AsyncJobs)):
            self.assertEqual([n for n in vars(one) if n[0] != "_"], [n for n in vars(other) if n[0] != "_"])


if __name__ == "__main__":
    unittest.main()

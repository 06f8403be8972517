"""Tests of what becomes of google-genai's contents and config, and of results that the caller reads alone."""

from __future__ import annotations

import enum
import json
import sys
import threading
import types
import unittest
import unittest.mock
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

import opledger._requests as requests
from opledger import NotSettledError, Opledger, RefusedError, Result, ResultsError, request
from tests.serving import Serve, variables
from tests.test_docs import create_batch


class Model:
    """What Pydantic's models are to this package. As with theirs, what is no JSON in them cannot be dumped."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter([*self.fields.items(), ("labels", None)])

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> Any:
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        dumped: Any = json.loads(json.dumps(self.fields, default=dict))
        return dumped


class Answer:
    """A class of Pydantic, as a response_schema."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object"}


class Grade(enum.Enum):
    GOOD = "good"
    BAD = "bad"


USER: dict[str, Any] = {"role": "user", "parts": [{"text": "hello"}]}


class ContentsTest(unittest.TestCase):
    def test_all_that_google_genai_takes(self) -> None:
        file = Model(uri="https://x/files/a", mimeType="image/png")
        for given, wants in (
            ("hello", [USER]),
            (["hello"], [USER]),
            ({"parts": [{"text": "hello"}]}, [USER]),
            ({"parts": "hello", "role": "model"}, [{**USER, "role": "model"}]),
            (Model(parts=[{"text": "hello"}], role="user"), [USER]),
            ([USER, "hello"], [USER, USER]),
            ([["hello"]], [USER]),
            (["a", {"text": "b"}], [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]),
            (["a", USER, "b"], [
                {"role": "user", "parts": [{"text": "a"}]}, USER, {"role": "user", "parts": [{"text": "b"}]},
            ]),
            ([file, "hello"], [{"role": "user", "parts": [
                {"fileData": {"fileUri": "https://x/files/a", "mimeType": "image/png"}}, {"text": "hello"},
            ]}]),
        ):
            with self.subTest(given):
                self.assertEqual(request("a", given)["request"]["contents"], wants)
        for wrong in (None, 7, [None], object()):
            with self.subTest(wrong), self.assertRaises(ValueError):
                request("a", wrong)

    def test_each_setting_where_gemini_has_it(self) -> None:
        config: Any = {
            "temperature": 0, "max_output_tokens": 9, "topK": 2, "system_instruction": "Be brief.",
            "safety_settings": [{"category": "X"}], "tools": [{"google_search": {}}], "tool_config": {"a": 1},
            "cached_content": "cachedContents/x", "http_options": {"timeout": 1}, "stop_sequences": None,
            "thinking_config": {"thinking_budget": 0}, "response_schema": Answer, "speech_config": "Kore",
        }
        body = request("a", "hello", config)["request"]
        self.assertEqual(body, {
            "contents": [USER], "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "safetySettings": [{"category": "X"}], "tools": [{"google_search": {}}], "toolConfig": {"a": 1},
            "cachedContent": "cachedContents/x", "generationConfig": {
                "temperature": 0, "maxOutputTokens": 9, "topK": 2, "thinkingConfig": {"thinking_budget": 0},
                "responseJsonSchema": {"type": "object"},
                "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
            },
        })
        settings: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({"response_schema": Answer, "top_k": 1}, {"responseJsonSchema": {"type": "object"}, "topK": 1}),
            ({"response_json_schema": Answer}, {"responseJsonSchema": {"type": "object"}}),
            ({"response_schema": Grade}, {"responseSchema": {"type": "STRING", "enum": ["good", "bad"]}}),
            ({"thinking_config": Model(thinkingBudget=0)}, {"thinkingConfig": {"thinkingBudget": 0}}),
        ]
        for given, wants in settings:
            for config in (given, Model(**given)):
                with self.subTest(config):
                    line = json.loads(requests.line_of(("a", "hello"), config))
                    self.assertEqual(line["request"]["generationConfig"], wants)
        wrong: list[Any] = [
            {"tools": [print]}, Model(tools=[print]), {"response_schema": int}, {"response_schema": list[int]}, 7,
            {"labels": {"a": "b"}},
        ]
        without = unittest.mock.patch.dict(sys.modules, {"pydantic": None})
        for config in wrong:
            with self.subTest(config), without, self.assertRaises(ValueError):
                request("a", "hello", config)

    def test_a_schema_of_many(self) -> None:
        """A list of a class of Pydantic, which is the commonest schema of google-genai, and other types."""

        class TypeAdapter:
            def __init__(self, of: object) -> None:
                self.of = of

            def json_schema(self) -> dict[str, Any]:
                return {"of": str(self.of)}

        pydantic = types.ModuleType("pydantic")
        setattr(pydantic, "TypeAdapter", TypeAdapter)
        with unittest.mock.patch.dict(sys.modules, {"pydantic": pydantic}):
            for schema in (list[Answer], Optional[Answer], dict[str, int], int):
                for config in ({"response_schema": schema}, Model(response_schema=schema)):
                    with self.subTest(schema):
                        body = request("a", "hello", config)["request"]
                        self.assertEqual(body["generationConfig"], {"responseJsonSchema": {"of": str(schema)}})

    def test_what_is_no_request(self) -> None:
        """A text of two letters is no pair of a key and a prompt, and a dict of all has no order of its own."""

        class Row:
            def tolist(self) -> list[str]:
                return ["a", "hello"]

        wrong: list[Any] = ["ab", b"ab", {"a", "b"}, ("a", "b", "c"), object(), 7]
        for given in wrong:
            with self.subTest(given), self.assertRaisesRegex(ValueError, "neither a line"):
                requests.line_of(given)
        row: Any = Row()
        self.assertEqual(requests.line_of(row), requests.line_of(("a", "hello")))
        with self.assertRaisesRegex(ValueError, r"give its items\(\)"):
            several: Any = {"a": "hello"}
            Opledger("http://127.0.0.1:1").jobs.submit("a", several, model="m")

    def test_lines(self) -> None:
        """Lines keep what they have, and get what all have; inline requests of google-genai are converted."""
        shared = {"temperature": 0, "top_k": 1}
        for given, wants in (
            (("a", "hello"), {"contents": [USER], "generationConfig": {"temperature": 0, "topK": 1}}),
            ({"key": "a", "request": {"contents": [USER], "generationConfig": {"topK": 7}}},
             {"contents": [USER], "generationConfig": {"temperature": 0, "topK": 7}}),
            ({"key": "a", "request": {"contents": "hello", "config": {"temperature": 2}}},
             {"contents": [USER], "generationConfig": {"temperature": 2, "topK": 1}}),
            ({"key": "a", "request": Model(contents=["hello"], config=Model(temperature=2), model="m", metadata={})},
             {"contents": [USER], "generationConfig": {"temperature": 2, "topK": 1}}),
        ):
            with self.subTest(given):
                line = requests.line_of(given, shared)  # type: ignore[arg-type]
                self.assertTrue(line.startswith(b'{"key":"a","request":{') and line.endswith(b"}\n"))
                self.assertEqual(json.loads(line)["request"], wants)
        with self.assertRaisesRegex(ValueError, "'a' cannot be JSON: .* is of set"):
            requests.line_of(("a", "hello"), {"stop_sequences": {"x"}})
        plain = b'{"key":"\xc3\xbc","request":{"contents":[]}}\n'
        self.assertEqual(requests.line_of(json.loads(plain)), plain)

    def test_text_of_a_result(self) -> None:
        parts = [{"text": "thinking", "thought": True}, {"text": "a"}, {"inlineData": {}}, {"text": "b"}]
        response = {"candidates": [{"content": {"parts": parts}}], "usageMetadata": {"totalTokenCount": 3}}
        result = Result.of({"key": "a", "response": response})
        self.assertEqual((result.text, result.usage, result.outcome), ("ab", {"totalTokenCount": 3}, "done"))
        for line in ({"key": "a", "error": {"message": "no"}}, {"key": "a", "response": {"candidates": []}}):
            self.assertEqual(Result.of(line).text, "")
        failed = Result.of({"key": "a", "error": {"message": "no"}, "outcome": "refused", "attempts": 2})
        self.assertEqual((failed.why, failed.outcome, failed.attempts), ("no", "refused", 2))


class Register(BaseHTTPRequestHandler):
    """The deployed function, as far as results go: it reads none."""

    status, headers_, body = 501, dict[str, str](), b'{"error":{"message":"this function reads no results"}}'

    def do_GET(self) -> None:
        self.send_response(self.status)
        for name, value in {**self.headers_, "Content-Length": str(len(self.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the tests quiet."""


class ResultsTest(unittest.TestCase):
    def server(self, **answer: Any) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (Register,), answer))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_deployed_gemini_is_asked_with_the_own_key(self) -> None:
        serve = Serve()
        self.addCleanup(serve.close)
        with variables(**serve.exports):
            client = Opledger(serve.url)
            name = client.wait(client.submit_once("own", create_batch, collection="batches").operation.key).key
            there = sorted(result.key for result in client.results(name))
            deployed = Opledger(self.server())
            self.assertEqual(sorted(result.key for result in deployed.results(name)), there)
            self.assertTrue(there)
            with self.assertRaises(RefusedError):
                list(deployed.results("batches/none"))
        with variables(GEMINI_API_KEY=""), self.assertRaises(RefusedError) as raised:
            list(Opledger(self.server()).results(name))
        self.assertEqual(raised.exception.status, 501)

    def test_results_that_are_not_whole(self) -> None:
        line = b'{"key":"a","response":{}}\n'
        read: list[Result] = []
        with self.assertRaisesRegex(ResultsError, "3 requests.* 1 lines"):
            client = Opledger(self.server(status=200, headers_={"Opledger-Requests": "3"}, body=line))
            for result in client.results("batches/x"):
                read.append(result)
        self.assertEqual(len(read), 1)
        record = json.dumps({"key": "jobs/x", "name": "jobs/x", "state": "PENDING", "result": {}}).encode()
        with self.assertRaises(NotSettledError):
            url = self.server(status=200, headers_={"Opledger-Complete": "false"}, body=record)
            list(Opledger(url).jobs.results("x"))


if __name__ == "__main__":
    unittest.main()

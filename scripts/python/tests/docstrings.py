"""Gives the calls of the client that awaits the docstrings of those that block, without their examples.

    python3 -m tests.docstrings

writes opledger/_async.py again. An editor shows docstrings that stand in the file alone, so each stands there.
"""

from __future__ import annotations

import ast

from tests.serving import PACKAGE

ASYNC = PACKAGE / "opledger" / "_async.py"
OF = {"AsyncOpledger": "Opledger", "AsyncJobs": "Jobs"}
INDENT = " " * 8


def calls(text: str) -> dict[tuple[str, str], ast.Expr]:
    """Returns the docstring of each public method, by class and name."""
    found: dict[tuple[str, str], ast.Expr] = {}
    for of in ast.parse(text).body:
        for call in of.body if isinstance(of, ast.ClassDef) else []:
            if isinstance(call, (ast.FunctionDef, ast.AsyncFunctionDef)) and not call.name.startswith("_"):
                assert isinstance(of, ast.ClassDef) and isinstance(call.body[0], ast.Expr), call.name
                found[of.name, call.name] = call.body[0]
    return found


def written() -> str:
    """Returns what opledger/_async.py should be."""
    source = (PACKAGE / "opledger" / "_client.py").read_text()
    blocking = {of: ast.get_source_segment(source, doc) or "" for of, doc in calls(source).items()}
    text = ASYNC.read_text()
    lines = text.splitlines()
    for (of, name), doc in sorted(calls(text).items(), key=lambda item: -item[1].lineno):
        if of not in OF:
            continue
        said, example, _ = blocking[OF[of], name].partition(f"\n\n{INDENT}Example:\n")
        if example:
            said += f'\n{INDENT}"""' if "\n" in said else '"""'
        lines[doc.lineno - 1:doc.end_lineno] = (INDENT + said).splitlines()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    ASYNC.write_text(written())

"""Submits a job to Gemini, once for its id however often it is started.

    python submit.py batch files/reviews reviews-2026-11-22
    python submit.py batch reviews.jsonl reviews-2026-11-22
    python submit.py video 'a cat on a train' cat-17
    python submit.py interaction 'Summarise the reviews of November' summary-2026-11

The last word is an id of your own, which no other job has. Where an earlier run with it died, this
one waits until opledger knows whether that submitted, for PATIENCE seconds at most, 900 if it is not
set. With --stdlib first no package is
needed; else google-genai is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from opledger_client import (
    Collection, Mark, NotSettledError, Opledger, OpledgerError, SubmitError, check_requests,
)

COLLECTIONS: dict[str, Collection] = {
    "batch": "batches", "video": "operations", "interaction": "interactions",
}


def run(
    create: Mapping[str, Callable[[str, Mark], str]],
    upload: Callable[[str], str],
    kind: str,
    what: str,
    correlation_id: str,
) -> None:
    url = os.environ.get("OPLEDGER_URL", "http://127.0.0.1:8080")
    opledger = Opledger(url)
    if kind == "batch" and not what.startswith("files/"):  # before the intent: it may take long
        print(check_requests(what), "requests are uploaded", flush=True)
        what = upload(what)
    submitted = opledger.submit_once(
        correlation_id,
        lambda mark: create[kind](what, mark),
        collection=COLLECTIONS[kind],
        job_kind=f"example-{kind}",
        patience=float(os.environ.get("PATIENCE", "900")),
    )
    key = submitted.operation.key
    print(key, "was submitted before" if submitted.known else "submitted", flush=True)
    print(key, opledger.wait(key).state)


def main(arguments: list[str]) -> None:
    stdlib = arguments[:1] == ["--stdlib"]
    if stdlib:
        arguments = arguments[1:]
    if len(arguments) != 3 or arguments[0] not in COLLECTIONS:
        sys.exit(__doc__)
    if "GEMINI_API_KEY" not in os.environ:  # before the intent is recorded
        sys.exit("GEMINI_API_KEY is not set; opledger serve --simulate prints one")
    if stdlib:
        from gemini_stdlib import CREATE, upload
    else:
        try:
            from gemini_sdk import CREATE, upload
        except ModuleNotFoundError as missing:
            sys.exit(f"{missing}: pip install -r requirements.txt, or give --stdlib first")
    try:
        run(CREATE, upload, *arguments)
    except (OSError, ValueError, OpledgerError, SubmitError, NotSettledError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

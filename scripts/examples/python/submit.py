"""Submits a job to Gemini, once for its id however often it is started.

    python submit.py batch files/reviews reviews-2026-11-22
    python submit.py batch reviews.jsonl reviews-2026-11-22
    python submit.py video 'a cat on a train' cat-17
    python submit.py interaction 'Summarise the reviews of November' summary-2026-11

The last word is an id of your own, which no other job has. Where an earlier run with it died, this
one waits until opledger knows whether that submitted, for PATIENCE seconds at most, 900 if it is not
set. With --stdlib first no package but opledger is needed; else google-genai is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from opledger import Collection, Mark, Opledger, OpledgerError, check_requests, said

COLLECTIONS: dict[str, Collection] = {
    "batch": "batches", "video": "operations", "interaction": "interactions",
}

Create = Mapping[str, Callable[[str, Mark], str]]
Upload = Callable[[str], str]


def gemini(stdlib: bool) -> tuple[Create, Upload]:
    if not os.environ.get("GEMINI_API_KEY"):
        raise ValueError("GEMINI_API_KEY is not set; opledger serve --simulate prints one")
    if stdlib:
        import gemini_stdlib

        return gemini_stdlib.CREATE, gemini_stdlib.upload
    try:
        import gemini_sdk
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"{missing}: pip install -r requirements.txt, or give --stdlib first"
        ) from None
    return gemini_sdk.CREATE, gemini_sdk.upload


def client() -> Opledger:
    return Opledger(os.environ.get("OPLEDGER_URL", "http://127.0.0.1:8080"))


def patience() -> float:
    text = os.environ.get("PATIENCE", "900")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"PATIENCE is {text!r}; set it to a number of seconds, such as 900")
    return seconds


def mistakes(*checks: Callable[[], object]) -> list[str]:
    """Returns what each of the checks finds, so that all of it can be corrected at once."""
    found = []
    for check in checks:
        try:
            check()
        except (OSError, ValueError) as error:
            found.append(str(error))
    return found


def is_file(kind: str, what: str) -> bool:
    """Whether it is a file of requests on this machine, and not one that Gemini has."""
    return kind == "batch" and not what.startswith("files/")


def run(create: Create, upload: Upload, kind: str, what: str, correlation_id: str) -> None:
    opledger = client()
    submitted = None
    if is_file(kind, what) and not (submitted := opledger.find(correlation_id)):
        what = upload(what)  # before the intent: it may take long
    submitted = submitted or opledger.submit_once(
        correlation_id,
        lambda mark: create[kind](what, mark),
        collection=COLLECTIONS[kind],
        job_kind=f"example-{kind}",
        patience=patience(),
    )
    key = submitted.operation.key
    print(key, "was submitted before" if submitted.known else "submitted", flush=True)
    print("waits until it ends, ten minutes at most; it may be stopped", file=sys.stderr)
    print(key, opledger.wait(key).state)


def main(arguments: list[str]) -> None:
    stdlib = arguments[:1] == ["--stdlib"]
    if stdlib:
        arguments = arguments[1:]
    if len(arguments) != 3 or arguments[0] not in COLLECTIONS:
        sys.exit(__doc__)
    kind, what, correlation_id = arguments

    def requests() -> None:
        if is_file(kind, what):
            print(check_requests(what), "requests in", what, flush=True)

    found = mistakes(
        lambda: gemini(stdlib), client, patience, lambda: Mark(correlation_id), requests
    )
    if found:
        sys.exit("\n".join(found))
    try:
        run(*gemini(stdlib), kind, what, correlation_id)
    except OpledgerError as error:
        sys.exit(str(error))
    except (OSError, ValueError) as error:
        sys.exit(said(error))


if __name__ == "__main__":
    main(sys.argv[1:])

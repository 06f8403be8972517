"""A client of opledger: submit an operation to Gemini once, wait until it ends, read its results.

    from opledger import Opledger

    client = Opledger()  # OPLEDGER_URL, or serve on this machine
    rows = [("a", "Is it good? It broke."), ("b", "Is it good? I like it.")]  # any iterable, or a file
    client.jobs.submit("reviews-1", rows, model="gemini-3.5-flash", max_failures="2%")
    client.jobs.wait("reviews-1")
    for result in client.jobs.results("reviews-1"):
        print(result.key, result.outcome, result.text)

One operation that your own call of Gemini creates needs that call, which sends one request with the mark in it and
returns the name that Gemini gives:

    submitted = client.submit_once("reviews-2026-11-22", create, collection="batches")
    ended = client.wait(submitted.operation.key)
    results = {result.key: result.text for result in client.results(ended.key)}

AsyncOpledger has the same calls for asyncio. Verifier and Inbox are for those who receive effects. It needs Python
3.10 and the standard library, nothing else.
"""

from typing import TYPE_CHECKING

from ._client import Jobs, Opledger
from ._errors import (
    AccessError, AnsweredError, CompletionError, ConflictError, NotFoundError, NotSentError, NotSettledError,
    OpledgerError, RefusedError, ResultsError, SignatureError, SubmitError, UnavailableError, said,
)
from ._inbox import Inbox
from ._model import Collection, Completion, Job, JobLimits, JobOptions, Mark, Operation, Result, Submitted
from ._requests import check_requests, request
from ._transport import checked_url, google_token, opener
from ._version import __version__
from ._webhook import Verifier

if TYPE_CHECKING:
    from ._async import AsyncJobs, AsyncOpledger
else:

    def __getattr__(name: str) -> object:
        """Imports asyncio only where it is used: it is a third of what this package takes to import."""
        if name not in ("AsyncJobs", "AsyncOpledger"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import _async

        return getattr(_async, name)

__all__ = [
    "AccessError", "AnsweredError", "AsyncJobs", "AsyncOpledger", "Collection", "Completion", "CompletionError",
    "ConflictError", "Inbox", "Job", "JobLimits", "JobOptions", "Jobs", "Mark", "NotFoundError", "NotSentError",
    "NotSettledError", "Operation", "Opledger", "OpledgerError", "RefusedError", "Result", "ResultsError",
    "SignatureError", "SubmitError", "Submitted", "UnavailableError", "Verifier", "__version__", "check_requests",
    "checked_url", "google_token", "opener", "request", "said",
]

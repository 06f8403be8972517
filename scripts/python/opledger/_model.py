"""What the ledger says, as objects. Each keeps all that the server answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Union, cast

Tolerance = Union[int, str]  # a number of requests, or a share of them such as "2%"
Collection = Literal["batches", "operations", "interactions"]  # of batches, videos, interactions

REPORTED = ("outputFile", "inline", "errorCode", "errorMessage", "counts")
TERMINAL = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"})


class JobLimits(TypedDict, total=False):
    """The options of a job that may change while it runs. Jobs.submit says what each is.

    Example:
        >>> limits: JobLimits = {"max_batches": 5, "max_failures": "2%"}
    """

    max_batches: int
    max_failures: Tolerance
    stop_after: Tolerance
    deadline: str
    max_cost: float
    priority: int
    cancel_after_seconds: int


class JobOptions(JobLimits, total=False):
    """The options of a job. Jobs.submit says what each is.

    Example:
        >>> options: JobOptions = {"max_attempts": 5, "validate": "json", "max_failures": 20}
        >>> Opledger().jobs.submit("doc-options", [("a", "Hello")], model="gemini-3.5-flash", **options).known
        False
    """

    max_attempts: int
    retry_on: Sequence[Literal["invalid", "truncated"]]
    validate: Literal["json", "schema", ""]
    pilot: int
    pilot_failures: Tolerance
    embed: bool
    max_requests_per_batch: int
    max_bytes_per_batch: int


def no_json() -> Mapping[str, Any]:
    """Returns an empty object of JSON."""
    return {}


def fields(value: object) -> dict[str, Any]:
    """Returns the members of an object of JSON; none of what is no object."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


@dataclass(frozen=True)
class Mark:
    """What an operation must carry, so that it is found even if its submitter dies.

    Raises:
        ValueError: The id cannot be carried.

    Example:
        >>> mark = Mark("reviews-1")
        >>> mark.display_name("my reviews")
        'my reviews opledger:reviews-1'
        >>> mark.user_metadata({"tenant": "a"})
        {'tenant': 'a', 'opledger_correlation_id': 'reviews-1'}
    """

    correlation_id: str

    def __post_init__(self) -> None:
        value = cast(object, self.correlation_id)
        if not isinstance(value, str):
            raise ValueError(f"the correlation id {value!r} is not a text")
        fits = 1 <= len(value.encode(errors="replace")) <= 100 and value.isprintable()
        if not fits or " " in value or "\ufffd" in value:
            raise ValueError(f"the correlation id {value!r} is not 1 to 100 printable bytes, no spaces")

    def display_name(self, own: str = "") -> str:
        """Returns the display name of a batch: own, cut to fit, and the id, as Gemini lists it."""
        mark = f"opledger:{self.correlation_id}"
        room = 128 - len(f" {mark}".encode())
        return f"{own.strip().encode()[:room].decode(errors='ignore')} {mark}".strip()

    def user_metadata(self, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the user metadata of a webhook config: own, and the id, which events repeat."""
        return {**(own or {}), "opledger_correlation_id": self.correlation_id}


@dataclass(frozen=True)
class Operation:
    """The ledger's record of an operation.

    Attributes:
        key: Such as "batches/abc123".
        name: As Gemini gave it.
        state: PENDING, RUNNING, REQUIRES_ACTION, SUCCEEDED, FAILED, CANCELLED or EXPIRED.
        result: outputFile, inline, errorCode, errorMessage, counts; None where Gemini did not report it.
        record: All that opledger answered.

    Example:
        >>> operation = Opledger().register("batches/doc-model", job_kind="models")
        >>> operation.key, operation.state, operation.job_kind, operation.settled
        ('batches/doc-model', 'PENDING', 'models', False)
    """

    key: str
    name: str
    state: str
    result: Mapping[str, Any]
    record: Mapping[str, Any] = field(default_factory=no_json)

    @property
    def settled(self) -> bool:
        """Whether the operation has ended."""
        return self.state in TERMINAL

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return self.state == "SUCCEEDED"

    @property
    def correlation_id(self) -> str:
        """The submitter's id of it; empty where it has none."""
        return str(self.record.get("correlationId", ""))

    @property
    def job_kind(self) -> str:
        """Its kind, which selects effects."""
        return str(self.record.get("jobKind", ""))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the submitter said of it."""
        return fields(self.record.get("metadata"))

    @property
    def error(self) -> str:
        """Why it failed, as Gemini said; empty where it did not."""
        return str(self.result.get("errorMessage") or self.result.get("errorCode") or "")


@dataclass(frozen=True)
class Submitted:
    """The operation of a correlation id.

    Attributes:
        operation: Its record.
        known: An earlier call submitted it.

    Example:
        >>> submitted = Opledger().submit_once("doc-submitted", create_batch, collection="batches")
        >>> submitted.operation.correlation_id, submitted.known
        ('doc-submitted', False)
    """

    operation: Operation
    known: bool


@dataclass(frozen=True)
class Job:
    """How far a job is: a file of requests that becomes a file of results.

    Attributes:
        key: Such as "jobs/nightly".
        state: PENDING until it has ended; then SUCCEEDED, FAILED, CANCELLED or EXPIRED.
        counts: The requests by outcome: done, invalid, truncated, refused, failed; and the lines of results that
            are unmatched.
        open: The requests that have no outcome yet.
        progress: All that opledger answered.
        known: Of the answer to jobs.submit: an earlier call submitted it. Of any other answer: False.

    Example:
        >>> job = Opledger().jobs.submit("doc-model", [("a", "Hello")], model="gemini-3.5-flash")
        >>> job.id, job.open, job.known
        ('doc-model', 1, False)
    """

    key: str
    state: str
    counts: Mapping[str, int]
    open: int
    progress: Mapping[str, Any]
    known: bool = False

    @property
    def id(self) -> str:
        """The id that its submitter gave it."""
        return self.key.removeprefix("jobs/")

    @property
    def settled(self) -> bool:
        """Whether it has ended."""
        return self.state in TERMINAL

    @property
    def succeeded(self) -> bool:
        """Whether it has ended, with no more failures than it may have."""
        return self.state == "SUCCEEDED"

    @property
    def why(self) -> str:
        """Why a job that has ended did not succeed."""
        return str(self.progress.get("why", ""))


@dataclass(frozen=True)
class Result:
    """What became of one request of a batch or a job.

    Attributes:
        key: The key of the request; empty where Gemini lost it.
        response: Gemini's response; None where there is none.
        error: Why there is none, as Gemini or opledger says.
        outcome: Of a job: done, invalid, truncated, refused or failed. Of a batch: done or failed.
        line: The whole line.

    Example:
        >>> Result.of({"key": "a", "response": {"candidates": [
        ...     {"content": {"parts": [{"text": "good"}]}}]}}).text
        'good'
    """

    key: str
    response: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    outcome: str
    line: Mapping[str, Any]

    @staticmethod
    def of(line: Mapping[str, Any]) -> Result:
        """Returns the result that a line says."""
        response, error = line.get("response"), line.get("error")
        outcome = line.get("outcome") or ("done" if response is not None else "failed")
        return Result(str(line.get("key", "")), response, error, str(outcome), line)

    @property
    def text(self) -> str:
        """The text of the first candidate, without thoughts; empty where it has none."""
        candidates: list[Any] = fields(self.response).get("candidates") or [None]
        parts: list[Any] = fields(fields(candidates[0]).get("content")).get("parts") or []
        texts = [part["text"] for part in map(fields, parts) if "text" in part and not part.get("thought")]
        return "".join(map(str, texts))

    @property
    def usage(self) -> Mapping[str, Any]:
        """Gemini's usageMetadata of the response; empty where there is none."""
        return fields(fields(self.response).get("usageMetadata"))

    @property
    def why(self) -> str:
        """Why it is not done; empty where it is."""
        return str(self.line.get("why") or fields(self.error).get("message") or "")

    @property
    def attempts(self) -> int:
        """How often the request was sent; 0 where it is not known."""
        return int(self.line.get("attempts", 0))


@dataclass(frozen=True)
class Completion:
    """What an effect sends: an operation has ended, or an item of a batch is there.

    Attributes:
        idempotency_key: The same in every repeat.
        operation: Such as "batches/abc123".
        state: How it ended.
        result: As of an Operation.
        item: key, and response or error; of an effect once per item.
        payload: All that opledger sent.

    Example:
        >>> completion = Completion("gemini:batches/abc#publish", "batches/abc", "SUCCEEDED", {}, None, {})
        >>> completion.idempotency_key
        'gemini:batches/abc#publish'
    """

    idempotency_key: str
    operation: str
    state: str
    result: Mapping[str, Any]
    item: Mapping[str, Any] | None
    payload: Mapping[str, Any]

    @property
    def trace_parent(self) -> str:
        """The W3C trace context of the submission; empty where it had none."""
        return str(self.payload.get("traceParent") or "")


def operation_of(record: Mapping[str, Any]) -> Operation:
    """Returns the operation that an answer describes."""
    return Operation(str(record["key"]), str(record["name"]), str(record["state"]), record["result"], record)


def job_of(progress: Mapping[str, Any], known: bool = False) -> Job:
    """Returns the job that an answer describes."""
    counts = {name: int(n) for name, n in progress["counts"].items() if isinstance(n, (int, float))}
    return Job(str(progress["key"]), str(progress["state"]), counts, int(progress["open"]), progress, known)

"""What the package raises. Every error is an OpledgerError; a wrong argument is a ValueError."""

from __future__ import annotations

import json
import time
import urllib.error
from collections.abc import Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._model import Operation

Outcome = Literal["refused", "earlier-run", "unanswered", "unregistered"]

_LAST = 253402300799.0  # the end of the year 9999, the last that a time of day has
_SERVE_ALONE = "opledger serve has this route, the deployed function has not; check the URL"


class OpledgerError(Exception):
    """The base of every error of this package. Its text ends with what to do.

    Attributes:
        status: The HTTP status of the answer; 0 where there was none.
        message: What the server said, or what happened, without what to do.
        problems: Every problem of an invalid request.
        reason: A word for programs; empty where the server gave none.
        retry_after: The seconds after which the same call may get through.

    Example:
        >>> error = OpledgerError("the store is away", status=503)
        >>> str(error)
        'the store is away; try again later: opledger does nothing twice'
        >>> error.status
        503
    """

    def __init__(
        self, message: str, *, status: int = 0, problems: Sequence[str] = (), reason: str = "",
        retry_after: float = 0.0, remedy: str = "",
    ) -> None:
        super().__init__(f"{message}; {remedy or _remedy(status)}")
        self.message = message
        self.status = status
        self.problems = tuple(problems)
        self.reason = reason
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets another process have it, as multiprocessing does: the arguments of each error are its own."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[OpledgerError], args: tuple[Any, ...], state: dict[str, Any]) -> OpledgerError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class UnavailableError(OpledgerError):
    """No answer came, or none but "try again later", in the time and the repeats that the call has.

    Example:
        >>> try:
        ...     Opledger("http://127.0.0.1:1").operation("batches/abc", timeout=0)
        ... except UnavailableError as error:
        ...     error.status
        0
    """


class RefusedError(OpledgerError):
    """The server refused the request: the same request is refused again.

    Example:
        >>> try:
        ...     Opledger().register("no name")
        ... except RefusedError as error:
        ...     error.status, len(error.problems) > 0
        (400, True)
    """


class AccessError(RefusedError):
    """401 or 403: the token is missing or wrong, or the caller may not do this. 0: the token cannot be sent.

    Example:
        >>> try:
        ...     Opledger(token="two words").operation("batches/abc")
        ... except AccessError as error:
        ...     error.status  # it is not sent
        0
    """


class NotFoundError(RefusedError):
    """404: the ledger has no such operation, job or intent.

    Example:
        >>> try:
        ...     Opledger().operation("batches/never")
        ... except NotFoundError as error:
        ...     error.status
        404
    """


class ConflictError(RefusedError):
    """409: what is there differs, such as another job with this id, or has not ended or has ended.

    Example:
        >>> issubclass(ConflictError, RefusedError)  # jobs.cancel has one that is raised
        True
    """


class SubmitError(OpledgerError):
    """submit_once did not end with a registered operation.

    Attributes:
        outcome: What runs at Gemini.

            - "refused": nothing. The cause is Gemini's answer, or that it was not reached. The id may
              be used again at once.
            - "earlier-run": perhaps what an earlier call submitted. Nothing was submitted now.
            - "unanswered": perhaps one operation. The cause is what create raised.
            - "unregistered": the operation called name. The cause is why it is not registered.
        correlation_id: The id of the call.
        name: The operation, where it is known.
        retryable: The same call, made again later, gets through without an operator.

    Example:
        >>> def refused(mark):
        ...     raise AnsweredError(400, "no such model")
        >>> try:
        ...     Opledger().submit_once("doc-refused", refused, collection="batches")
        ... except SubmitError as error:
        ...     error.outcome, error.retryable
        ('refused', False)
    """

    def __init__(
        self, outcome: Outcome, correlation_id: str, why: object, *, name: str = "", retryable: bool = False,
        retry_after: float = 0.0, status: int = 0,
    ) -> None:
        when = f"try again after {time_in(retry_after)}" if retry_after else "call it again"
        later = "if it runs, its event or a reconcile pass registers it"
        again = f"{when}, with the same id" if retryable else later
        free = "call it again later" if retryable else "correct the request; the id is free"
        message, remedy = {
            "refused": (f"Gemini {why}, and nothing runs", free),
            "earlier-run": ("an earlier run may have submitted it", again),
            "unanswered": (f"no answer says whether it was submitted ({why})", again),
            "unregistered": (
                f"{name} runs, but is not registered ({why})",
                "its event or a reconcile pass registers it, or register",
            ),
        }[outcome]
        super().__init__(f"{correlation_id}: {message}", status=status, retry_after=retry_after, remedy=remedy)
        self.outcome: Outcome = outcome
        self.correlation_id = correlation_id
        self.name = name
        self.retryable = retryable


class AnsweredError(OpledgerError):
    """create raises it with the status of Gemini's answer to the creation, and what that says.

    Only create knows: the same status may come from a second request, or of another server.

    Example:
        >>> AnsweredError(429, "slow down").status
        429
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why, status=status, remedy=_remedy(status))


class NotSentError(OpledgerError):
    """create raises it where no connection to Gemini was made, so that nothing runs.

    Only create knows: the same error of the network may come from a second request, or of a
    program of its own.

    Example:
        >>> str(NotSentError("no route"))
        'no route; try again later: opledger does nothing twice'
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)


class NotSettledError(OpledgerError, TimeoutError):
    """The time of a wait was over before the operation had ended.

    Attributes:
        operation: Its record as it was last. Where opledger never answered, the record has no state.

    Example:
        >>> try:
        ...     Opledger().wait(Opledger().register("batches/doc-open").key, timeout=0)
        ... except NotSettledError as error:
        ...     error.operation.state
        'PENDING'
    """

    def __init__(self, operation: Operation, why: object = None, *, status: int = 0) -> None:
        state = f"{operation.state or 'unknown'}{f' ({why})' if why else ''}"
        super().__init__(f"{operation.key} is still {state}", status=status, remedy="wait again")
        self.operation = operation


class ResultsError(OpledgerError):
    """The results are not whole: what was read so far is all that came.

    Example:
        >>> str(ResultsError("2 lines are missing", remedy="read them again"))
        '2 lines are missing; read them again'
    """


class SignatureError(OpledgerError):
    """A request is not signed with the secret, or is too old. Answer 401: it is sent again.

    Example:
        >>> try:
        ...     Verifier("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").verify({}, b"{}")
        ... except SignatureError as error:
        ...     error.status
        401
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, status=401, remedy="answer 401")


class CompletionError(OpledgerError):
    """A signed body is not what an effect sends. Answer 400: it is not opledger's.

    Example:
        >>> CompletionError("it has no operation").status
        400
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, status=400, remedy="answer 400")


def error_of(status: int) -> type[OpledgerError]:
    """Returns what is raised for a status."""
    if _passes(status):
        return UnavailableError
    return {401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError}.get(status, RefusedError)


def said(error: BaseException) -> str:
    """Returns the text of an error, of ours without what to do, and of urllib's with the reason in the body.

    Example:
        >>> said(AnsweredError(429, "slow down"))
        'slow down'
    """
    if isinstance(error, OpledgerError):
        return error.message
    if not isinstance(error, urllib.error.HTTPError):
        return str(error)
    try:
        text = error.read(1 << 16).decode(errors="replace")
    except (OSError, HTTPException, ValueError):
        text = ""
    try:
        text = str(json.loads(text)["error"]["message"])
    except (ValueError, TypeError, KeyError):
        text = text[:200]
    return f"{error}: {text.strip()}" if text.strip() else str(error)


def time_in(seconds: float) -> str:
    """Returns the time in some seconds, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(time.time() + seconds, _LAST)))


def _passes(status: int) -> bool:
    """Whether the same request may be answered later; 0: it was not answered."""
    return status in (0, 408, 429) or status >= 500 and status != 501


def _remedy(status: int) -> str:
    if _passes(status):
        return "try again later: opledger does nothing twice"
    return {
        400: "correct the request",
        401: "send a valid token: what serve prints sets OPLEDGER_TOKEN_FILE, and Register takes an "
        "identity token for its URL",
        403: "let the caller in: roles/run.invoker on Register, or serve's --allow-host",
        404: "check the URL and the name, and register the operation first",
        405: _SERVE_ALONE,
        409: "read what is there, and decide",
        413: "send less metadata",
        501: _SERVE_ALONE,
    }.get(status, "check the URL")

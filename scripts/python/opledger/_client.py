"""The client that blocks."""

from __future__ import annotations

import itertools
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast

from ._model import Collection, Job, JobLimits, JobOptions, Mark, Operation, Result, Submitted
from ._protocol import Command, Emit, Kind, Pause, Plan, Protocol, Send, Stream, Take
from ._requests import Request
from ._transport import Token, Transport, check_token_of_environment, checked_url, google_token

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of which type checkers know, also where it is not installed

T = TypeVar("T")
Requests = Union[str, "os.PathLike[str]", Iterable[Request]]

TOLERANCES = ("max_failures", "stop_after", "pilot_failures")

LOCAL = "http://127.0.0.1:8080"
GEMINI = "https://generativelanguage.googleapis.com"
STORAGE = "https://storage.googleapis.com"


class Opledger:
    """A client of opledger serve, or of the function Register. Threads may share it.

    Every call repeats its requests while opledger is away, as long as it may: at opledger nothing is done twice.

    Args:
        url: Where opledger is; empty: OPLEDGER_URL, or serve on this machine.
        token: Sent as a bearer token: a text, a path whose file is read at each request, or a function that returns
            a valid one, such as google_token(url). None: OPLEDGER_TOKEN, or OPLEDGER_TOKEN_FILE, which serve makes.
        timeout: Seconds after which a call gives up, repeats included. A download has them again whenever it came
            further.
        max_retries: How often a request is repeated at most; None: as often as timeout allows.
        storage: Deployed: the job storage, gs://BUCKET/PREFIX, to which the inputs of jobs are uploaded, and where
            their results are. With serve it is not needed.
        storage_token: The token for the bucket; None: google-auth's.
        gemini_api_key: Deployed: for results that only Gemini has; empty: GEMINI_API_KEY.
        traceparent: Returns the W3C trace context of a submission; None: OpenTelemetry's, where the program uses it.
        sleep: Waits, for tests.
        clock: The time in seconds, for tests.
        uniform: Randomness, for tests.

    Raises:
        ValueError: An address is none, or the file of the token cannot be read.

    Example:
        >>> client = Opledger()
        >>> client.register("batches/doc-first", job_kind="reviews").state
        'PENDING'
    """

    jobs: Jobs

    def __init__(
        self, url: str = "", token: Token = None, *, timeout: float = 90.0, max_retries: int | None = None,
        storage: str = "", storage_token: Token = None, gemini_api_key: str = "",
        traceparent: Callable[[], str] | None = None, sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic, uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._protocol, self._transport = connect(
            url, token, timeout, max_retries, storage, storage_token, gemini_api_key, traceparent, clock, uniform,
        )
        self._sleep = sleep
        self.jobs = Jobs(self)

    def run(self, plan: Plan[T]) -> T:
        """Carries out a plan of the protocol. It is for this package."""
        try:
            command = next(plan)
            while True:
                try:
                    brought = self._perform(command)
                except Exception as error:
                    command = plan.throw(error)
                else:
                    command = plan.send(brought)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            plan.close()

    def each(self, stream: Stream[T]) -> Iterator[T]:
        """Carries out a plan, and yields what it emits. It is for this package."""
        try:
            command = next(stream)
            while True:
                brought = None
                if isinstance(command, Emit):
                    yield command.value
                else:
                    try:
                        brought = self._perform(command)
                    except Exception as error:
                        command = stream.throw(error)
                        continue
                command = stream.send(brought)
        except StopIteration:
            return
        finally:
            stream.close()

    def _perform(self, command: Command) -> Any:
        if isinstance(command, Send):
            return self._transport.send(command)
        if isinstance(command, Pause):
            return self._sleep(command.seconds)
        if isinstance(command, Take):
            return list(itertools.islice(cast("Iterator[Any]", command.elements), command.most))
        return command.function(command.argument)

    @property
    def protocol(self) -> Protocol:
        """The plans of its calls. It is for this package."""
        return self._protocol

    def submit_once(
        self, correlation_id: str, create: Callable[[Mark], str], *, collection: Collection, job_kind: str = "",
        metadata: Mapping[str, Any] | None = None, patience: float = 900.0, traceparent: str = "",
        timeout: float | None = None, max_retries: int | None = None,
    ) -> Submitted:
        """Submits an operation, once for a correlation id, however often it is called.

        It records the intent, calls create, and registers the name that create returns. create sends Gemini one
        request, within a minute, which carries the mark, and never repeats it: Gemini would run, and charge for,
        both. Where that failed it raises AnsweredError with the status of Gemini's answer, or NotSentError: where
        nothing runs, the id is free at once. After any other error it may run. What an earlier call submitted is
        returned, and create not called. Upload files before, where find knows of no such operation.

        Where an earlier call died, opledger finds out from Gemini's list of batches whether it submitted: five
        minutes after it, and a reconcile pass. This call waits for that, and logs that it does. Videos and
        interactions cannot be listed, and an operator finds out.

        Args:
            correlation_id: An id of your own, which no other operation has.
            create: Creates the operation at Gemini, and returns the name that Gemini gives.
            collection: "batches", "operations" for a video, or "interactions".
            job_kind: Selects the effects that run for it.
            metadata: What the effects are told of it.
            patience: Seconds for which it waits for what an earlier call did.
            traceparent: The W3C trace context; empty: that of the client.
            timeout: Seconds after which each request is given up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            ValueError: The id cannot be carried, or the metadata cannot be JSON. Nothing was submitted.
            OpledgerError: The intent was not recorded. Nothing was submitted.
            SubmitError: All else; its outcome says what runs.

        Example:
            >>> client = Opledger()
            >>> submitted = client.submit_once("doc-batch", create_batch, collection="batches")
            >>> submitted.known, client.submit_once("doc-batch", create_batch, collection="batches").known
            (False, True)
        """
        return self.run(self.protocol.submit_once(
            correlation_id, create, collection, job_kind, metadata, patience, traceparent, timeout, max_retries,
        ))

    def find(
        self, correlation_id: str, *, timeout: float | None = None, max_retries: int | None = None,
    ) -> Submitted | None:
        """Returns what an earlier call submitted; None where no operation is known. It waits for none.

        Args:
            correlation_id: The id that the earlier call gave.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            ValueError: The id cannot be one.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> Opledger().find("doc-never") is None
            True
        """
        return self.run(self.protocol.find(correlation_id, timeout, max_retries))

    def register(
        self, name: str, *, correlation_id: str = "", job_kind: str = "", metadata: Mapping[str, Any] | None = None,
        traceparent: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Registers an operation that runs at Gemini. Repeating it only adds what is new.

        Args:
            name: As Gemini gave it, such as "batches/abc123".
            correlation_id: An id of your own, which no other operation has; empty: none.
            job_kind: Selects the effects that run for it.
            metadata: What the effects are told of it.
            traceparent: The W3C trace context; empty: that of the client.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            ValueError: The metadata cannot be JSON.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> Opledger().register("batches/doc-mine", metadata={"rows": 3}).metadata
            {'rows': 3}
        """
        return self.run(self.protocol.register(
            name, correlation_id, job_kind, metadata, traceparent, timeout, max_retries,
        ))

    def operation(self, name: str, *, timeout: float | None = None, max_retries: int | None = None) -> Operation:
        """Returns the record of an operation as it is now.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: The ledger has no such operation.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> Opledger().operation("batches/doc-first").job_kind
            'reviews'
        """
        return self.run(self.protocol.operation(name, timeout, max_retries))

    def wait(self, name: str, *, timeout: float | None = 600.0, max_retries: int | None = None) -> Operation:
        """Waits until an operation has ended, also while opledger restarts.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time. Wait again.
            OpledgerError: opledger refused the request.

        Example:
            >>> client = Opledger()
            >>> client.wait(client.find("doc-batch").operation.key).state
            'SUCCEEDED'
        """
        return self.run(self.protocol.wait(name, timeout, max_retries))

    def changes(
        self, name: str, *, every: float = 5.0, timeout: float | None = None, max_retries: int | None = None,
    ) -> Iterator[Operation]:
        """Yields the record of an operation now, and each time that it has changed, until it has ended.

        Args:
            name: Such as "batches/abc123".
            every: Seconds between two reads, 30 at most. The end comes without that delay.
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time.
            OpledgerError: opledger refused the request.

        Example:
            >>> client = Opledger()
            >>> [operation.state for operation in client.changes(client.find("doc-batch").operation.key)]
            ['SUCCEEDED']
        """
        return self.each(self.protocol.changes(name, every, timeout, max_retries))

    def operations(
        self, *, state: str | Sequence[str] = (), collection: Collection | Literal["jobs", ""] = "",
        job_kind: str = "", pending: bool = False, since: str = "", correlation_id: str = "", page_size: int = 100,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> Iterator[Operation]:
        """Yields the operations of the ledger, the newest first.

        Args:
            state: Only those in this state, such as "FAILED", or in one of several.
            collection: Only those of "batches", "operations", "interactions" or "jobs".
            job_kind: Only those of this kind, a pattern such as "nightly-*".
            pending: Only those that have not ended, the next to be looked up first.
            since: Only those that are not older than this time, such as "2026-11-24T00:00:00Z".
            correlation_id: Only the one with this id.
            page_size: How many are read in one request.
            timeout: Seconds after which each request is given up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            ValueError: correlation_id is given, and another filter.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> [operation.key for operation in Opledger().operations(job_kind="reviews")]
            ['batches/doc-first']
        """
        return self.each(self.protocol.operations(
            correlation_id, filters(state, collection, job_kind, pending, since, page_size), timeout, max_retries,
        ))

    def cancel(
        self, name: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Asks Gemini to cancel a batch or an interaction, and returns its record. opledger serve alone does it.

        It may succeed all the same. Of a job jobs.cancel is the call.

        Args:
            name: Such as "batches/abc123".
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: The ledger has no such operation.
            ConflictError: It has ended.
            OpledgerError: opledger or Gemini refused it, or was away.

        Example:
            >>> client = Opledger()
            >>> try:
            ...     client.cancel(client.find("doc-batch").operation.key, why="the prompt was wrong")
            ... except ConflictError as error:
            ...     print(error.status)
            409
        """
        return self.run(self.protocol.cancel(name, why, by, timeout, max_retries))

    def forget(self, name: str, *, timeout: float | None = None, max_retries: int | None = None) -> int:
        """Deletes an operation and everything recorded about it. opledger serve alone does it.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Returns:
            How many documents were deleted; 0: there was none.

        Raises:
            ConflictError: An effect of it runs, or it is a job that has not ended.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> client = Opledger()
            >>> client.forget("batches/doc-mine") > 0, client.forget("batches/doc-mine")
            (True, 0)
        """
        return self.run(self.protocol.forget(name, timeout, max_retries))

    def results(
        self, name: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False, at: str = "",
        timeout: float | None = None, max_retries: int | None = None,
    ) -> Iterator[Result]:
        """Yields the results of a batch or a job that has ended, one for each request.

        They are downloaded whole first, so that a slow reader misses none.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            kind: Of a job: "failed" for those that are not done, each with its request, or "unmatched".
            merged: Of a job: its results and those of its redrives, each key once.
            partial: Of a job that has not ended: those that are final so far.
            at: gs://BUCKET/NAME: the object to which an effect has written them, deployed.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: The job has not ended.
            ConflictError: The batch has not ended.
            ResultsError: Requests have no result, or Gemini has none.
            ValueError: The name is neither a batch's nor a job's, or with storage merged or partial is asked for.
            OSError: The temporary file cannot be written.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> client = Opledger()
            >>> results = list(client.results(client.find("doc-batch").operation.key))
            >>> results[0].outcome
            'done'
        """
        return self.each(self.protocol.results(name, kind, merged, partial, at, timeout, max_retries))


class Jobs:
    """The jobs of a client, as its attribute jobs.

    Example:
        >>> client = Opledger()
        >>> _ = client.jobs.submit("doc-jobs", [("a", "Hello")], model="gemini-3.5-flash")
        >>> client.jobs.wait("doc-jobs").succeeded
        True
    """

    def __init__(self, client: Opledger) -> None:
        self._client = client

    def submit(
        self, job_id: str, requests: Requests, *, model: str, config: object = None, key_field: str = "",
        job_kind: str = "", metadata: Mapping[str, Any] | None = None, traceparent: str = "",
        timeout: float | None = None, max_retries: int | None = None, **options: Unpack[JobOptions],
    ) -> Job:
        """Submits a job: requests that become results. The same call again returns the job that there is.

        Args:
            job_id: An id of your own, 1 to 64 letters, digits, "-" and "_".
            requests: The path of a file of JSON Lines, or any iterable, such as a generator or the rows of a
                DataFrame: of lines {"key": …, "request": {…}}, of pairs of a key and what google-genai takes as
                contents, or of what request returns. It is written to a temporary file first. The same call again
                needs the same requests.
            model: Such as "gemini-3.5-flash".
            config: google-genai's GenerateContentConfig, or a dict with its fields, for the requests that have no
                such setting of their own.
            key_field: Of a file: another name of the key, such as "custom_id".
            job_kind: Selects the effects that run for it.
            metadata: What the effects are told of it.
            traceparent: The W3C trace context; empty: that of the client.
            timeout: Seconds after which each request is given up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.
            options: How the job runs; each one that is left out has the default of opledger.

                - max_failures: How many requests may not be done in a job that SUCCEEDED: 20, or a share, "2%".
                  Default 0: one failure makes the job FAILED.
                - stop_after: How many may not be done before nothing more is started: 20 or "2%". Default never.
                - max_attempts: How often a request is sent at most, up to 10. Default 3.
                - retry_on: Outcomes that are sent again, too: "invalid", "truncated". Default neither.
                - validate: Each response must be "json", or match its request's "schema"; else it is invalid.
                - deadline: From then on nothing is started, and what runs is cancelled: "8h", "07:00", which is UTC, or
                  "2026-11-24T07:00:00Z". Default never.
                - cancel_after_seconds: For how long a batch may run; what it did not do is sent again. Default for as
                  long as Gemini lets it.
                - max_cost: Dollars beyond which no batch is started, as estimated by OPLEDGER_PRICES of the server; the
                  job waits then. Default no limit.
                - pilot: How many requests run first, as a batch of their own. Default none.
                - pilot_failures: How many of these may not be done before the job waits for jobs.resume or
                  jobs.cancel: 2 or "5%". Default "5%".
                - priority: Of jobs that wait for room those with a higher one go first, from -100 to 100. Default 0.
                - max_batches: How many batches of it run at once, up to 100. Default 20.
                - max_requests_per_batch: Default 10,000.
                - max_bytes_per_batch: Of the input of a batch, up to 2 GiB. Default 200 MiB.
                - embed: The requests are for embeddings: each has content, and no contents. Default False.

        Raises:
            ValueError: The id is none, a request or the metadata cannot be JSON, or there is no request.
            OSError: The file of requests cannot be read, or the temporary file not written.
            ConflictError: Another job has this id: other requests or other options.
            RefusedError: Lines or options are wrong; its problems list them.
            OpledgerError: opledger was away.

        Example:
            >>> client = Opledger()
            >>> rows = [{"id": 7, "text": "It broke."}, {"id": 8, "text": "I like it."}]
            >>> requests = ((str(row["id"]), f"Is this review good? {row['text']}") for row in rows)
            >>> job = client.jobs.submit("doc-job", requests, model="gemini-3.5-flash", config={"temperature": 0})
            >>> job.id, job.open
            ('doc-job', 2)
        """
        said = job_body(model, job_kind, metadata, traceparent, options)
        return self._client.run(
            self._client.protocol.submit_job(job_id, path_of(requests), said, config, key_field, timeout, max_retries)
        )

    def get(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Returns how far a job is.

        Args:
            job_id: The id.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: There is no such job.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> Opledger().jobs.get("doc-job").key
            'jobs/doc-job'
        """
        return self._client.run(self._client.protocol.job(job_id, timeout, max_retries))

    def wait(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Waits until a job has ended, also while opledger restarts.

        Args:
            job_id: The id.
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time. Wait again.
            OpledgerError: opledger refused the request.

        Example:
            >>> job = Opledger().jobs.wait("doc-job")
            >>> job.state, job.counts["done"]
            ('SUCCEEDED', 2)
        """
        return self._client.run(self._client.protocol.wait_job(job_id, timeout, max_retries))

    def results(
        self, job_id: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> Iterator[Result]:
        """Yields the results of a job, one for each key, as Opledger.results does.

        Args:
            job_id: The id.
            kind: "failed" for those that are not done, each with its request, or "unmatched".
            merged: The results of the job and those of its redrives, each key once.
            partial: Of a job that has not ended: those that are final so far.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: The job has not ended.
            ResultsError: They are not whole.
            ValueError: With storage merged or partial is asked for.
            OSError: The temporary file cannot be written.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> sorted((result.key, result.outcome) for result in Opledger().jobs.results("doc-job"))
            [('7', 'done'), ('8', 'done')]
        """
        return self._client.each(self._client.protocol.results(
            f"jobs/{job_id.removeprefix('jobs/')}", kind, merged, partial, "", timeout, max_retries,
        ))

    def cancel(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Ends a job: nothing more is started, and what succeeded is kept.

        Args:
            job_id: The id.
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: There is no such job.
            ConflictError: It has ended.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> client = Opledger()
            >>> _ = client.jobs.submit("doc-cancelled", [("a", "Hello")], model="gemini-3.5-flash")
            >>> _ = client.jobs.cancel("doc-cancelled", why="an example")
            >>> client.jobs.wait("doc-cancelled").settled
            True
        """
        return self._client.run(self._client.protocol.decide_job(job_id, "cancel", {}, why, by, timeout, max_retries))

    def pause(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Starts nothing more of a job until resume; what runs goes on.

        Args:
            job_id: The id.
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: There is no such job.
            ConflictError: It has ended.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> client = Opledger()
            >>> _ = client.jobs.submit("doc-paused", [("a", "Hello")], model="gemini-3.5-flash")
            >>> _ = client.jobs.pause("doc-paused", why="an example", by="ann")
            >>> _ = client.jobs.resume("doc-paused", why="an example", by="ann")
            >>> client.jobs.wait("doc-paused").state
            'SUCCEEDED'
        """
        return self._client.run(self._client.protocol.decide_job(job_id, "pause", {}, why, by, timeout, max_retries))

    def resume(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Starts batches of a paused job again.

        Args:
            job_id: The id.
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: There is no such job.
            ConflictError: It has ended.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> try:
            ...     Opledger().jobs.resume("doc-nothing", why="an example")
            ... except NotFoundError as error:
            ...     print(error.status)
            404
        """
        return self._client.run(self._client.protocol.decide_job(job_id, "resume", {}, why, by, timeout, max_retries))

    def change(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
        **limits: Unpack[JobLimits],
    ) -> Job:
        """Changes limits of a job that runs.

        Args:
            job_id: The id.
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.
            limits: max_batches, max_failures, stop_after, deadline, max_cost, priority and cancel_after_seconds, as
                those of submit.

        Raises:
            NotFoundError: There is no such job.
            ConflictError: It has ended.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> try:
            ...     Opledger().jobs.change("doc-job", max_batches=2, why="an example")
            ... except ConflictError as error:
            ...     print(error.status)  # it has ended
            409
        """
        return self._client.run(
            self._client.protocol.decide_job(job_id, "", camel(limits), why, by, timeout, max_retries)
        )

    def redrive(
        self, job_id: str, *, why: str, by: str = "", new_id: str = "", outcomes: Sequence[str] = (),
        timeout: float | None = None, max_retries: int | None = None, **options: Unpack[JobOptions],
    ) -> Job:
        """Makes a job of the requests of one that has ended which are not done. opledger serve alone does it.

        Args:
            job_id: The id of the job that has ended.
            why: The reason, which is recorded.
            by: Who decides it; empty: the user of this process.
            new_id: The id of the new job; empty: that of the old one and "-2".
            outcomes: Only these, such as "failed" and "truncated"; none: all that are not done.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.
            options: Those of submit that are other than in the old job.

        Raises:
            ConflictError: The job has not ended, or has no such requests.
            OpledgerError: opledger refused the request, or was away.

        Example:
            >>> try:
            ...     Opledger().jobs.redrive("doc-job", why="an example")
            ... except ConflictError as error:
            ...     print(error.status)  # all are done
            409
        """
        return self._client.run(self._client.protocol.decide_job(
            job_id, "redrive", {"id": new_id, "outcomes": list(outcomes) or None, **camel(options)}, why, by, timeout,
            max_retries,
        ))


def connect(
    url: str, token: Token, timeout: float, max_retries: int | None, storage: str, storage_token: Token,
    gemini_api_key: str, traceparent: Callable[[], str] | None, clock: Callable[[], float],
    uniform: Callable[[float, float], float],
) -> tuple[Protocol, Transport]:
    """Returns what a client is made of. Raises ValueError."""
    url = checked_url("the URL of opledger", url or os.environ.get("OPLEDGER_URL", "") or LOCAL)
    key = gemini_api_key or os.environ.get("GEMINI_API_KEY", "")
    gemini = checked_url("GOOGLE_GEMINI_BASE_URL", os.environ.get("GOOGLE_GEMINI_BASE_URL", "") or GEMINI)
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    google = STORAGE
    if emulator:
        google = checked_url("STORAGE_EMULATOR_HOST", emulator if "://" in emulator else f"http://{emulator}")
    if storage and not storage.startswith("gs://"):
        raise ValueError(f"storage is {storage!r}; write gs://BUCKET/PREFIX, as OPLEDGER_JOB_STORAGE there")
    if token is None:
        check_token_of_environment()
    if storage_token is None:
        storage_token = "" if emulator else _LazyGoogle()
    protocol = Protocol(
        timeout=timeout, max_retries=max_retries, clock=clock, uniform=uniform, traceparent=traceparent,
        gemini=gemini if key else "", google=google, storage=storage,
    )
    return protocol, Transport(url, token, key, storage_token)


class _LazyGoogle:
    """An access token of google-auth, which is not needed before the first request to a bucket."""

    def __init__(self) -> None:
        self._token: Callable[[], str] | None = None

    def __call__(self) -> str:
        if self._token is None:
            self._token = google_token()
        return self._token()


def path_of(requests: T) -> T | str:
    """Returns requests, of a path its text."""
    return os.fspath(cast("os.PathLike[str]", requests)) if isinstance(requests, os.PathLike) else requests


def filters(
    state: str | Sequence[str], collection: str, job_kind: str, pending: bool, since: str, page_size: int,
) -> dict[str, Any]:
    """Returns the parameters of GET /operations."""
    return {
        "state": [state] if isinstance(state, str) and state else list(state), "collection": collection,
        "jobKind": job_kind, "pending": "true" if pending else "", "since": since, "limit": page_size,
    }


def job_body(
    model: str, job_kind: str, metadata: Mapping[str, Any] | None, traceparent: str, options: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the body of POST /jobs/{id}, but its input."""
    said = {"model": model, "jobKind": job_kind, "metadata": metadata, "traceParent": traceparent}
    return {**camel(options), **said}


def camel(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options with the names that they have over HTTP, where a number of failures is a text, as a share is."""
    return {
        re.sub("_([a-z])", lambda found: found[1].upper(), name):
        str(value) if name in TOLERANCES and isinstance(value, int) else value for name, value in options.items()
    }

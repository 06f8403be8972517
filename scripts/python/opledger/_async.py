"""The client that awaits."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import os
import random
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast

from ._client import camel, connect, filters, job_body, path_of
from ._model import Collection, Job, JobLimits, JobOptions, Mark, Operation, Result, Submitted
from ._protocol import Command, Emit, Kind, Pause, Plan, Protocol, Send, Stream, Take
from ._requests import Request
from ._transport import Token

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
AsyncRequests = Union[str, "os.PathLike[str]", Iterable[Request], AsyncIterable[Request]]


class AsyncOpledger:
    """The same client for asyncio: each call awaits, and each iterator is asynchronous.

    A request runs in a thread of its own while it is awaited, so that nothing but the standard library is needed.
    Arguments and errors are those of Opledger. The caller's functions, such as create, may be coroutines. Where a call
    is cancelled while create runs, Gemini may run the operation: the same call again finds out, as after a crash. A
    create that is no coroutine goes on in its thread.

    Example:
        >>> async def main():
        ...     client = AsyncOpledger()
        ...     operation = await client.register("batches/doc-async")
        ...     return operation.state
        >>> asyncio.run(main())
        'PENDING'
    """

    jobs: AsyncJobs

    def __init__(
        self, url: str = "", token: Token = None, *, timeout: float = 90.0, max_retries: int | None = None,
        storage: str = "", storage_token: Token = None, gemini_api_key: str = "",
        traceparent: Callable[[], str] | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic, uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._protocol, self._transport = connect(
            url, token, timeout, max_retries, storage, storage_token, gemini_api_key, traceparent, clock, uniform,
        )
        self._sleep = sleep
        self.jobs = AsyncJobs(self)

    async def run(self, plan: Plan[T]) -> T:
        """Carries out a plan of the protocol. It is for this package."""
        try:
            command = next(plan)
            while True:
                try:
                    brought = await self._perform(command)
                except Exception as error:
                    command = plan.throw(error)
                else:
                    command = plan.send(brought)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            plan.close()

    async def each(self, stream: Stream[T]) -> AsyncIterator[T]:
        """Carries out a plan, and yields what it emits. It is for this package."""
        try:
            command = next(stream)
            while True:
                brought = None
                if isinstance(command, Emit):
                    yield command.value
                else:
                    try:
                        brought = await self._perform(command)
                    except Exception as error:
                        command = stream.throw(error)
                        continue
                command = stream.send(brought)
        except StopIteration:
            return
        finally:
            stream.close()

    async def _perform(self, command: Command) -> Any:
        if isinstance(command, Send):
            return await in_thread(self._transport.send, command)
        if isinstance(command, Pause):
            return await self._sleep(command.seconds)
        if isinstance(command, Take):
            await asyncio.sleep(0)  # others may go on, however long the iterator is
            if not hasattr(command.elements, "__anext__"):
                return list(itertools.islice(cast("Iterator[Any]", command.elements), command.most))
            taken: list[Any] = []
            while len(taken) < command.most:
                try:
                    taken.append(await command.elements.__anext__())
                except StopAsyncIteration:
                    break
            return taken
        if inspect.iscoroutinefunction(command.function):
            return await command.function(command.argument)
        brought = await in_thread(command.function, command.argument)  # it may block
        return await brought if inspect.isawaitable(brought) else brought

    @property
    def protocol(self) -> Protocol:
        """The plans of its calls. It is for this package."""
        return self._protocol

    async def submit_once(
        self, correlation_id: str, create: Callable[[Mark], str | Awaitable[str]], *,
        collection: Collection, job_kind: str = "",
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
        """
        return await self.run(self.protocol.submit_once(
            correlation_id, create, collection, job_kind, metadata, patience, traceparent, timeout, max_retries,
        ))

    async def find(
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
        """
        return await self.run(self.protocol.find(correlation_id, timeout, max_retries))

    async def register(
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
        """
        return await self.run(self.protocol.register(
            name, correlation_id, job_kind, metadata, traceparent, timeout, max_retries,
        ))

    async def operation(
        self, name: str, *, timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Returns the record of an operation as it is now.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: The ledger has no such operation.
            OpledgerError: opledger refused the request, or was away.
        """
        return await self.run(self.protocol.operation(name, timeout, max_retries))

    async def wait(self, name: str, *, timeout: float | None = 600.0, max_retries: int | None = None) -> Operation:
        """Waits until an operation has ended, also while opledger restarts.

        Args:
            name: Such as "batches/abc123", or "jobs/nightly".
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time. Wait again.
            OpledgerError: opledger refused the request.
        """
        return await self.run(self.protocol.wait(name, timeout, max_retries))

    def changes(
        self, name: str, *, every: float = 5.0, timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Operation]:
        """Yields the record of an operation now, and each time that it has changed, until it has ended.

        Args:
            name: Such as "batches/abc123".
            every: Seconds between two reads, 30 at most. The end comes without that delay.
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time.
            OpledgerError: opledger refused the request.
        """
        return self.each(self.protocol.changes(name, every, timeout, max_retries))

    def operations(
        self, *, state: str | Sequence[str] = (), collection: Collection | Literal["jobs", ""] = "",
        job_kind: str = "", pending: bool = False, since: str = "", correlation_id: str = "", page_size: int = 100,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Operation]:
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
        """
        return self.each(self.protocol.operations(
            correlation_id, filters(state, collection, job_kind, pending, since, page_size), timeout, max_retries,
        ))

    async def cancel(
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
        """
        return await self.run(self.protocol.cancel(name, why, by, timeout, max_retries))

    async def forget(self, name: str, *, timeout: float | None = None, max_retries: int | None = None) -> int:
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
        """
        return await self.run(self.protocol.forget(name, timeout, max_retries))

    def results(
        self, name: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False, at: str = "",
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Result]:
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
        """
        return self.each(self.protocol.results(name, kind, merged, partial, at, timeout, max_retries))


class AsyncJobs:
    """The jobs of a client, as its attribute jobs; as Jobs.

    Example:
        >>> async def main():
        ...     jobs = AsyncOpledger().jobs
        ...     await jobs.submit("doc-async", [("a", "Hello")], model="gemini-3.5-flash")
        ...     await jobs.wait("doc-async")
        ...     return [result.outcome async for result in jobs.results("doc-async")]
        >>> asyncio.run(main())
        ['done']
    """

    def __init__(self, client: AsyncOpledger) -> None:
        self._client = client

    async def submit(
        self, job_id: str, requests: AsyncRequests, *, model: str, config: object = None, key_field: str = "",
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
        """
        said = job_body(model, job_kind, metadata, traceparent, options)
        return await self._client.run(
            self._client.protocol.submit_job(job_id, path_of(requests), said, config, key_field, timeout, max_retries)
        )

    async def get(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Returns how far a job is.

        Args:
            job_id: The id.
            timeout: Seconds after which it gives up, repeats included; None: those of the client.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotFoundError: There is no such job.
            OpledgerError: opledger refused the request, or was away.
        """
        return await self._client.run(self._client.protocol.job(job_id, timeout, max_retries))

    async def wait(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Waits until a job has ended, also while opledger restarts.

        Args:
            job_id: The id.
            timeout: Seconds; None: for ever.
            max_retries: How often a request is repeated at most; None: that of the client.

        Raises:
            NotSettledError: It has not ended in time. Wait again.
            OpledgerError: opledger refused the request.
        """
        return await self._client.run(self._client.protocol.wait_job(job_id, timeout, max_retries))

    def results(
        self, job_id: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Result]:
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
        """
        return self._client.each(self._client.protocol.results(
            f"jobs/{job_id.removeprefix('jobs/')}", kind, merged, partial, "", timeout, max_retries,
        ))

    async def cancel(
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
        """
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "cancel", {}, why, by, timeout, max_retries)
        )

    async def pause(
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
        """
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "pause", {}, why, by, timeout, max_retries)
        )

    async def resume(
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
        """
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "resume", {}, why, by, timeout, max_retries)
        )

    async def change(
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
        """
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "", camel(limits), why, by, timeout, max_retries)
        )

    async def redrive(
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
        """
        return await self._client.run(self._client.protocol.decide_job(
            job_id, "redrive", {"id": new_id, "outcomes": list(outcomes) or None, **camel(options)}, why, by, timeout,
            max_retries,
        ))


async def in_thread(function: Callable[[Any], T], argument: object) -> T:
    """Calls a function in a thread of its own, and returns what it returns.

    A pool has a few threads, which those that wait would take. A thread that is not awaited any more ends with its
    request, and does not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(brought: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(brought)
        elif isinstance(error, StopIteration):  # which a future does not take
            wrapped = RuntimeError("the function raised StopIteration")
            wrapped.__cause__ = error
            done.set_exception(wrapped)
        else:
            done.set_exception(error)

    def work() -> None:
        brought: Any = None
        failed: BaseException | None = None
        try:
            brought = context.run(function, argument)
        except BaseException as error:  # also SystemExit: else the caller would wait for ever
            failed = error
        try:
            loop.call_soon_threadsafe(settle, brought, failed)
        except RuntimeError:
            pass  # the loop is closed, and no one awaits it

    threading.Thread(target=work, name="opledger", daemon=True).start()
    return await done

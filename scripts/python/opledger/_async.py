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
from typing import Any, Literal, TypeVar, Union, cast

from ._client import camel, connect, filters, job_body, path_of
from ._model import Collection, Job, Mark, Operation, Result, Submitted
from ._protocol import Command, Emit, Kind, Pause, Plan, Protocol, Send, Stream, Take
from ._requests import Request
from ._transport import Token

T = TypeVar("T")
AsyncRequests = Union[str, "os.PathLike[str]", Iterable[Request], AsyncIterable[Request]]


class AsyncOpledger:
    """The same client for asyncio: each call awaits, and each iterator is asynchronous.

    A request runs in a thread of its own while it is awaited, so that nothing but the standard library is needed.
    Arguments and errors are those of Opledger.

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
        """Submits an operation, once for a correlation id, however often it is called; as Opledger.submit_once.

        Where it is cancelled while create runs, Gemini may run the operation: the same call again finds out, as after
        a crash. create that is a function, and no coroutine, goes on in its thread.
        """
        return await self.run(self.protocol.submit_once(
            correlation_id, create, collection, job_kind, metadata, patience, traceparent, timeout, max_retries,
        ))

    async def find(
        self, correlation_id: str, *, timeout: float | None = None, max_retries: int | None = None,
    ) -> Submitted | None:
        """Returns what an earlier call submitted; None where no operation is known; as Opledger.find."""
        return await self.run(self.protocol.find(correlation_id, timeout, max_retries))

    async def register(
        self, name: str, *, correlation_id: str = "", job_kind: str = "", metadata: Mapping[str, Any] | None = None,
        traceparent: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Registers an operation that runs at Gemini. Repeating it only adds what is new; as Opledger.register."""
        return await self.run(self.protocol.register(
            name, correlation_id, job_kind, metadata, traceparent, timeout, max_retries,
        ))

    async def operation(
        self, name: str, *, timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Returns the record of an operation as it is now; as Opledger.operation."""
        return await self.run(self.protocol.operation(name, timeout, max_retries))

    async def wait(self, name: str, *, timeout: float | None = 600.0, max_retries: int | None = None) -> Operation:
        """Waits until an operation has ended, also while opledger restarts; as Opledger.wait."""
        return await self.run(self.protocol.wait(name, timeout, max_retries))

    def changes(
        self, name: str, *, every: float = 5.0, timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Operation]:
        """Yields the record of an operation, and each change until it has ended; as Opledger.changes."""
        return self.each(self.protocol.changes(name, every, timeout, max_retries))

    def operations(
        self, *, state: str | Sequence[str] = (), collection: Collection | Literal["jobs", ""] = "",
        job_kind: str = "", pending: bool = False, since: str = "", correlation_id: str = "", page_size: int = 100,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Operation]:
        """Yields the operations of the ledger, the newest first; as Opledger.operations."""
        return self.each(self.protocol.operations(
            correlation_id, filters(state, collection, job_kind, pending, since, page_size), timeout, max_retries,
        ))

    async def cancel(
        self, name: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Operation:
        """Does what Opledger.cancel does."""
        return await self.run(self.protocol.cancel(name, why, by, timeout, max_retries))

    async def forget(self, name: str, *, timeout: float | None = None, max_retries: int | None = None) -> int:
        """Deletes an operation and everything recorded about it. opledger serve alone does it; as Opledger.forget."""
        return await self.run(self.protocol.forget(name, timeout, max_retries))

    def results(
        self, name: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False, at: str = "",
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Result]:
        """Yields the results of a batch or a job that has ended, one for each request; as Opledger.results."""
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
        timeout: float | None = None, max_retries: int | None = None, **options: Any,
    ) -> Job:
        """Submits a job: requests that become results; as Jobs.submit."""
        said = job_body(model, job_kind, metadata, traceparent, options)
        return await self._client.run(
            self._client.protocol.submit_job(job_id, path_of(requests), said, config, key_field, timeout, max_retries)
        )

    async def get(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Returns how far a job is; as Jobs.get."""
        return await self._client.run(self._client.protocol.job(job_id, timeout, max_retries))

    async def wait(self, job_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Job:
        """Waits until a job has ended, also while opledger restarts; as Jobs.wait."""
        return await self._client.run(self._client.protocol.wait_job(job_id, timeout, max_retries))

    def results(
        self, job_id: str, *, kind: Kind = "results", merged: bool = False, partial: bool = False,
        timeout: float | None = None, max_retries: int | None = None,
    ) -> AsyncIterator[Result]:
        """Yields the results of a job, one for each key, as Opledger.results does; as Jobs.results."""
        return self._client.each(self._client.protocol.results(
            f"jobs/{job_id.removeprefix('jobs/')}", kind, merged, partial, "", timeout, max_retries,
        ))

    async def cancel(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Ends a job: nothing more is started, and what succeeded is kept; as Jobs.cancel."""
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "cancel", {}, why, by, timeout, max_retries)
        )

    async def pause(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Does what Jobs.pause does."""
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "pause", {}, why, by, timeout, max_retries)
        )

    async def resume(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
    ) -> Job:
        """Starts batches of a paused job again. Arguments and errors are those of cancel; as Jobs.resume."""
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "resume", {}, why, by, timeout, max_retries)
        )

    async def change(
        self, job_id: str, *, why: str, by: str = "", timeout: float | None = None, max_retries: int | None = None,
        **limits: Any,
    ) -> Job:
        """Changes limits of a job that runs: max_batches, max_failures, stop_after, deadline; as Jobs.change."""
        return await self._client.run(
            self._client.protocol.decide_job(job_id, "", camel(limits), why, by, timeout, max_retries)
        )

    async def redrive(
        self, job_id: str, *, why: str, by: str = "", new_id: str = "", outcomes: Sequence[str] = (),
        timeout: float | None = None, max_retries: int | None = None, **options: Any,
    ) -> Job:
        """Does what Jobs.redrive does."""
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

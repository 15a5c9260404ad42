"""Worker threads for metrics that run queries.

A batch starts with one worker where the engine computes in this process: short queries gain nothing from more
threads. As soon as no item has ended for a tick, something is stuck and another worker starts, up to the concurrency.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from sqlmetrics.databases.deadline import Cancellation

__all__ = ["default_concurrency", "run_blocking", "stream_blocking"]

Item = TypeVar("Item")
Result = TypeVar("Result")

TICK_S = 0.05
FIRST_PAUSE_S = 0.0005
LONGEST_PAUSE_S = 0.02
CALL_THREADS = 32
SERVER_CONCURRENCY = 16

_pool_lock = threading.Lock()
_pool: tuple[int, ThreadPoolExecutor] | None = None


def default_concurrency(*, in_process: bool) -> int:
    """How many queries run at once unless told otherwise: as many as there are cores, or 16 on a server."""
    return max(2, os.cpu_count() or 1) if in_process else SERVER_CONCURRENCY


def _executor() -> ThreadPoolExecutor:
    """The threads for single calls, made anew in a forked child."""
    global _pool  # noqa: PLW0603 - one pool a process
    with _pool_lock:
        if _pool is None or _pool[0] != os.getpid():
            _pool = (os.getpid(), ThreadPoolExecutor(CALL_THREADS, thread_name_prefix="sqlmetrics-query"))
        return _pool[1]


async def run_blocking(call: Callable[[Cancellation], Result]) -> Result:
    """Run one blocking call in a thread; if the awaiting task is cancelled, its query is stopped.

    Args:
        call: Takes the cancellation to pass on to the query.

    Returns:
        What the call returns.
    """
    cancellation = Cancellation()
    try:
        return await asyncio.get_running_loop().run_in_executor(_executor(), call, cancellation)
    except asyncio.CancelledError:
        cancellation.cancel()
        raise


class _Batch(Generic[Item, Result]):
    """Items that several threads work through."""

    def __init__(self, items: Iterable[Item], judge: Callable[[Item, Cancellation], Result], concurrency: int) -> None:
        """Keep the work."""
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="sqlmetrics-worker")
        self.cancellation = Cancellation()
        self.done: deque[tuple[int, Result]] = deque()
        self.workers: list[Future[None]] = []
        self.wake = asyncio.Event()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._items: Iterator[tuple[int, Item]] = iter(enumerate(items))
        self._judge = judge
        self._lock = threading.Lock()
        self._told = False

    def start_worker(self) -> None:
        """Start one more thread."""
        worker = self._threads.submit(self._work)
        self.workers.append(worker)
        worker.add_done_callback(self._tell_end)

    def stop(self) -> None:
        """Stop running queries and let the threads end."""
        self.cancellation.cancel()
        self._threads.shutdown(wait=False)

    def raise_failure(self) -> None:
        """Raise what a worker ended with, if it was an error."""
        for worker in self.workers:
            worker.result()

    def drain(self) -> Iterator[tuple[int, Result]]:
        """Hand out what is done."""
        self.wake.clear()
        self._told = False
        while self.done:
            yield self.done.popleft()

    @property
    def working(self) -> bool:
        """Whether any thread is still at work."""
        return not all(worker.done() for worker in self.workers)

    def _work(self) -> None:
        """Take items until there are none."""
        while not self.cancellation.cancelled:
            with self._lock:
                entry = next(self._items, None)
            if entry is None:
                break
            self.done.append((entry[0], self._judge(entry[1], self.cancellation)))
            self._tell()

    def _tell_end(self, _: Future[None]) -> None:
        """Wake the consumer when a worker is really done."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._loop.call_soon_threadsafe(self.wake.set)

    async def pause(self, longest_s: float) -> None:
        """Wait a little, or until a worker ends."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), longest_s if self.working else 0)
        self._ended.clear()

    def _tell(self) -> None:
        """Wake the consumer, once for all results until it has looked."""
        if not self._told:
            self._told = True
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.wake.set)


async def stream_blocking(
    items: Iterable[Item],
    judge: Callable[[Item, Cancellation], Result],
    *,
    concurrency: int,
    ramp: bool,
) -> AsyncIterator[tuple[int, Result]]:
    """Judge items in worker threads and yield results as they are ready.

    Args:
        items: What to judge; taken one by one, by the threads.
        judge: Judges one item; gets the cancellation to pass on to queries.
        concurrency: Threads at most.
        ramp: Start with one thread and add another whenever nothing has ended for a tick.

    Yields:
        Position and result, in the order in which they end.
    """
    batch = _Batch(items, judge, concurrency)
    pause_s = FIRST_PAUSE_S
    for _ in range(1 if ramp else concurrency):
        batch.start_worker()
    try:
        while batch.working or batch.done:
            try:
                await asyncio.wait_for(batch.wake.wait(), TICK_S)
            except TimeoutError:
                if batch.working and len(batch.workers) < concurrency:
                    batch.start_worker()
            for entry in batch.drain():
                yield entry
            # Looking too often takes time from the workers; the end of one is told at once.
            await batch.pause(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        for entry in batch.drain():
            yield entry
        batch.raise_failure()
    finally:
        batch.stop()

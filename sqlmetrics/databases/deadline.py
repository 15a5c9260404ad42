"""Deadlines for running queries: one watcher thread that asks the engine to stop.

A query's clock starts when the query starts. The watcher looks at the running queries fifty times a second, sleeps when
there are none, and keeps asking until the query has really ended. Nothing is awaited and no thread is abandoned.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["Cancellation", "Deadline"]

TICK_S = 0.02
REPEAT_S = 0.1
IDLE_TICKS = 50


class Cancellation:
    """Lets the caller of a query stop it before its deadline.

    Examples:
        >>> cancellation = Cancellation()
        >>> cancellation.cancel()
        >>> cancellation.cancelled
        True
    """

    __slots__ = ("_deadlines", "cancelled")

    def __init__(self) -> None:
        """Start uncancelled."""
        self.cancelled = False
        self._deadlines: set[Deadline] = set()

    def cancel(self) -> None:
        """Stop the queries that run under this cancellation, and any that would start."""
        self.cancelled = True
        for deadline in tuple(self._deadlines):
            deadline.ends_at = 0.0

    def attach(self, deadline: Deadline) -> None:
        """Tie a running query to this cancellation."""
        self._deadlines.add(deadline)
        if self.cancelled:
            deadline.ends_at = 0.0

    def detach(self, deadline: Deadline) -> None:
        """Forget a query that has ended."""
        self._deadlines.discard(deadline)


class Deadline:
    """Calls `stop` once a query has run too long, again and again until the `with` block is left.

    Args:
        timeout_s: Seconds from entering the block to the first call.
        stop: Asks the engine to stop the query; called from the watcher, never after the block is left.
        cancellation: Ends the query early if the caller cancels.
        blocking: Whether `stop` may take long (a network round trip); then it gets a short-lived thread.
    """

    __slots__ = ("_blocking", "_cancellation", "_left", "_lock", "_stop", "ends_at", "expired", "timeout_s")

    def __init__(
        self,
        timeout_s: float,
        stop: Callable[[], object],
        cancellation: Cancellation | None = None,
        *,
        blocking: bool = False,
    ) -> None:
        """Keep what to do and when."""
        self.timeout_s = timeout_s
        self.expired = False
        self.ends_at = 0.0
        self._stop = stop
        self._cancellation = cancellation
        self._blocking = blocking
        self._left = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Start the clock."""
        self.ends_at = time.monotonic() + self.timeout_s
        if self._cancellation is not None:
            self._cancellation.attach(self)
        _watcher.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the clock; from here on `stop` is not called any more."""
        _watcher.forget(self)
        if self._cancellation is not None:
            self._cancellation.detach(self)
        with self._lock:
            self._left = True

    @property
    def remaining_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.ends_at - time.monotonic())

    def fire(self) -> None:
        """Ask the engine to stop, now and once more a little later."""
        self.expired = True
        self.ends_at = time.monotonic() + REPEAT_S
        if self._blocking:
            threading.Thread(target=self._fire_guarded, name="sqlmetrics-stop", daemon=True).start()
        else:
            self._fire_guarded()

    def _fire_guarded(self) -> None:
        """Call `stop` unless the block was left meanwhile."""
        with self._lock:
            if not self._left:
                self._stop()


class _Watcher:
    """The one thread that watches all deadlines of this process."""

    def __init__(self) -> None:
        """Start without a thread; the first query starts it."""
        self._running: dict[int, Deadline] = {}
        self._wake = threading.Event()
        self._asleep = True
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, deadline: Deadline) -> None:
        """Add a running query."""
        self._running[id(deadline)] = deadline
        if self._asleep:
            self._ensure_awake()

    def forget(self, deadline: Deadline) -> None:
        """Remove a query that has ended."""
        self._running.pop(id(deadline), None)

    def _ensure_awake(self) -> None:
        """Start or wake the thread."""
        with self._start_lock:
            self._asleep = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch_all, name="sqlmetrics-deadlines", daemon=True)
                self._thread.start()
            self._wake.set()

    def _watch_all(self) -> None:
        """Look at the running queries every tick; sleep without polling after a second without any."""
        idle_ticks = 0
        try:
            while True:
                now = time.monotonic()
                for deadline in tuple(self._running.values()):
                    if now >= deadline.ends_at:
                        deadline.fire()
                idle_ticks = 0 if self._running else idle_ticks + 1
                if idle_ticks > IDLE_TICKS:
                    self._sleep()
                    idle_ticks = 0
                time.sleep(TICK_S)
        finally:  # a `stop` that raised ends this thread; the next query then starts another
            self._thread = None
            self._asleep = True

    def _sleep(self) -> None:
        """Wait for the next query."""
        self._wake.clear()
        self._asleep = True
        if not self._running:
            self._wake.wait()
        self._asleep = False


_watcher = _Watcher()


def _restart_in_child() -> None:
    """A forked child has none of its parent's threads."""
    global _watcher  # noqa: PLW0603 - the one watcher of this process
    _watcher = _Watcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart_in_child)

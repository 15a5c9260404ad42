"""The synchronous calls: one event loop in a thread of its own, so that nothing ever patches the caller's loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["run_sync"]

Result = TypeVar("Result")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_owner = (0, 0)


def run_sync(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end from code without an event loop, or from inside one (a notebook).

    Args:
        coroutine: What to run.

    Returns:
        Its result.

    Examples:
        >>> async def three():
        ...     return 3
        >>> run_sync(three())
        3
    """
    loop = _running_loop()
    if _owner[1] == threading.get_ident():  # called from our own loop's thread: waiting for it would never end
        return _run_in_new_thread(coroutine)
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    finally:
        if not future.done():  # interrupted while waiting
            future.cancel()


def _running_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, started on first use and again in a forked child."""
    global _loop, _owner
    with _lock:
        if _loop is None or _owner[0] != os.getpid():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="sqlmetrics-loop", daemon=True)
            thread.start()
            _loop, _owner = loop, (os.getpid(), thread.ident or 0)
        return _loop


def _run_in_new_thread(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop of its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()

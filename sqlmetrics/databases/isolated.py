"""Queries in a process of their own, with a memory limit and a hard kill: for text from strangers.

An engine inside this process cannot be stopped within one long function call, and its memory is ours. Here the engine
runs in a child that the system limits (`RLIMIT_AS`, `RLIMIT_CPU`) and that is killed when it misses its deadline. The
child serves one query after another; parent and child exchange pickles, each behind eight bytes of length.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.errors import (
    ConfigurationError,
    QueryError,
    ResultTooLargeError,
    SQLMetricsError,
)

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["IsolatedDatabase"]

GIB = 1024**3
GRACE_S = 0.5
START_TIMEOUT_S = 60.0
IDLE_WORKERS = 8
OPEN_FILES = 256
LENGTH_BYTES = 8
KEPT_VARIABLES = re.compile("PATH|HOME|USER|(SQLITE_)?TMPDIR|TZ|LANG|LC_.*|(DY)?LD_LIBRARY_PATH|VIRTUAL_ENV|PG.*")


class _ChildEndedError(Exception):
    """The child closed its pipe."""


def _apart(error: Exception) -> tuple[type[Exception], str, dict[str, Any]]:
    """Take an exception apart for the pipe."""
    return type(error), str(error), dict(error.__dict__)


def _rebuilt(kind: type[Exception], message: str, state: dict[str, Any]) -> Exception:
    """Put an exception together again, without a constructor that may want other arguments."""
    error = kind.__new__(kind)
    error.args = (message,)
    error.__dict__.update(state)
    return error


def _send(pipe: BinaryIO, message: object) -> None:
    """Write one message.

    Raises:
        _ChildEndedError: Nobody reads.
    """
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    rest = memoryview(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    try:
        while rest:
            rest = rest[pipe.write(rest) :]
    except (BrokenPipeError, ValueError) as error:
        raise _ChildEndedError from error


def _receive(pipe: BinaryIO) -> Any:
    """Read one message. Only bytes of our own child, or of the parent that started us, are ever unpickled.

    Raises:
        _ChildEndedError: The other side has gone.
    """
    length = int.from_bytes(_read(pipe, LENGTH_BYTES), "big")
    return pickle.loads(_read(pipe, length))  # noqa: S301 - see above


def _read(pipe: BinaryIO, length: int) -> bytearray:
    """Read exactly so many bytes.

    Raises:
        _ChildEndedError: The pipe ended before.
    """
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        count = pipe.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            raise _ChildEndedError
        rest = rest[count:]
    return data


class _Worker:
    """One child process that serves one database."""

    def __init__(self, inner: bytes, max_memory_bytes: int) -> None:
        """Start the child and wait until it has opened the database.

        Raises:
            SQLMetricsError: What the database's own `check` raises.
            ConfigurationError: The child did not start.
        """
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            # -P keeps the working directory out of the child's import path
            [sys.executable, "-P", "-m", "sqlmetrics.databases.isolated"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(),
            start_new_session=True,  # an interrupt from the keyboard is the parent's to handle
        )
        with contextlib.ExitStack() as unfinished:
            unfinished.callback(self.stop)
            self._start(inner, max_memory_bytes)
            unfinished.pop_all()

    def _start(self, inner: bytes, max_memory_bytes: int) -> None:
        """Hand the child its database and wait until it has opened it."""
        try:
            with Deadline(START_TIMEOUT_S, self.process.kill):
                answer = self.ask((inner, max_memory_bytes))
        except _ChildEndedError:
            raise ConfigurationError(
                f"The worker process did not start (it ended with {self.stop()}); check that "
                f"`{sys.executable} -m sqlmetrics.databases.isolated` can be run and that "
                f"max_memory_bytes={max_memory_bytes} suffices to open the database."
            ) from None
        if answer is not None:
            raise _rebuilt(*answer)

    def ask(self, message: object) -> Any:
        """Send one message and wait for the answer."""
        _send(self.process.stdin, message)  # type: ignore[arg-type]  # a pipe, not None
        return _receive(self.process.stdout)  # type: ignore[arg-type]

    def stop(self) -> int:
        """Kill and reap the child, close its pipes, and return its exit status; after a fork only close our copies."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self.owner != os.getpid():
            self.process.returncode = 0  # the child is not ours to wait for
        elif self.process.returncode is None:
            self.process.kill()
        return self.process.wait()


def _environment() -> dict[str, str]:
    """The environment of a child: little more than what is needed to import what the parent imports."""
    kept = {name: value for name, value in os.environ.items() if KEPT_VARIABLES.fullmatch(name)}
    paths = [entry or str(Path.cwd()) for entry in sys.path]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def _stop_all(workers: list[_Worker]) -> None:
    """Stop idle workers."""
    while workers:
        workers.pop().stop()


class IsolatedDatabase(Database):
    """Any other database, with each query in a child process.

    Slower by about a tenth of a millisecond a query, and a quarter of a second for each child that starts.

    Args:
        inner: The database; it must be picklable and importable (not defined in a script's `__main__`).
        max_memory_bytes: What a child may allocate beyond what it needs to open the database. Held where the system
            holds `RLIMIT_AS` (Linux).

    Raises:
        ConfigurationError: The limit is no positive whole number, or this system has no process limits (Windows).

    Examples:
        >>> import sqlite3, tempfile, pathlib
        >>> from sqlmetrics.databases.sqlite import SQLiteDatabase
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.sqlite"
        >>> connection = sqlite3.connect(path)
        >>> _ = connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)")
        >>> connection.close()
        >>> with IsolatedDatabase(SQLiteDatabase(str(path))) as database:
        ...     database.run("SELECT x FROM t").table.rows
        [(1,), (2,)]
    """

    def __init__(self, inner: Database, *, max_memory_bytes: int = GIB) -> None:
        """Keep the database; children start with the first query."""
        if resource is None:
            raise ConfigurationError('isolation="process" needs process limits, which this system lacks; leave it out.')
        if type(max_memory_bytes) is not int or max_memory_bytes <= 0:
            raise ConfigurationError(
                f"Expected `max_memory_bytes` to be a whole number above 0, but got {max_memory_bytes!r}."
            )
        super().__init__(inner.target, inner.limits)
        self.inner = inner
        self.max_memory_bytes = max_memory_bytes
        self._reset()

    def _reset(self) -> None:
        self._idle: list[_Worker] = []
        self._idle_lock = threading.Lock()
        self._pid = os.getpid()
        self._finalizer = weakref.finalize(self, _stop_all, self._idle)

    @property
    def dialect(self) -> str:  # type: ignore[override]
        """The inner database's dialect."""
        return self.inner.dialect

    @property
    def in_process(self) -> bool:  # type: ignore[override]
        """The inner database's answer."""
        return self.inner.in_process

    @property
    def label(self) -> str:
        """The inner database's label."""
        return self.inner.label

    def check(self) -> None:
        """Let a child open the database.

        Raises:
            SQLMetricsError: What the inner database's `check` raises.
            ConfigurationError: The child does not start.
        """
        self._forget_inherited()
        with self._idle_lock:
            _stop_all(self._idle)
        self._release(self._start())

    def close(self) -> None:
        """Stop idle children."""
        self._forget_inherited()
        with self._idle_lock:
            _stop_all(self._idle)

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query in a child; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The inner database cannot serve any query.
            ConfigurationError: The inner database cannot be opened, or a child does not start.
        """
        limits = limits or self.limits
        worker = self._acquire()
        deadline = Deadline(limits.timeout_s + GRACE_S, worker.process.kill, cancellation)
        healthy = False
        started = time.perf_counter()
        try:
            with deadline:
                answer = worker.ask((sql, limits))
            # a child that ran out of memory may be left in a bad state
            healthy = not deadline.expired and not (isinstance(answer, tuple) and answer[0] is ResultTooLargeError)
        except _ChildEndedError:
            status = worker.stop()
            if deadline.expired or status == -signal.SIGXCPU:
                raise timed_out(limits, started, cancellation) from None
            raise ResultTooLargeError(
                f"The worker process died (exit status {status}), most likely out of memory "
                f"(max_memory_bytes={self.max_memory_bytes})."
            ) from None
        finally:
            if healthy:
                self._release(worker)
            else:
                worker.stop()
        if isinstance(answer, QueryResult):
            return answer
        raise _rebuilt(*answer)

    def _acquire(self) -> _Worker:
        """Take an idle child that still lives, or start one."""
        self._forget_inherited()
        while True:
            with self._idle_lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return self._start()
            if worker.process.poll() is None:
                return worker
            worker.stop()

    def _release(self, worker: _Worker) -> None:
        """Put a child back for the next query."""
        with self._idle_lock:
            if len(self._idle) < IDLE_WORKERS:
                self._idle.append(worker)
                return
        worker.stop()

    def _start(self) -> _Worker:
        """Start a child.

        Raises:
            ConfigurationError: The inner database cannot be pickled.
        """
        try:
            inner = pickle.dumps(self.inner.with_limits(**asdict(self.limits)))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigurationError(f"{self.inner!r} cannot be sent to a worker process: {error}") from error
        return _Worker(inner, self.max_memory_bytes)

    def _forget_inherited(self) -> None:
        """After a fork the children belong to the parent; close our copies of their pipes."""
        if self._pid != os.getpid():
            self._finalizer.detach()
            _stop_all(self._idle)
            self._reset()


def _serve() -> None:
    """The child's life: open the database, then answer until the parent closes the pipe."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not end up between two answers
    with requests, answers, contextlib.suppress(_ChildEndedError):
        inner, max_memory_bytes = _receive(requests)
        try:
            database: Database = pickle.loads(inner)  # noqa: S301 - the parent's own bytes
            database.check()
        except SQLMetricsError as error:
            return _send(answers, _apart(error))
        except (pickle.UnpicklingError, AttributeError, ImportError) as error:
            reason = f"The database cannot be loaded in a worker process: {error}. Define its class in a module."
            return _send(answers, _apart(ConfigurationError(reason)))
        _limit_process(max_memory_bytes)
        _send(answers, None)
        while True:
            sql, limits = _receive(requests)
            _limit_cpu(limits)
            _answer(answers, database, sql, limits)


def _answer(answers: BinaryIO, database: Database, sql: str, limits: QueryLimits) -> None:
    """Run one query and send what came of it."""
    try:
        _send(answers, database.run(sql, limits=limits))
    except SQLMetricsError as error:
        _send(answers, _apart(error))
    except MemoryError:
        reason = "The query passes the memory of its worker process (max_memory_bytes)."
        _send(answers, _apart(ResultTooLargeError(reason)))
    except (pickle.PicklingError, RecursionError) as error:
        _send(answers, _apart(QueryError(f"The result cannot be sent from its worker process: {error}")))


def _limit_process(max_memory_bytes: int) -> None:
    """Limit this process to what it has now and so much memory more."""
    with Deadline(1.0, int):
        pass  # the thread that watches deadlines should have its stack before memory is limited
    _set_limit("RLIMIT_CORE", 0)
    _set_limit("RLIMIT_NOFILE", OPEN_FILES)
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[0])
        _set_limit("RLIMIT_AS", pages * resource.getpagesize() + max_memory_bytes)


def _limit_cpu(limits: QueryLimits) -> None:
    """Let this query use twice its time on the processor: the last resort if the parent cannot kill us."""
    _set_limit("RLIMIT_CPU", math.ceil(time.process_time() + 2 * limits.timeout_s + 2), hard=False)


def _set_limit(name: str, value: int, *, hard: bool = True) -> None:
    """Set one limit of this process, no higher than the system allows."""
    kind = getattr(resource, name)
    _, highest = resource.getrlimit(kind)
    if highest != resource.RLIM_INFINITY:
        value = min(value, highest)
    with contextlib.suppress(ValueError, OSError):  # a system that does not hold this limit
        resource.setrlimit(kind, (value, value if hard else highest))


if __name__ == "__main__":
    _serve()

"""A database in a process of its own: what it stops that nothing in this process can, and that no child stays."""

from __future__ import annotations

import contextlib
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sqlmetrics.databases import isolated
from sqlmetrics.databases.base import QueryLimits
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.databases.isolated import IsolatedDatabase
from sqlmetrics.databases.sqlite import SQLiteDatabase
from sqlmetrics.errors import (
    ConfigurationError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)

psutil = pytest.importorskip("psutil", reason="child processes are counted with psutil")
pytest.importorskip("resource", reason="this system has no process limits")

TIMEOUT_S = 1.0
MIB = 1024 * 1024
LOOP = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
ONE_LONG_CALL = "SELECT instr(hex(zeroblob(4999999)), hex(zeroblob(2000000)) || '1')"
UNSTOPPABLE = {
    "instr": ONE_LONG_CALL,
    "replace": "SELECT replace(hex(zeroblob(4999999)), hex(zeroblob(2499999)) || '1', '')",
    "random-columns": "SELECT " + ", ".join(["randomblob(9999999)"] * 500),
    "zero-columns": "SELECT " + ", ".join(["zeroblob(9999999)"] * 1900),
    "joined-columns": f"WITH h AS (SELECT hex(zeroblob(4900000)) h) SELECT {', '.join(['h || 1'] * 1900)} FROM h",
    "lengths": "SELECT " + " + ".join(["length(randomblob(9999999))"] * 500),
}
UNSTOPPABLE_DUCKDB = {
    "repeat": "SELECT repeat('x', 2000000000)",
    "repeat-in-rows": "SELECT repeat('x', 100000000) FROM range(50)",
    "range": "SELECT range(500000000)",
    "lpad": "SELECT lpad('x', 500000000, 'y')",
    "format": "SELECT format('{:>500000000}', 'x')",
    "printf": "SELECT printf('%500000000d', 1)",
    "bitstring": "SELECT bitstring('0', 500000000)",
    "list": "SELECT list(range) FROM range(2000000000)",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests."""
    path = tmp_path_factory.mktemp("isolated") / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)")
    return path


@pytest.fixture
def inner(path: Path) -> SQLiteDatabase:
    """The database that is wrapped."""
    return SQLiteDatabase(str(path), QueryLimits(timeout_s=TIMEOUT_S, max_cell_bytes=40_000_000))


@pytest.fixture
def database(inner: SQLiteDatabase) -> Iterator[IsolatedDatabase]:
    """The database in a process of its own; afterwards no child is left, not even a dead one."""
    with IsolatedDatabase(inner) as database:
        yield database
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[IsolatedDatabase]:
    """A DuckDB file in a process of its own."""
    duckdb = pytest.importorskip("duckdb")
    module = pytest.importorskip("sqlmetrics.databases.duckdb")
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest([1, 2]) AS x")
    inner = module.DuckDBDatabase(str(tmp_path / "shop.duckdb"), QueryLimits(timeout_s=TIMEOUT_S))
    with IsolatedDatabase(inner) as database:
        yield database


def pids(database: IsolatedDatabase) -> list[int]:
    """The process numbers of the idle children."""
    return [worker.process.pid for worker in database._idle]


def assert_stopped(database: IsolatedDatabase, sql: str) -> None:
    """The text is stopped in time, costs this process no memory, and the next query works."""
    database.check()
    before = psutil.Process().memory_info().rss
    started = time.perf_counter()
    with pytest.raises((QueryTimeoutError, ResultTooLargeError)):
        database.run(sql)
    assert time.perf_counter() - started < TIMEOUT_S + 1.0
    assert psutil.Process().memory_info().rss - before < 50 * MIB
    assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]


@pytest.mark.parametrize("sql", UNSTOPPABLE.values(), ids=UNSTOPPABLE)
def test_what_sqlite_cannot_stop_is_stopped(sql: str, database: IsolatedDatabase) -> None:
    assert_stopped(database, sql)


@pytest.mark.parametrize("sql", UNSTOPPABLE_DUCKDB.values(), ids=UNSTOPPABLE_DUCKDB)
def test_what_duckdb_cannot_stop_is_stopped(sql: str, duck: IsolatedDatabase) -> None:
    assert_stopped(duck, sql)


def test_a_query_gives_what_the_inner_database_gives(database: IsolatedDatabase, inner: SQLiteDatabase) -> None:
    sql = "SELECT x, x / 2.0, 'é', x'00ff', NULL FROM t"
    result, expected = database.run(sql), inner.run(sql)
    inner.close()
    assert (result.table.columns, result.table.rows) == (expected.table.columns, expected.table.rows)
    assert (result.types, result.truncated) == (expected.types, expected.truncated)


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("DELETE FROM t", QueryRejectedError, "DELETE is not a query"),
        ("SELECT nope FROM t", QueryError, "no such column: nope"),
        ("", QueryError, "holds no statement"),
        ("SELECT '\ud800'", QueryError, "surrogates not allowed"),
        ("SELECT zeroblob(99999999)", ResultTooLargeError, "max_cell_bytes"),
        (LOOP, QueryTimeoutError, r"timeout_s=1\)"),
    ],
)
def test_an_error_crosses_the_pipe(sql: str, error: type[QueryError], message: str, database: IsolatedDatabase) -> None:
    with pytest.raises(error, match=message) as caught:
        database.run(sql)
    assert type(caught.value) is error


def test_a_child_is_reused(database: IsolatedDatabase) -> None:
    database.run("SELECT 1")
    first = pids(database)
    with pytest.raises(QueryTimeoutError):
        database.run(LOOP)
    assert pids(database) == first


def test_a_query_in_a_running_child_is_quick(database: IsolatedDatabase) -> None:
    database.check()
    started = time.perf_counter()
    for _ in range(100):
        database.run("SELECT x FROM t")
    assert time.perf_counter() - started < 1.0


def test_a_large_result_crosses_the_pipe(database: IsolatedDatabase) -> None:
    result = database.run("SELECT hex(zeroblob(4000000)) FROM t")
    assert [len(row[0]) for row in result.table.rows] == [8_000_000, 8_000_000]


def test_a_long_text_crosses_the_pipe(database: IsolatedDatabase) -> None:
    assert database.run(f"SELECT length('{'x' * 500_000}')").table.rows == [(500_000,)]


def test_memory_is_limited_as_asked(inner: SQLiteDatabase) -> None:
    with IsolatedDatabase(inner, max_memory_bytes=30 * MIB) as small, pytest.raises(ResultTooLargeError):
        small.run("SELECT zeroblob(9000000), zeroblob(9000000), zeroblob(9000000), zeroblob(9000000)")


def test_other_limits_reach_the_child(database: IsolatedDatabase) -> None:
    with database.with_limits(max_cell_bytes=1000) as strict, pytest.raises(ResultTooLargeError):
        strict.run("SELECT zeroblob(1001)")


def test_limits_of_one_query_reach_the_child(database: IsolatedDatabase) -> None:
    assert database.run("SELECT x FROM t", limits=QueryLimits(max_rows=1)).truncated


def test_a_query_is_cancelled_within_a_call(database: IsolatedDatabase) -> None:
    database.check()
    cancellation, started = Cancellation(), time.perf_counter()
    threading.Timer(0.2, cancellation.cancel).start()
    with pytest.raises(QueryTimeoutError, match="was cancelled"):
        database.run(ONE_LONG_CALL, cancellation=cancellation)
    assert time.perf_counter() - started < 0.8


def test_eight_threads_have_a_child_each(database: IsolatedDatabase) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(database.run, [f"SELECT {n}" for n in range(64)]))
    assert [result.table.rows for result in results] == [[(n,)] for n in range(64)]
    assert 1 <= len(pids(database)) <= 8


def test_an_idle_child_that_died_is_replaced(database: IsolatedDatabase) -> None:
    database.check()
    psutil.Process(pids(database)[0]).kill()
    psutil.wait_procs([psutil.Process(pid) for pid in pids(database)], timeout=0.5)
    assert database.run("SELECT 1").table.rows == [(1,)]


def test_a_child_that_dies_within_a_query_is_reported(database: IsolatedDatabase) -> None:
    database.check()
    child = psutil.Process(pids(database)[0])
    threading.Timer(0.3, child.kill).start()
    with pytest.raises(ResultTooLargeError, match="worker process died"):
        database.run(LOOP)


def test_closing_ends_the_children(database: IsolatedDatabase) -> None:
    database.check()
    (child,) = psutil.Process().children()
    database.close()
    assert not child.is_running()


def test_a_forgotten_database_ends_its_children(inner: SQLiteDatabase) -> None:
    database = IsolatedDatabase(inner)
    database.check()
    (child,) = psutil.Process().children()
    del database
    assert not child.is_running()


def test_a_child_ends_with_its_parent(path: Path) -> None:
    script = f"""
import os
from sqlmetrics.databases.isolated import IsolatedDatabase
from sqlmetrics.databases.sqlite import SQLiteDatabase
database = IsolatedDatabase(SQLiteDatabase({str(path)!r}))
database.check()
print(database._idle[0].process.pid, flush=True)
os._exit(1)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    pid = int(done.stdout)
    assert ended_within(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie", 5.0)


def ended_within(ended: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if ended():
            return True
        time.sleep(0.02)
    return False


def test_a_forked_child_starts_its_own_worker(database: IsolatedDatabase) -> None:
    database.check()
    child = os.fork()
    if child == 0:
        right = database.run("SELECT count(*) FROM t").table.rows == [(2,)]
        database.close()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert database.run("SELECT 1").table.rows == [(1,)]


def test_a_copy_from_a_pickle_works(database: IsolatedDatabase) -> None:
    with pickle.loads(pickle.dumps(database)) as copy:
        assert copy.run("SELECT 5").table.rows == [(5,)]


def test_the_child_sees_none_of_the_callers_secrets(
    database: IsolatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    database.check()
    assert "OPENAI_API_KEY" not in psutil.Process(pids(database)[0]).environ()


def test_it_answers_for_the_inner_database(database: IsolatedDatabase, inner: SQLiteDatabase) -> None:
    mirrored = (database.dialect, database.in_process, database.label, database.limits)
    assert mirrored == (inner.dialect, inner.in_process, inner.label, inner.limits)


def test_a_missing_file_is_a_wrong_configuration(tmp_path: Path) -> None:
    with (
        IsolatedDatabase(SQLiteDatabase(str(tmp_path / "none.sqlite"))) as database,
        pytest.raises(ConfigurationError, match="There is no SQLite file"),
    ):
        database.run("SELECT 1")


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5])
def test_a_wrong_memory_limit_is_refused(wrong: int, inner: SQLiteDatabase) -> None:
    with pytest.raises(ConfigurationError, match="max_memory_bytes"):
        IsolatedDatabase(inner, max_memory_bytes=wrong)


def test_a_system_without_process_limits_is_named(inner: SQLiteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "resource", None)
    with pytest.raises(ConfigurationError, match="process limits"):
        IsolatedDatabase(inner)


def test_a_database_that_cannot_be_pickled_is_named(inner: SQLiteDatabase) -> None:
    class Local(SQLiteDatabase):
        """Known to this function only."""

    with IsolatedDatabase(Local(inner.target)) as database, pytest.raises(ConfigurationError, match="cannot be sent"):
        database.check()

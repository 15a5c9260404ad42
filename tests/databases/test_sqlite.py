"""SQLite: what it returns, and every attack of the corpus and more, with their side effects."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics.databases.base import QueryLimits, QueryResult
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.databases.sqlite import SQLiteDatabase
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)

psutil = pytest.importorskip("psutil", reason="memory is measured with psutil")

TIMEOUT_S = 1.0
MEMORY_BYTES = 500_000_000
FRAGMENTED_BYTES = 600_000_000
"""For texts whose values grow from row to row: no freed block fits the next value, so each counts twice."""

LOOK_AGAIN_S = 0.01
"""A look at the file is good for some two milliseconds."""

ATTACKS = [
    attack
    for line in (Path(__file__).parents[1] / "cases" / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    if (attack := json.loads(line))["engine"] == "sqlite"
]
SCHEMA = """
CREATE TABLE t(x); INSERT INTO t VALUES (1), (2);
CREATE TABLE big(x);
WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < 2999) INSERT INTO big SELECT x FROM c;
CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('red fox'), ('blue hen');
CREATE VIRTUAL TABLE boxes USING rtree(id, low, high); INSERT INTO boxes VALUES (1, 0, 5), (2, 3, 9);
CREATE TABLE latin(name TEXT); INSERT INTO latin VALUES (CAST(x'4dfc6c6c6572' AS TEXT)), ('plain');
"""
LOOP = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def build(path: Path) -> Path:
    """Create a database with an ordinary, a full-text and a spatial table and a text that is no UTF-8."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests that must not change it."""
    return build(tmp_path_factory.mktemp("sqlite") / "shop.sqlite")


@pytest.fixture
def database(path: Path) -> Iterator[SQLiteDatabase]:
    """The database with a short timeout."""
    with SQLiteDatabase(str(path), QueryLimits(timeout_s=TIMEOUT_S)) as database:
        database.check()
        yield database


def settings(database: SQLiteDatabase) -> dict[str, Any]:
    """What the idle connection is set to, read past its authorizer."""
    connection = database._idle[-1][0]
    connection.set_authorizer(None)
    names = ("query_only", "writable_schema", "journal_mode", "cache_size", "temp_store_directory", "trusted_schema")
    return {name: connection.execute(f"PRAGMA {name}").fetchall() for name in names}


@contextlib.contextmanager
def nothing_happens(path: Path, monkeypatch: pytest.MonkeyPatch, memory_bytes: int = MEMORY_BYTES) -> Iterator[None]:
    """Hold a block to its time and memory, and make sure that it leaves no trace on disk and no work behind."""
    monkeypatch.chdir(path.parent)
    files = {file: hashlib.sha256(file.read_bytes()).digest() for file in path.parent.iterdir() if file.is_file()}
    with memory_bounded(memory_bytes):
        started = time.perf_counter()
        yield
        assert time.perf_counter() - started < TIMEOUT_S + 1.0
    assert {f: hashlib.sha256(f.read_bytes()).digest() for f in path.parent.iterdir() if f.is_file()} == files
    used = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - used < 0.05


@contextlib.contextmanager
def memory_bounded(memory_bytes: int) -> Iterator[None]:
    """Watch the memory of this process every five milliseconds."""
    process = psutil.Process()
    before = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert peak - before < memory_bytes


def attempt(database: SQLiteDatabase, sql: str) -> QueryResult | QueryError:
    """Run a text; what it raises is an answer as well."""
    try:
        return database.run(sql)
    except QueryError as error:
        return error


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack["id"] for attack in ATTACKS])
def test_an_attack_of_the_corpus_changes_nothing(
    attack: dict[str, str], database: SQLiteDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteDatabase(str(path)) as untouched:
        untouched.check()
        before = settings(untouched)
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, attack["sql"])
    assert database.run("SELECT x FROM t").table.rows == [(1,), (2,)]
    assert settings(database) == before
    if not attack["expected"].startswith("ends within"):
        assert isinstance(outcome, QueryError)


WRITES = {
    "cte-delete": "WITH d AS (SELECT 1) DELETE FROM t",
    "cte-insert": "WITH d AS (SELECT 1) INSERT INTO t SELECT * FROM d",
    "cte-update": "WITH d AS (SELECT 1) UPDATE t SET x = 0",
    "cte-replace": "WITH d AS (SELECT 1) REPLACE INTO t SELECT * FROM d",
    "comment-before": "/* a query */ DELETE FROM t",
    "line-comment-before": "-- a query\nDELETE FROM t",
    "comment-inside": "DELETE/**/FROM/**/t",
    "upsert": "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING RETURNING x",
    "bom-before": "\ufeffDELETE FROM t",
    "no-break-space-before": "\u00a0DELETE FROM t",
    "em-space-before": "\u2003DELETE FROM t",
    "form-feed-before": "\fDELETE FROM t",
    "semicolon-before": ";;; DELETE FROM t",
    "after-semicolon-comment": "SELECT 1;/* more */DELETE FROM t",
    "full-text": "INSERT INTO words(words) VALUES ('rebuild')",
    "full-text-shadow": "DELETE FROM words_data",
    "spatial": "DELETE FROM boxes",
    "schema": "UPDATE sqlite_master SET sql = ''",
    "temp-view": "CREATE TEMP VIEW v AS SELECT 1",
    "virtual-table": "CREATE VIRTUAL TABLE z USING fts5(a)",
    "detach": "DETACH main",
    "rollback": "ROLLBACK",
    "release": "RELEASE s",
    "end": "END",
    "user-version": "PRAGMA user_version = 7",
    "pragma-after-comment": "/**/PRAGMA user_version = 7",
}
LEAKS = {
    "explain": "EXPLAIN SELECT 1",
    "explain-plan": "EXPLAIN QUERY PLAN SELECT 1",
    "pragma-function": "SELECT * FROM pragma_query_only",
    "table-info": "SELECT * FROM pragma_table_info('t')",
    "function-list": "SELECT * FROM pragma_function_list",
    "pages": "SELECT * FROM sqlite_dbpage",
    "page-use": "SELECT * FROM dbstat",
    "statements": "SELECT * FROM sqlite_stmt",
    "readfile": "SELECT readfile('shop.sqlite')",
    "writefile": "SELECT writefile('out', 'x')",
    "edit": "SELECT edit('x', 'true')",
    "directory": "SELECT * FROM fsdir('/')",
    "csv": "SELECT * FROM csv('shop.sqlite')",
    "spatial-check": "SELECT rtreecheck('main', 'boxes')",
    "extension-in-cte": "WITH e AS (SELECT load_extension('x')) SELECT * FROM e",
}
BROKEN = {
    "surrogate": "SELECT '\ud800'",
    "byte-surrogate": "SELECT '\udc80'",
    "open-comment": "SELECT 1 FROM /*",
    "only-open-comment": "/* nothing",
    "nul": "SELECT 1\x00; DELETE FROM t",
    "nul-first": "\x00SELECT 1",
    "question-mark": "SELECT ?",
    "named-parameter": "SELECT :x",
    "deep-parentheses": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "deep-not": "SELECT " + "NOT " * 20_000 + "1",
    "many-unions": " UNION ".join(["SELECT 1"] * 600),
    "many-columns": "SELECT " + ", ".join(["1"] * 3000),
    "long-text": "SELECT " + "1" * 2_000_000,
    "unclosed-bracket": "SELECT [x FROM t",
}
HEAVY = {
    "printf-star-text": "SELECT printf('%*c', '900000000', 'x')",
    "printf-precision-text": "SELECT printf('%.*c', '900000000', 'x')",
    "printf-precision-blob": "SELECT printf('%.*c', x'393030303030303030', 'x')",
    "printf-many-precisions": "SELECT printf(replace(hex(zeroblob(2000)), '00', '%.9999999c'), 'x')",
    "printf-many-widths": "SELECT printf(replace(hex(zeroblob(2000)), '00', '%9999999d'), 1)",
    "printf-concatenated": "SELECT printf('%' || '900000000' || 'c', 'x')",
    "printf-negative-star": "SELECT printf('%*d', -900000000, 1)",
    "format": "SELECT format('%900000000d', 1)",
    "printf-in-rows": "SELECT max(length(printf('%9000000d', a.x))) FROM big a, big b",
    "nested-replace": "SELECT replace(replace(hex(zeroblob(4000000)), '0', 'abc'), 'a', 'bcd')",
    "doubling": "WITH RECURSIVE c(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM c) SELECT max(length(s)) FROM c",
    "group-concat": "SELECT group_concat(hex(zeroblob(1000000))) FROM big",
    "growing-window": "SELECT x, group_concat(hex(zeroblob(1500))) OVER (ORDER BY x) FROM big",
    "growing-json": "SELECT json_group_array(hex(zeroblob(1500))) OVER (ORDER BY x) FROM big",
    "json-rows": "SELECT count(*) FROM json_each('[' || replace(hex(zeroblob(1000000)), '00', '1,') || '1]') a, big",
    "json-nesting": "SELECT json('[' || replace(hex(zeroblob(400000)), '00', '[],') || '1]')",
    "like": "SELECT hex(zeroblob(4999999)) LIKE '%' || replace(hex(zeroblob(1000)), '00', '0%') || '1'",
    "like-in-rows": "SELECT count(*) FROM big a, big b WHERE hex(zeroblob(99999)) LIKE '%1%2%'",
    "glob": "SELECT hex(zeroblob(4999999)) GLOB replace(hex(zeroblob(1200)), '00', '*0') || '1'",
    "huge-rows": "SELECT randomblob(9999999) FROM big",
    "zero-rows-later": "SELECT CASE WHEN x < 200 THEN 1 ELSE zeroblob(9999999) END FROM big",
    "huge-rows-later": "SELECT CASE WHEN x < 200 THEN 1 ELSE randomblob(9999999) END FROM big",
    "huge-distinct": "SELECT DISTINCT hex(randomblob(4000000)) FROM big",
    "huge-sort": "SELECT hex(randomblob(400000)) h FROM big ORDER BY h",
    "some-huge-columns": "SELECT " + ", ".join(["zeroblob(9999999)"] * 8),
    "strftime": "SELECT strftime(replace(hex(zeroblob(1000000)), '00', '%Y%Y%Y%Y'), 'now')",
    "many-terms": "SELECT 1 WHERE 1 IN (" + ",".join(map(str, range(10_000))) + ")",
    "loop-in-subquery": f"SELECT * FROM t WHERE x IN ({LOOP})",
    "loop-in-exists": "SELECT EXISTS (SELECT 1 FROM big a, big b, big c, big d WHERE a.x + b.x + c.x + d.x < 0)",
    "loop-of-blobs": "WITH RECURSIVE c(i, s) AS (SELECT 1, zeroblob(9e6) UNION SELECT i + 1, s FROM c) SELECT * FROM c",
    "triangle-sort": "SELECT * FROM big a JOIN big b JOIN big c ORDER BY a.x || b.x || c.x",
}


@pytest.mark.parametrize("sql", WRITES.values(), ids=WRITES)
def test_a_disguised_write_is_refused(
    sql: str, database: SQLiteDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, sql)
    assert isinstance(outcome, QueryRejectedError)


@pytest.mark.parametrize("sql", [*LEAKS.values(), *BROKEN.values()], ids=[*LEAKS, *BROKEN])
def test_a_leak_or_a_broken_text_is_an_error(
    sql: str, database: SQLiteDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, sql)
    assert isinstance(outcome, QueryError)


@pytest.mark.parametrize("sql", HEAVY.values(), ids=HEAVY)
def test_a_heavy_text_ends_in_time_and_memory(
    sql: str, database: SQLiteDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_happens(path, monkeypatch, FRAGMENTED_BYTES if "OVER (" in sql else MEMORY_BYTES):
        attempt(database, sql)
    assert database.run("SELECT count(*) FROM big").table.rows == [(3000,)]


@pytest.mark.parametrize("sql", ["", "  ", "-- nothing", "/* nothing */", ";", "\ufeff"])
def test_a_text_without_a_statement_says_so(sql: str, database: SQLiteDatabase) -> None:
    with pytest.raises(QueryError, match="holds no statement"):
        database.run(sql)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT body FROM words WHERE words MATCH 'fox'", [("red fox",)]),
        ("SELECT id FROM boxes WHERE low > 1", [(2,)]),
        ("SELECT value FROM json_each('[4, 5]')", [(4,), (5,)]),
        ("SELECT value FROM json_tree('[4]') WHERE atom IS NOT NULL", [(4,)]),
        ("SELECT printf('%5.1f|%-4d|%05d', 2.5, 3, 42)", [("  2.5|3   |00042",)]),
        ("SELECT printf('order 20231231000: %d', 5)", [("order 20231231000: 5",)]),
        ("SELECT printf('%*d', 4, 2023)", [("2023",)]),
        ("SELECT printf(NULL)", [(None,)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("\ufeffSELECT 1; -- done", [(1,)]),
    ],
)
def test_an_honest_query_runs(sql: str, rows: list[tuple[Any, ...]], database: SQLiteDatabase) -> None:
    assert database.run(sql).table.rows == rows


def test_bytes_that_are_no_utf8_are_kept(database: SQLiteDatabase) -> None:
    result = database.run("SELECT name FROM latin")
    assert result.table.rows == [("M\udcfcller",), ("plain",)]
    assert result.undecodable


def test_rows_past_the_cap_are_marked(database: SQLiteDatabase) -> None:
    result = database.run("SELECT x FROM big", limits=QueryLimits(max_rows=100))
    assert (len(result.table.rows), result.truncated) == (100, True)


def test_rows_up_to_the_cap_are_not_marked(database: SQLiteDatabase) -> None:
    result = database.run("SELECT x FROM big", limits=QueryLimits(max_rows=3000))
    assert (len(result.table.rows), result.truncated) == (3000, False)


def test_bytes_past_the_cap_are_marked(database: SQLiteDatabase) -> None:
    result = database.run("SELECT zeroblob(100000) FROM big", limits=QueryLimits(max_bytes=1_000_000))
    assert result.truncated
    assert len(result.table.rows) < 100


def test_a_large_value_is_refused_by_its_limit(path: Path) -> None:
    with (
        SQLiteDatabase(str(path), QueryLimits(max_cell_bytes=1000)) as database,
        pytest.raises(ResultTooLargeError),
    ):
        database.run("SELECT zeroblob(1001)")


@pytest.mark.parametrize("name", ["q?mode=rw.sqlite", "h#h.sqlite", "p%20%41.sqlite", "s p'q\".sqlite", "ü\u00a0.db"])
def test_any_file_name_works(name: str, tmp_path: Path) -> None:
    build(tmp_path / name)
    with SQLiteDatabase(str(tmp_path / name)) as database:
        assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_link_is_followed_to_where_it_points_now(tmp_path: Path) -> None:
    first, second, link = build(tmp_path / "1.sqlite"), build(tmp_path / "2.sqlite"), tmp_path / "link.sqlite"
    with contextlib.closing(sqlite3.connect(second)) as connection:
        connection.execute("DELETE FROM t")
        connection.commit()
    link.symlink_to(first)
    with SQLiteDatabase(str(link)) as database:
        assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
        link.unlink()
        link.symlink_to(second)
        time.sleep(LOOK_AGAIN_S)
        assert database.run("SELECT count(*) FROM t").table.rows == [(0,)]


def test_a_replaced_file_is_opened_again(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.sqlite")
    with SQLiteDatabase(str(path)) as database:
        assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
        with contextlib.closing(sqlite3.connect(tmp_path / "new")) as connection:
            connection.executescript("CREATE TABLE t(x)")
        (tmp_path / "new").replace(path)
        time.sleep(LOOK_AGAIN_S)
        assert database.run("SELECT count(*) FROM t").table.rows == [(0,)]


@pytest.mark.parametrize("writing", [False, True], ids=["without-log", "with-log"])
def test_a_file_with_a_write_ahead_log_is_read_without_a_trace(writing: bool, tmp_path: Path) -> None:
    path = build(tmp_path / "shop.sqlite")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO t VALUES (3)")
    writer.commit()
    if not writing:
        writer.close()
    before = set(tmp_path.iterdir())
    with SQLiteDatabase(str(path)) as database:
        assert database.run("SELECT count(*) FROM t").table.rows == [(3,)]
    assert set(tmp_path.iterdir()) == before
    writer.close()


def test_a_directory_that_cannot_be_written_is_enough(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with SQLiteDatabase(str(path)) as database:
            assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.sqlite", None, "There is no SQLite file"),
        (".", None, "is a directory"),
        ("bad", b"hello" * 500, "cannot"),
    ],
)
def test_a_target_that_is_no_database_is_named(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    with SQLiteDatabase(str(tmp_path / name)) as database, pytest.raises(ConfigurationError, match=message):
        database.check()
    assert sorted(tmp_path.iterdir()) == before


def test_a_locked_file_is_the_databases_fault(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.sqlite")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with SQLiteDatabase(str(path), QueryLimits(timeout_s=0.2)) as database:
            with pytest.raises(DatabaseError) as caught:
                database.run("SELECT 1 FROM t")
            assert not isinstance(caught.value, QueryError)


def test_a_new_connection_leaves_the_locks_of_this_process_alone(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.sqlite")
    with SQLiteDatabase(str(path)) as database:
        database.check()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with SQLiteDatabase(str(path)) as database:
            database.check()
        assert not could_lock_elsewhere(path)


def could_lock_elsewhere(path: Path) -> bool:
    """Whether a child process can begin to write."""
    child = os.fork()
    if child == 0:
        try:
            sqlite3.connect(path, timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_a_forked_child_opens_its_own_connection(database: SQLiteDatabase) -> None:
    database.run("SELECT 1")
    child = os.fork()
    if child == 0:
        os._exit(0 if database.run("SELECT count(*) FROM t").table.rows == [(2,)] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_has_its_own_deadlines(database: SQLiteDatabase) -> None:
    database.run("SELECT 1")
    child = os.fork()
    if child == 0:
        os._exit(0 if isinstance(attempt(database, LOOP), QueryTimeoutError) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_copy_from_a_pickle_works(database: SQLiteDatabase) -> None:
    with pickle.loads(pickle.dumps(database)) as copy:
        assert copy.run("SELECT x FROM t").table.rows == database.run("SELECT x FROM t").table.rows


def test_eight_threads_share_one_database(database: SQLiteDatabase) -> None:
    queries = [f"SELECT {n} + count(*) FROM big a, big b WHERE a.x < 50" for n in range(32)]
    with ThreadPoolExecutor(8) as pool:
        rows = [result.table.rows for result in pool.map(database.run, queries)]
    assert rows == [[(n + 150_000,)] for n in range(32)]


def test_a_loop_does_not_stop_the_threads_beside_it(database: SQLiteDatabase) -> None:
    with ThreadPoolExecutor(2) as pool:
        loop = pool.submit(attempt, database, LOOP)
        quick = [pool.submit(database.run, "SELECT 1").result(timeout=TIMEOUT_S) for _ in range(20)]
        assert len(quick) == 20
        assert isinstance(loop.result(timeout=TIMEOUT_S + 1), QueryTimeoutError)


def test_a_query_is_cancelled_from_another_thread(path: Path) -> None:
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    started = time.perf_counter()
    with SQLiteDatabase(str(path)) as database, pytest.raises(QueryTimeoutError, match="was cancelled"):
        database.run(LOOP, cancellation=cancellation)
    assert time.perf_counter() - started < 1.0

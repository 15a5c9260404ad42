"""DuckDB: what it returns, and every attack of the corpus and more, with their side effects."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb")
psutil = pytest.importorskip("psutil", reason="memory is measured with psutil")

from sqlmetrics.databases.base import QueryLimits, QueryResult  # noqa: E402 - after the driver is known to exist
from sqlmetrics.databases.deadline import Cancellation  # noqa: E402
from sqlmetrics.databases.duckdb import DuckDBDatabase  # noqa: E402
from sqlmetrics.errors import (  # noqa: E402
    ConfigurationError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)

TIMEOUT_S = 1.0
MEMORY_BYTES = 500_000_000
ATTACKS = [
    attack
    for line in (Path(__file__).parents[1] / "cases" / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    if (attack := json.loads(line))["engine"] == "duckdb"
]
LOOP = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def build(path: Path, rows: str = "(1), (2)") -> Path:
    """Create a database."""
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t(x INTEGER)")
        connection.execute(f"INSERT INTO t VALUES {rows}")
        connection.execute("CREATE TABLE big AS SELECT range::INTEGER AS x FROM range(3000)")
        connection.execute("CREATE SEQUENCE s")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests that must not change it."""
    return build(tmp_path_factory.mktemp("duckdb") / "shop.duckdb")


@pytest.fixture
def database(path: Path) -> Iterator[DuckDBDatabase]:
    """The database with a short timeout."""
    with DuckDBDatabase(str(path), QueryLimits(timeout_s=TIMEOUT_S)) as database:
        database.check()
        yield database


def settings(database: DuckDBDatabase) -> list[tuple[Any, ...]]:
    """All settings and what else a statement could leave behind in the instance."""
    names = ("settings", "external_resource_types", "external_resources", "logs")
    queries = [f"SELECT '{name}', to_json(f)::VARCHAR FROM duckdb_{name}() f" for name in names]
    queries.append("SELECT 'databases', database_name FROM duckdb_databases()")
    return sorted(database.run(" UNION ALL ".join(queries)).table.rows)


@contextlib.contextmanager
def nothing_happens(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold a block to its time and memory, and make sure that it leaves no trace on disk and no work behind."""
    monkeypatch.chdir(path.parent)
    files = {file: hashlib.sha256(file.read_bytes()).digest() for file in path.parent.rglob("*") if file.is_file()}
    with memory_bounded():
        started = time.perf_counter()
        yield
        assert time.perf_counter() - started < TIMEOUT_S + 1.0
    assert {f: hashlib.sha256(f.read_bytes()).digest() for f in path.parent.rglob("*") if f.is_file()} == files
    used = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - used < 0.05


@contextlib.contextmanager
def memory_bounded() -> Iterator[None]:
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
    assert peak - before < MEMORY_BYTES


def attempt(database: DuckDBDatabase, sql: str) -> QueryResult | QueryError:
    """Run a text; what it raises is an answer as well."""
    gold_frame = pytest.importorskip("pandas").DataFrame({"secret": [1]})
    try:
        return database.run(sql)
    except QueryError as error:
        return error
    finally:
        del gold_frame


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack["id"] for attack in ATTACKS])
def test_an_attack_of_the_corpus_changes_nothing(
    attack: dict[str, str], database: DuckDBDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings(database)
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, attack["sql"])
    assert settings(database) == before
    assert database.run("SELECT x FROM t").table.rows == [(1,), (2,)]
    assert isinstance(outcome, QueryError)


REFUSED = {
    "cte-delete": "WITH d AS (DELETE FROM t RETURNING x) SELECT * FROM d",
    "cte-insert": "WITH d AS (INSERT INTO t VALUES (9) RETURNING x) SELECT * FROM d",
    "cte-update": "WITH d AS (UPDATE t SET x = 0 RETURNING x) SELECT * FROM d",
    "cte-copy": "WITH d AS (COPY t TO 'leak.csv') SELECT * FROM d",
    "cte-copy-comment": "WITH d AS (/**/COPY t TO 'leak.csv') SELECT * FROM d",
    "cte-copy-to-itself": "WITH d AS (COPY (SELECT 1) TO 'shop.duckdb') SELECT * FROM d",
    "cte-before-delete": "WITH d AS (SELECT 1) DELETE FROM t",
    "comment-before": "/* a query */ DELETE FROM t",
    "after-comment": "SELECT 1;/* more */DELETE FROM t",
    "bom-before": "\ufeffDELETE FROM t",
    "no-break-space-before": "\u00a0DELETE FROM t",
    "semicolon-before": ";;; DELETE FROM t",
    "explain": "EXPLAIN SELECT 1",
    "explain-analyze": "EXPLAIN ANALYZE DELETE FROM t",
    "call": "CALL pragma_version()",
    "checkpoint": "CHECKPOINT",
    "checkpoint-function": "SELECT * FROM checkpoint()",
    "force-checkpoint": "SELECT * FROM force_checkpoint()",
    "pragma": "PRAGMA threads = 4",
    "reset": "RESET memory_limit",
    "use": "USE memory",
    "variable": "SET VARIABLE x = 1",
    "macro": "CREATE TEMP MACRO f(x) AS x",
    "secret": "CREATE SECRET (TYPE http)",
    "attach-memory": "ATTACH ':memory:' AS m",
    "detach": "DETACH shop",
    "import": "IMPORT DATABASE 'x'",
    "vacuum": "VACUUM",
    "execute": "EXECUTE p",
    "pivot-type": "PIVOT t ON x",
    "nextval": "SELECT nextval('s')",
    "query": "SELECT * FROM query('SELECT 1')",
    "quoted-query": "SELECT * FROM \"query\" /* x */ ('SELECT 1')",
    "json-query": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "two-comments": "SELECT * /* */ FROM /* */ query('SELECT 1')",
    "resource-type": "SELECT * FROM register_external_resource_type('z', kind='k', create_function='range')",
    "destroy": "SELECT * FROM destroy_external_resource('range', 1)",
    "logging": "SELECT * FROM enable_logging()",
    "profiling": "SELECT * FROM enable_profiling()",
    "grammar": "SELECT * FROM add_grammar_extension('x')",
    "write-log": "SELECT write_log('x')",
    "truncate-logs": "SELECT * FROM truncate_duckdb_logs()",
    "read-blob": "SELECT * FROM read_blob('/etc/hostname')",
    "read-json": "SELECT * FROM read_json('/etc/hostname')",
    "sniff": "SELECT * FROM sniff_csv('/etc/passwd')",
    "parquet": "SELECT * FROM parquet_metadata('/etc/passwd')",
    "read-duckdb": "SELECT * FROM read_duckdb('/other.duckdb')",
    "remote": "SELECT * FROM read_csv('https://localhost/x.csv')",
    "secrets": "SELECT * FROM duckdb_secrets()",
}
BROKEN = {
    "path": "SELECT * FROM '/etc/passwd'",
    "python-variable": "SELECT * FROM ATTACKS",
    "pointer": "SELECT * FROM pandas_scan(140000000000)",
    "environment": "SELECT getenv('HOME')",
    "surrogate": "SELECT '\ud800'",
    "open-comment": "SELECT 1 /* x",
    "nested-comment": "SELECT * FROM /* /* */ query('SELECT 1') /* */ */",
    "open-text": "SELECT 'x",
    "open-dollar": "SELECT $$x",
    "nul": "SELECT 1\x00; DELETE FROM t",
    "question-mark": "SELECT ?",
    "named-parameter": "SELECT $x",
    "deep-parentheses": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "long-sum": "SELECT 1" + " + 1" * 20_000,
    "empty": "",
    "only-semicolons": ";;",
    "only-comment": "-- nothing",
    "fence": "```sql\nSELECT 1\n```",
    "conversion": "SELECT CAST('a' AS INTEGER)",
    "overflow": "SELECT 9223372036854775807 + 1",
    "unknown-column": "SELECT nope FROM t",
    "list-of-everything": "SELECT list(a.x) FROM big a, big b, big c",
    "joined-text": "SELECT string_agg(a.x::VARCHAR, ',') FROM big a, big b, big c",
    "loop-in-subquery": f"SELECT * FROM t WHERE x IN ({LOOP})",
    "sleep": "SELECT sleep_ms(60000)",
    "long-sort": "SELECT a.x FROM big a, big b, big c ORDER BY random()",
    "window": "SELECT sum(a.x) OVER (ORDER BY random()) FROM big a, big b, big c",
}
HEAVY = {
    "many-rows": "SELECT range FROM range(1000000000)",
    "many-terms": "SELECT 1 WHERE 1 IN (" + ",".join(map(str, range(10_000))) + ")",
    "many-unions": " UNION ALL ".join(["SELECT 1"] * 500),
    "deep-lists": "SELECT " + "[" * 300 + "1" + "]" * 300,
    "many-columns": "SELECT " + ", ".join(["repeat('x', 10000)"] * 1000),
    "wide-rows": "SELECT repeat('x', 20000) FROM range(100000)",
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED)
def test_what_is_no_plain_query_is_refused(
    sql: str, database: DuckDBDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings(database)
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, sql)
    assert isinstance(outcome, QueryRejectedError)
    assert settings(database) == before


@pytest.mark.parametrize("sql", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_answered_is_an_error(
    sql: str, database: DuckDBDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_happens(path, monkeypatch):
        outcome = attempt(database, sql)
    assert isinstance(outcome, QueryError)
    assert database.run("SELECT x FROM t").table.rows == [(1,), (2,)]


@pytest.mark.parametrize("sql", HEAVY.values(), ids=HEAVY)
def test_a_heavy_text_ends_in_time_and_memory(
    sql: str, database: DuckDBDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_happens(path, monkeypatch):
        attempt(database, sql)
    assert database.run("SELECT count(*) FROM big").table.rows == [(3000,)]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("FROM t", [(1,), (2,)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("SELECT * FROM shop.main.t", [(1,), (2,)]),
        ("SHOW TABLES", [("big",), ("t",)]),
        ("PIVOT t ON x IN (1, 2) USING count(*)", [(1, 1)]),
        ("\ufeff SELECT 1;; -- done", [(1,)]),
        ("SELECT 1 WHERE 'query (x)' <> 'copy (y)'", [(1,)]),
        ("SELECT copy, query FROM (SELECT 1 AS copy, 2 AS query)", [(1, 2)]),
        ("SELECT 1.50::DECIMAL(4, 2), DATE '2020-01-31', [1, NULL], {'a': 1}, '\\xAA'::BLOB", None),
    ],
)
def test_an_honest_query_runs(sql: str, rows: list[tuple[Any, ...]] | None, database: DuckDBDatabase) -> None:
    values = [(Decimal("1.50"), datetime.date(2020, 1, 31), [1, None], {"a": 1}, b"\xaa")]
    assert database.run(sql).table.rows == (rows or values)


def test_column_types_are_the_engines(database: DuckDBDatabase) -> None:
    result = database.run("SELECT x, x * 1.5 AS y, 'a' AS x FROM t")
    assert (result.table.columns, result.types) == (("x", "y", "x"), ("INTEGER", "DECIMAL(12,1)", "VARCHAR"))


def test_rows_past_the_cap_are_marked(database: DuckDBDatabase) -> None:
    result = database.run("SELECT x FROM big", limits=QueryLimits(max_rows=100))
    assert (len(result.table.rows), result.truncated) == (100, True)


def test_the_engines_memory_is_limited(database: DuckDBDatabase) -> None:
    with pytest.raises(ResultTooLargeError, match="Out of Memory"):
        database.run("SELECT list(range) FROM range(2000000000)")


def test_a_query_past_its_deadline_is_a_timeout(database: DuckDBDatabase) -> None:
    with pytest.raises(QueryTimeoutError, match=r"timeout_s=0\.2"):
        database.run(LOOP, limits=QueryLimits(timeout_s=0.2))


def test_a_query_is_cancelled_from_another_thread(path: Path) -> None:
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    started = time.perf_counter()
    with DuckDBDatabase(str(path)) as database, pytest.raises(QueryTimeoutError, match="was cancelled"):
        database.run(LOOP, cancellation=cancellation)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("name", ["q?a=1.duckdb", "h#h.duckdb", "p%20.duckdb", "s p'q\".db", "g[1]*.db", "memory.db"])
def test_any_file_name_works(name: str, tmp_path: Path) -> None:
    build(tmp_path / "plain").rename(tmp_path / name)
    with DuckDBDatabase(str(tmp_path / name)) as database:
        assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_link_is_followed_to_where_it_points_now(tmp_path: Path) -> None:
    first, second, link = build(tmp_path / "1.db"), build(tmp_path / "2.db", "(5)"), tmp_path / "link.db"
    link.symlink_to(first)
    with DuckDBDatabase(str(link)) as database:
        assert database.run("SELECT x FROM t").table.rows == [(1,), (2,)]
        link.unlink()
        link.symlink_to(second)
        assert database.run("SELECT x FROM t").table.rows == [(5,)]


def test_a_replaced_file_is_opened_again(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.duckdb")
    with DuckDBDatabase(str(path)) as database, DuckDBDatabase(str(path)) as other:
        assert database.run("SELECT x FROM t").table.rows == [(1,), (2,)]
        build(tmp_path / "new", "(7)").replace(path)
        assert database.run("SELECT x FROM t").table.rows == [(7,)]
        assert other.run("SELECT x FROM t").table.rows == [(7,)]


def test_a_file_replaced_under_a_running_query_is_opened_again(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.duckdb")
    limits = QueryLimits(timeout_s=TIMEOUT_S)
    with DuckDBDatabase(str(path), limits) as database, ThreadPoolExecutor(1) as pool:
        running = pool.submit(attempt, database, LOOP)
        time.sleep(0.3)
        build(tmp_path / "new", "(7)").replace(path)
        assert database.run("SELECT x FROM t").table.rows == [(7,)]
        assert isinstance(running.result(), QueryTimeoutError)


def test_one_database_closes_while_another_reads(path: Path, database: DuckDBDatabase) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(database.run, "SELECT count(*) FROM big a, big b WHERE a.x <> b.x")
        DuckDBDatabase(str(path)).close()
        assert running.result().table.rows == [(8_997_000,)]


def test_the_caller_may_read_the_file_at_the_same_time(path: Path, database: DuckDBDatabase) -> None:
    database.close()
    with duckdb.connect(path, read_only=True) as connection:
        assert database.run("SELECT x FROM t").table.rows == connection.execute("SELECT x FROM t").fetchall()


def test_four_processes_read_one_file(path: Path, database: DuckDBDatabase) -> None:
    database.run("SELECT 1")
    script = f"""
from sqlmetrics.databases.duckdb import DuckDBDatabase
print(DuckDBDatabase({str(path)!r}).run("SELECT count(*) FROM t").table.rows)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(4)]
    assert [process.communicate()[0].strip() for process in running] == [b"[(2,)]"] * 4


def test_a_file_that_this_process_writes_is_named(path: Path, database: DuckDBDatabase) -> None:
    database.close()
    with (
        duckdb.connect(path),
        pytest.raises(ConfigurationError, match="This process holds it open for writing"),
    ):
        database.check()


def test_a_file_that_another_process_writes_is_named(path: Path, database: DuckDBDatabase) -> None:
    database.close()
    script = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(ConfigurationError, match="Another process holds it open for writing"):
            database.check()
        writer.communicate(b"")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.duckdb", None, "There is no DuckDB file"),
        (".", None, "is a directory"),
        ("bad.duckdb", b"hello" * 5000, "It is no DuckDB file"),
        ("empty.duckdb", b"", "It is no DuckDB file"),
        ("nul\x00.duckdb", None, "There is no DuckDB file"),
    ],
)
def test_a_target_that_is_no_database_is_named(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    with DuckDBDatabase(str(tmp_path / name)) as database, pytest.raises(ConfigurationError, match=message):
        database.check()
    assert sorted(tmp_path.iterdir()) == before


def test_a_directory_that_cannot_be_written_is_enough(tmp_path: Path) -> None:
    path = build(tmp_path / "shop.duckdb")
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with DuckDBDatabase(str(path)) as database:
            assert database.run("SELECT count(*) FROM t").table.rows == [(2,)]
    finally:
        tmp_path.chmod(0o755)


def test_a_forked_child_opens_its_own_instance(database: DuckDBDatabase) -> None:
    database.run("SELECT 1")
    child = os.fork()
    if child == 0:
        os._exit(0 if database.run("SELECT count(*) FROM t").table.rows == [(2,)] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_copy_from_a_pickle_works(database: DuckDBDatabase) -> None:
    with pickle.loads(pickle.dumps(database)) as copy:
        assert copy.run("SELECT x FROM t").table.rows == [(1,), (2,)]


def test_eight_threads_share_one_database(database: DuckDBDatabase) -> None:
    queries = [f"SELECT {n} + count(*) FROM big" for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        rows = [result.table.rows for result in pool.map(database.run, queries)]
    assert rows == [[(n + 3000,)] for n in range(64)]


def test_a_loop_does_not_stop_the_threads_beside_it(database: DuckDBDatabase) -> None:
    with ThreadPoolExecutor(2) as pool:
        loop = pool.submit(attempt, database, LOOP)
        quick = [pool.submit(database.run, "SELECT 1").result(timeout=TIMEOUT_S) for _ in range(20)]
        assert len(quick) == 20
        assert isinstance(loop.result(timeout=TIMEOUT_S + 1), QueryTimeoutError)


def test_a_seed_does_not_reach_the_next_query(database: DuckDBDatabase) -> None:
    draws = set()
    for _ in range(3):
        database.run("SELECT setseed(0.5)")
        draws.add(database.run("SELECT random()").table.rows[0])
    assert len(draws) == 3

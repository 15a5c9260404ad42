"""Any other engine: SQLAlchemy's own SQLite driver stands for all."""

from __future__ import annotations

import pickle
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics.databases.base import QueryLimits
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.databases.servers import address, without_password
from sqlmetrics.errors import (
    ConfigurationError,
    MissingDependencyError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
)

pytest.importorskip("sqlalchemy")
SQLAlchemyDatabase = pytest.importorskip("sqlmetrics.databases.sqlalchemy").SQLAlchemyDatabase

TIMEOUT_S = 0.5
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t(x, y); INSERT INTO t VALUES (1, 'abc'), (2, 'd'), (3, '100%')")
    connection.close()
    return path


@pytest.fixture
def database(path: Path) -> Iterator[Any]:
    with SQLAlchemyDatabase(f"sqlite+pysqlite:///{path}", QueryLimits(timeout_s=TIMEOUT_S)) as database:
        yield database


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT x FROM t WHERE y LIKE '%b%'", [(1,)]),
        ("SELECT ':name', '%s', '%(x)s', '%%', '?' FROM t WHERE y = '100%'", [(":name", "%s", "%(x)s", "%%", "?")]),
        ("SELECT x AS a, y AS a FROM t WHERE x = 2; -- done", [(2, "d")]),
        ("SELECT x FROM t WHERE x > 5", []),
        ("/* a */ WITH a AS (SELECT 1) SELECT * FROM a", [(1,)]),
    ],
)
def test_text_is_run_unchanged(database: Any, sql: str, rows: list[tuple[Any, ...]]) -> None:
    assert database.run(sql).table.rows == rows


def test_result(database: Any) -> None:
    result = database.run("SELECT x AS a, y AS a FROM t")
    assert result.table.columns == ("a", "a")
    assert result.types == ("int", "str")
    assert all(type(row) is tuple for row in result.table.rows)


def test_rows_are_capped(database: Any) -> None:
    limits = QueryLimits(max_rows=2)
    result = database.run("SELECT x FROM t", limits=limits)
    assert (result.table.rows, result.truncated) == ([(1,), (2,)], True)
    assert not database.run("SELECT x FROM t LIMIT 2", limits=limits).truncated


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t",
        "SELECT 1; DELETE FROM t",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "PRAGMA journal_mode = WAL",
        "ATTACH 'side.db' AS side",
        "COMMIT",
        "SELECT 1\0; DELETE FROM t",
    ],
)
def test_what_is_no_query(database: Any, path: Path, sql: str) -> None:
    before = path.read_bytes()
    with pytest.raises(QueryRejectedError):
        database.run(sql)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


def test_what_slips_through_is_rolled_back(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlmetrics.databases.sqlalchemy.query_rejection", lambda sql, dialect: None)
    assert database.run("DELETE FROM t RETURNING x").table.rows == [(1,), (2,), (3,)]
    with pytest.raises(QueryError):
        database.run("DELETE FROM t")
    assert len(database.run("SELECT * FROM t").table.rows) == 3


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nope FROM t", "no such column: nope"),
        ("", "does not return rows"),
        ("SELECT '", "unrecognized token"),
        ("SELECT '\ud800'", "not valid Unicode"),
    ],
)
def test_errors(database: Any, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        database.run(sql)
    assert type(caught.value) is QueryError
    assert "sqlalche.me" not in str(caught.value)


def test_timeout(database: Any) -> None:
    started = time.perf_counter()
    with pytest.raises(QueryTimeoutError, match=r"timeout_s=0\.5"):
        database.run(ENDLESS)
    assert time.perf_counter() - started < TIMEOUT_S + 0.5
    assert database.run("SELECT 1").table.rows == [(1,)]


def test_cancellation(database: Any) -> None:
    cancellation = Cancellation()
    timer = threading.Timer(0.1, cancellation.cancel)
    timer.start()
    with pytest.raises(QueryTimeoutError, match="cancelled"):
        database.run(ENDLESS, limits=QueryLimits(timeout_s=20), cancellation=cancellation)
    timer.join()


def test_threads(database: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: database.run(f"SELECT {n} FROM t").table.rows[0][0], range(100)))
    assert results == list(range(100))


def test_pickles_and_limits(database: Any) -> None:
    database.run("SELECT 1")
    with pickle.loads(pickle.dumps(database)) as copy, database.with_limits(max_rows=1) as smaller:
        assert copy.dialect == "sqlite"
        assert copy.run("SELECT 1").table.rows == [(1,)]
        assert smaller.run("SELECT x FROM t").truncated


def test_a_forked_child_opens_its_own_connections(database: Any) -> None:
    database.run("SELECT 1")
    database._pid = -1
    assert database.run("SELECT 1").table.rows == [(1,)]


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("mssql+pyodbc://h/d", "tsql"),
        ("oracle+oracledb://h", "oracle"),
        ("cockroachdb://h", "postgres"),
        ("new://h", ""),
    ],
)
def test_dialects(url: str, dialect: str) -> None:
    assert SQLAlchemyDatabase(url).dialect == dialect


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("nothing", ConfigurationError, "SQLAlchemy URL"),
        ("nosuch://ann:ses%40me@h/d", ConfigurationError, "knows no dialect 'nosuch'"),
        ("sqlite+pysqlite:////no/such/directory/x.db", ConfigurationError, "unable to open"),
    ],
)
def test_wrong_urls(url: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        SQLAlchemyDatabase(url).check()
    assert "ses" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyodbc", None)
    with pytest.raises(MissingDependencyError, match="pyodbc"):
        SQLAlchemyDatabase("mssql+pyodbc://ann:ses%40me@h/d").check()


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("mssql+pyodbc://ann:ses%40me@h:1433/d?driver=x", "mssql+pyodbc://ann@h:1433/d?driver=x"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dx", "mssql+pyodbc:///"),
        ("snowflake://ann:a:b@c@account/d?token=x&role=y", "snowflake://ann@account/d?role=y"),
        ("sqlite+pysqlite:////data/a@b.db", "sqlite+pysqlite:////data/a@b.db"),
        ("postgresql:///shop", "postgresql:///shop"),
    ],
)
def test_labels(url: str, label: str) -> None:
    assert without_password(url) == label


def test_addresses() -> None:
    assert address("mysql://ann@db:99/shop", 3306).startswith("database 'shop' at db:99")
    assert address("postgresql:///shop", 5432).startswith("database 'shop' at the local socket:5432")

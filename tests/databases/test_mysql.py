"""MySQL and MariaDB: what they return, and every attack of the corpus on a plain and on a privileged user."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pytest

from sqlmetrics.databases.base import QueryLimits
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
)

pymysql = pytest.importorskip("pymysql")
mysql = pytest.importorskip("sqlmetrics.databases.mysql")
MySQLDatabase = mysql.MySQLDatabase

TIMEOUT_S = 1.0
CASES = Path(__file__).parents[1] / "cases" / "attacks.jsonl"
CORPUS = [case for case in map(json.loads, CASES.read_text("utf-8").splitlines()) if case["engine"] == "mysql"]

OWN = json.loads(CASES.with_name("server_attacks.json").read_text("utf-8"))["mysql"]
REFUSED: list[str] = OWN["refused"]
HARMLESS: list[str] = OWN["harmless"]
SLOW: list[str] = OWN["slow"]
MARIADB_ONLY = ("SET STATEMENT", "BEGIN NOT", "PROCEDURE ANALYSE")


class Server:
    """The server as its administrator sees it."""

    def __init__(self, connection: Any, name: str) -> None:
        self.connection = connection
        self.name = name

    def rows(self, sql: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def state(self) -> dict[str, Any]:
        """Everything that a query could change."""
        directory = Path(self.rows("SELECT @@datadir")[0][0]) / self.name
        return {
            "rows": self.rows("SELECT x FROM t ORDER BY x"),
            "tables": self.rows("SHOW FULL TABLES"),
            "settings": self.rows("SELECT @@GLOBAL.max_connections, @@GLOBAL.tx_read_only, @@GLOBAL.sql_mode"),
            "locks": self.rows("SELECT IS_FREE_LOCK('sqlmetrics')"),
            "data directory": sorted(path.name for path in directory.iterdir())
            if os.access(directory, os.R_OK)
            else [],
            "temporary files": sorted(path.name for path in Path(tempfile.gettempdir()).glob("leak*")),
        }

    def running(self) -> int:
        """How many queries run in this database, after giving them half a second to end."""
        count = 0
        for _ in range(50):
            count = self.rows(
                "SELECT count(*) FROM information_schema.processlist "
                f"WHERE db = '{self.name}' AND id <> CONNECTION_ID() AND command <> 'Sleep'"
            )[0][0]
            if not count:
                break
            time.sleep(0.01)
        return int(count)


@pytest.fixture(scope="module")
def privileged_url(mysql_admin_url: str, mysql_url: str) -> str:
    return urlunsplit(urlsplit(mysql_admin_url)._replace(path=urlsplit(mysql_url).path))


@pytest.fixture(scope="module")
def server(privileged_url: str) -> Iterator[Server]:
    parts = urlsplit(privileged_url)
    connection = pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path[1:],
        autocommit=True,
    )
    yield Server(connection, parts.path[1:])
    connection.close()


@pytest.fixture
def database(mysql_url: str) -> Any:
    return MySQLDatabase(mysql_url, QueryLimits(timeout_s=TIMEOUT_S))


@pytest.fixture(params=["plain", "privileged"])
def either(request: pytest.FixtureRequest, mysql_url: str, privileged_url: str) -> Any:
    """The database as a plain user, and as a privileged one that was allowed by name."""
    limits = QueryLimits(timeout_s=TIMEOUT_S)
    if request.param == "plain":
        return MySQLDatabase(mysql_url, limits)
    return MySQLDatabase(privileged_url, limits, allow_superuser=True)


def attack(database: Any, server: Server, sql: str) -> Exception | None:
    """Run an attack and make sure that it left nothing behind."""
    if sql.upper().startswith(MARIADB_ONLY) and "MariaDB" not in server.rows("SELECT VERSION()")[0][0]:
        pytest.skip("only MariaDB has this statement")
    before = server.state()
    started = time.perf_counter()
    raised: Exception | None = None
    try:
        database.run(sql)
    except QueryError as error:
        raised = error
    assert time.perf_counter() - started < TIMEOUT_S + 1
    assert database.run("SELECT 1").table.rows == [(1,)]
    assert server.running() == 0
    assert server.state() == before
    return raised


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["id"])
def test_corpus(either: Any, server: Server, case: dict[str, str]) -> None:
    raised = attack(either, server, case["sql"])
    expected = QueryTimeoutError if case["expected"].startswith("ends within") else QueryRejectedError
    assert type(raised) is expected


@pytest.mark.parametrize("sql", REFUSED)
def test_own_refused(either: Any, server: Server, sql: str) -> None:
    assert attack(either, server, sql) is not None


@pytest.mark.parametrize("sql", [sql for sql in REFUSED if ";" in sql])
def test_more_than_one_statement_without_looking_at_tokens(
    either: Any, server: Server, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(mysql, "query_rejection", lambda sql, dialect: None)
    assert attack(either, server, sql) is not None


@pytest.mark.parametrize("sql", ["DELETE FROM t", "TRUNCATE TABLE t", "CREATE TABLE z(a int)", "SELECT writes()"])
def test_the_transaction_stops_writes_by_itself(
    either: Any, server: Server, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(mysql, "_rejection", lambda sql: None)
    assert isinstance(attack(either, server, sql), QueryRejectedError)


@pytest.mark.parametrize("sql", HARMLESS)
def test_own_harmless(either: Any, server: Server, sql: str) -> None:
    attack(either, server, sql)


@pytest.mark.parametrize("sql", SLOW)
def test_own_slow_queries(either: Any, server: Server, sql: str) -> None:
    server.rows("SELECT GET_LOCK('held', 0)")
    assert isinstance(attack(either, server, sql), QueryTimeoutError)


def test_privileged_user_is_refused(privileged_url: str) -> None:
    with pytest.raises(ConfigurationError, match="allow_superuser=True"):
        MySQLDatabase(privileged_url).check()


def test_user_with_file_is_refused(mysql_url: str, server: Server) -> None:
    server.rows(f"GRANT SELECT, FILE ON *.* TO {server.name}")
    try:
        with pytest.raises(ConfigurationError, match="FILE"):
            MySQLDatabase(mysql_url).run("SELECT 1")
    finally:
        server.rows(f"REVOKE SELECT, FILE ON *.* FROM {server.name}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM t WHERE '%s %b %' LIKE '%b%' AND ':x' = ':x' ORDER BY x; -- done",
        "(SELECT x FROM t ORDER BY x)",
        "WITH a AS (SELECT x FROM t) SELECT * FROM a ORDER BY x;",
        "/* it's */ SELECT x FROM t WHERE 'it''s /*! not */' <> \"'\" ORDER BY 1 # 'done /*!",
        r"SELECT x FROM t WHERE '\' /*!' <> '/*M!' ORDER BY x",
        "SELECT x FROM t WHERE 'into' <> 'delete' ORDER BY x",
    ],
)
def test_text_is_run_unchanged(database: Any, sql: str) -> None:
    assert database.run(sql).table.rows == [(1,), (2,), (3,)]


def test_types(database: Any) -> None:
    result = database.run(
        "SELECT 1.50 AS a, DATE '2020-01-02' AS a, TIMESTAMP '2020-01-02 03:04:00' AS b, 1e0, NULL, 'é', x'00ff', "
        "CAST('25:00:00' AS TIME), 18446744073709551615"
    )
    assert result.table.rows == [
        (
            Decimal("1.50"),
            datetime.date(2020, 1, 2),
            datetime.datetime(2020, 1, 2, 3, 4),
            1.0,
            None,
            "é",
            b"\x00\xff",
            datetime.timedelta(hours=25),
            18446744073709551615,
        )
    ]
    assert result.table.columns[:3] == ("a", "a", "b")
    assert result.types[:3] == ("newdecimal", "date", "datetime")
    assert not result.truncated
    assert not result.undecodable


def test_undecodable_text(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MARIADB_SESSION", "MYSQL_SESSION"):
        monkeypatch.setattr(mysql, name, getattr(mysql, name) + ", character_set_results = latin1")
    result = database.run("SELECT 'é' AS a, 'plain'")
    assert (result.table.rows, result.undecodable) == ([("\udce9", "plain")], True)


def test_a_long_recursion_is_not_cut(database: Any) -> None:
    sql = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT count(*) FROM r"
    assert database.run(sql).table.rows == [(5000,)]


def test_rows_are_capped(database: Any, server: Server) -> None:
    limits = QueryLimits(max_rows=10, timeout_s=5)
    assert database.run("SELECT x FROM big LIMIT 11", limits=limits).truncated
    assert not database.run("SELECT x FROM big LIMIT 10", limits=limits).truncated
    started = time.perf_counter()
    result = database.run("SELECT * FROM big a, big b, big c", limits=limits)
    assert time.perf_counter() - started < 1
    assert (len(result.table.rows), result.truncated) == (10, True)
    assert server.running() == 0


def test_bytes_are_capped_before_they_are_fetched(database: Any) -> None:
    result = database.run("SELECT REPEAT('x', 1000000) FROM big", limits=QueryLimits(max_bytes=10_000_000))
    assert result.truncated
    assert len(result.table.rows) < 50


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT nope FROM t", QueryError, "Unknown column 'nope'"),
        ("", QueryError, "empty"),
        ("-- nothing", QueryError, "no rows|empty"),
        ("SELECT '", QueryError, "syntax"),
        ("SELECT '\ud800'", QueryError, "not valid Unicode"),
        ("SHOW TABLES", QueryRejectedError, "SHOW is not a query"),
        ("SELECT * FROM mysql.user", QueryRejectedError, "denied"),
    ],
)
def test_errors(database: Any, sql: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        database.run(sql)
    assert type(caught.value) is error


def test_cancellation(database: Any, server: Server) -> None:
    cancellation = Cancellation()
    timer = threading.Timer(0.1, cancellation.cancel)
    timer.start()
    with pytest.raises(QueryTimeoutError, match="cancelled"):
        database.run("SELECT SLEEP(30)", limits=QueryLimits(timeout_s=20), cancellation=cancellation)
    timer.join()
    assert server.running() == 0


def test_a_connection_that_dies_under_its_query(database: Any, server: Server) -> None:
    def end() -> None:
        found = server.rows(
            f"SELECT id FROM information_schema.processlist WHERE db = '{server.name}' AND info LIKE 'SELECT SLEEP%'"
        )
        server.rows(f"KILL CONNECTION {found[0][0]}")

    timer = threading.Timer(0.3, end)
    timer.start()
    with pytest.raises(DatabaseError) as caught:
        database.run("SELECT SLEEP(10)", limits=QueryLimits(timeout_s=5))
    timer.join()
    assert type(caught.value) is DatabaseError


def test_threads(database: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: database.run(f"SELECT {n}").table.rows[0][0], range(100)))
    assert results == list(range(100))


def test_pickles_and_limits(database: Any) -> None:
    database.run("SELECT 1")
    with pickle.loads(pickle.dumps(database)) as copy, database.with_limits(max_rows=2) as smaller:
        assert copy.run("SELECT 1").table.rows == [(1,)]
        assert smaller.run("SELECT x FROM t").truncated


def assert_keeps_secret(error: BaseException, url: str) -> None:
    """The password is neither in the message nor in what led to it."""
    password = urlsplit(url).password or "ses%40me"
    for secret in (password, unquote(password), "ses@me", "ses%40me"):
        assert secret not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("mysql://ann:ses%40me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'", "refused"]),
        ("mariadb+pymysql://ann:ses%40me@127.0.0.1:1/shop?charset=utf8mb4", ["127.0.0.1:1", "'shop'", "refused"]),
        ("mysql://ann:ses@me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'"]),
        ("mysql://ann:x/ses@me@127.0.0.1:1/shop", ["not a MySQL URL"]),
        ("mysql://ann:1/ses@me@127.0.0.1:1/shop", ["not a MySQL URL"]),
        ("mysql://ann:1?ses@me=2@127.0.0.1:1/shop", ["not a MySQL URL"]),
        ("mysql://ann:ses%40me@127.0.0.1:port/shop", ["not a MySQL URL", "127.0.0.1:port"]),
        ("mysql://ann:ses%40me@127.0.0.1/shop?sslca=x", ["'sslca'", "ssl_ca"]),
    ],
)
def test_wrong_urls(url: str, named: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        MySQLDatabase(url).check()
    assert all(name in str(caught.value) for name in named)
    assert_keeps_secret(caught.value, url)


def test_wrong_password(mysql_url: str) -> None:
    parts = urlsplit(mysql_url)
    place = parts.netloc.rpartition("@")[2]
    url = urlunsplit(parts._replace(netloc=f"{parts.username}:ses%40me-not@{place}"))
    with pytest.raises(ConfigurationError, match="Access denied") as caught:
        MySQLDatabase(url).check()
    assert parts.path[1:] in str(caught.value)
    assert_keeps_secret(caught.value, url)


def test_wrong_database(mysql_url: str) -> None:
    url = urlunsplit(urlsplit(mysql_url)._replace(path="/no_such_database"))
    with pytest.raises(ConfigurationError, match="no_such_database") as caught:
        MySQLDatabase(url).run("SELECT 1")
    assert_keeps_secret(caught.value, url)


def test_names_never_hold_the_password(mysql_url: str) -> None:
    database = MySQLDatabase(mysql_url)
    assert urlsplit(mysql_url).path in database.label
    assert "ses" not in repr(database)

"""PostgreSQL: what it returns, and every attack of the corpus on a plain role and on a superuser."""

from __future__ import annotations

import datetime
import json
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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
    ResultTooLargeError,
)

psycopg = pytest.importorskip("psycopg")
postgres = pytest.importorskip("sqlmetrics.databases.postgres")
PostgresDatabase = postgres.PostgresDatabase

TIMEOUT_S = 1.0
CASES = Path(__file__).parents[1] / "cases" / "attacks.jsonl"
CORPUS = [case for case in map(json.loads, CASES.read_text("utf-8").splitlines()) if case["engine"] == "postgres"]

OWN = json.loads(CASES.with_name("server_attacks.json").read_text("utf-8"))["postgres"]
MULTIPLE: list[str] = OWN["multiple"]
WRITES: list[str] = OWN["writes"]
ESCAPES: list[str] = OWN["escapes"]
SLOW: list[str] = OWN["slow"]


class Server:
    """The server as its administrator sees it."""

    def __init__(self, url: str) -> None:
        self.connection: Any = psycopg.connect(url, autocommit=True)

    def one(self, sql: str) -> Any:
        return self.connection.execute(sql).fetchone()[0]

    def state(self) -> dict[str, Any]:
        """Everything that a query could change."""
        return {
            "rows": self.one("SELECT array_agg(x ORDER BY x) FROM t"),
            "sequence": self.connection.execute("SELECT last_value, is_called FROM s").fetchone(),
            "relations": self.one("SELECT array_agg(oid::regclass::text ORDER BY oid) FROM pg_class WHERE oid > 16383"),
            "large objects": self.one("SELECT count(*) FROM pg_largeobject_metadata"),
            "advisory locks": self.one(
                "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database "
                "WHERE locktype = 'advisory' AND datname = current_database()"
            ),
            "data directory": self.one("SELECT array_agg(f ORDER BY f) FROM pg_ls_dir('.') AS f"),
            "temporary files": sorted(path.name for path in Path(tempfile.gettempdir()).glob("leak*")),
        }

    def running(self) -> int:
        """How many queries run in this database, after giving them half a second to end."""
        count = 0
        for _ in range(50):
            count = self.one(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
            )
            if not count:
                break
            time.sleep(0.01)
        return count


@pytest.fixture(scope="module")
def privileged_url(postgres_admin_url: str, postgres_url: str) -> str:
    return urlunsplit(urlsplit(postgres_admin_url)._replace(path=urlsplit(postgres_url).path))


@pytest.fixture(scope="module")
def server(privileged_url: str) -> Iterator[Server]:
    server = Server(privileged_url)
    yield server
    server.connection.close()


@pytest.fixture
def database(postgres_url: str) -> Iterator[Any]:
    with PostgresDatabase(postgres_url, QueryLimits(timeout_s=TIMEOUT_S)) as database:
        yield database


@pytest.fixture(params=["plain", "superuser"])
def either(request: pytest.FixtureRequest, postgres_url: str, privileged_url: str) -> Iterator[Any]:
    """The database as a plain role, and as a superuser that was allowed by name."""
    is_superuser = request.param == "superuser"
    limits = QueryLimits(timeout_s=TIMEOUT_S)
    url = privileged_url if is_superuser else postgres_url
    with PostgresDatabase(url, limits, allow_superuser=is_superuser) as database:
        yield database


def attack(database: Any, server: Server, sql: str) -> Exception | None:
    """Run an attack and make sure that it left nothing behind."""
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


def stopping_errors(database: Any, sql: str) -> tuple[type[Exception], ...]:
    """How a query that runs too long may end; a superuser may not even start one that changes settings."""
    is_refused = database.allow_superuser and "set_config" in sql
    return (QueryRejectedError,) if is_refused else (QueryTimeoutError, ResultTooLargeError)


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["id"])
def test_corpus(either: Any, server: Server, case: dict[str, str]) -> None:
    raised = attack(either, server, case["sql"])
    if case["expected"].startswith("ends within"):
        assert isinstance(raised, stopping_errors(either, case["sql"]))
    elif "advisory" not in case["sql"]:
        assert raised is not None


@pytest.mark.parametrize("sql", MULTIPLE)
def test_more_than_one_statement(either: Any, server: Server, sql: str) -> None:
    assert attack(either, server, sql) is not None


@pytest.mark.parametrize("sql", MULTIPLE + [case["sql"] for case in CORPUS if ";" in case["sql"]])
def test_more_than_one_statement_without_looking_at_tokens(
    either: Any, server: Server, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(postgres, "query_rejection", lambda sql, dialect: None)
    assert type(attack(either, server, sql)) is QueryError


@pytest.mark.parametrize("sql", WRITES)
def test_own_writes(either: Any, server: Server, sql: str) -> None:
    attack(either, server, sql)


@pytest.mark.parametrize("sql", ESCAPES)
def test_superuser_stays_lowered(privileged_url: str, server: Server, sql: str) -> None:
    if not server.one("SELECT count(*) FROM pg_roles WHERE rolname = 'pg_read_all_data'"):
        pytest.skip("this server has no role pg_read_all_data")
    limits = QueryLimits(timeout_s=TIMEOUT_S)
    with PostgresDatabase(privileged_url, limits, allow_superuser=True) as database:
        assert isinstance(attack(database, server, sql), QueryRejectedError)


@pytest.mark.parametrize("sql", SLOW)
def test_own_slow_queries(either: Any, server: Server, sql: str) -> None:
    assert isinstance(attack(either, server, sql), stopping_errors(either, sql))


def test_superuser_is_refused(privileged_url: str) -> None:
    with PostgresDatabase(privileged_url) as database, pytest.raises(ConfigurationError, match="allow_superuser=True"):
        database.check()


def test_member_of_a_file_role_is_refused(postgres_url: str, server: Server) -> None:
    role = urlsplit(postgres_url).username
    server.connection.execute(f"GRANT pg_read_server_files TO {role}")
    try:
        with (
            PostgresDatabase(postgres_url) as database,
            pytest.raises(ConfigurationError, match="pg_read_server_files"),
        ):
            database.run("SELECT 1")
    finally:
        server.connection.execute(f"REVOKE pg_read_server_files FROM {role}")


def test_settings_do_not_outlive_a_query(database: Any) -> None:
    database.run("SELECT set_config('search_path', 'nowhere', false), set_config('DateStyle', 'German', false)")
    assert database.run("SELECT x FROM t ORDER BY x").table.rows == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM t WHERE '%s %b %' LIKE '%b%' AND ':x' = ':x' ORDER BY x; -- done",
        "(SELECT x FROM t ORDER BY x)",
        "WITH a AS (SELECT x FROM t) TABLE a ORDER BY x;",
        "/* it's */ SELECT x FROM t WHERE 'it''s' <> $$'$$ ORDER BY 1 -- 'done",
        "VALUES (1), (2), (3)",
    ],
)
def test_text_is_run_unchanged(database: Any, sql: str) -> None:
    assert database.run(sql).table.rows == [(1,), (2,), (3,)]


def test_types(database: Any) -> None:
    result = database.run(
        "SELECT 1.50 AS a, DATE '2020-01-02' AS a, TIMESTAMPTZ '2020-01-02 03:04+00' AS b, "
        "'{\"k\": [1]}'::jsonb, ARRAY[1, 2], NULL, 'é'::text, '\\x00ff'::bytea"
    )
    row = result.table.rows[0]
    moment = datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC)
    assert row == (Decimal("1.50"), datetime.date(2020, 1, 2), moment, {"k": [1]}, [1, 2], None, "é", b"\x00\xff")
    assert result.table.columns[:3] == ("a", "a", "b")
    assert result.types[:5] == ("numeric", "date", "timestamptz", "jsonb", "int4[]")
    assert not result.truncated
    assert not result.undecodable


def test_values_that_python_cannot_hold(database: Any) -> None:
    sql = "SELECT DATE 'infinity', DATE '0044-03-15 BC', DATE '2020-01-02', ARRAY[TIMESTAMP '-infinity'], TIME '24:00'"
    assert database.run(sql).table.rows == [
        ("infinity", "0044-03-15 BC", datetime.date(2020, 1, 2), ["-infinity"], "24:00:00")
    ]
    deep, digits = database.run(
        "SELECT (repeat('[', 3000) || repeat(']', 3000))::json, ('1' || repeat('0', 5000))::json"
    ).table.rows[0]
    assert deep.startswith("[[[") or isinstance(deep, list)
    assert digits == "1" + "0" * 5000


def test_rows_are_capped(database: Any, server: Server) -> None:
    limits = QueryLimits(max_rows=10)
    assert len(database.run("SELECT * FROM generate_series(1, 11)", limits=limits).table.rows) == 10
    assert database.run("SELECT * FROM generate_series(1, 11)", limits=limits).truncated
    assert not database.run("SELECT * FROM generate_series(1, 10)", limits=limits).truncated
    assert len(database.run("SELECT * FROM generate_series(1, 5000)").table.rows) == 5000
    assert server.running() == 0


def test_bytes_are_capped_before_they_are_fetched(database: Any) -> None:
    sql = "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)"
    result = database.run(sql, limits=QueryLimits(max_bytes=10_000_000))
    assert result.truncated
    assert len(result.table.rows) < 50


def test_no_columns_and_no_rows(database: Any) -> None:
    assert database.run("SELECT").table.rows == [()]
    assert database.run("SELECT x FROM t WHERE false").table.rows == []


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT nope FROM t", QueryError, 'column "nope" does not exist'),
        ("SELECT 1/0", QueryError, "division by zero"),
        ("SELECT $1", QueryError, "parameter"),
        ("", QueryError, "syntax error"),
        ("-- nothing", QueryError, "syntax error"),
        ("SELECT '", QueryError, "unterminated"),
        ("SELECT '\ud800'", QueryError, "not valid Unicode"),
        ("SHOW ALL", QueryError, "syntax error"),
        ("SELECT repeat('x', 2000000000)", ResultTooLargeError, "requested length too large"),
        ("SELECT rolpassword FROM pg_authid", QueryRejectedError, "permission denied"),
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
        database.run("SELECT pg_sleep(30)", limits=QueryLimits(timeout_s=20), cancellation=cancellation)
    timer.join()
    assert server.running() == 0


def test_a_dead_idle_connection_is_replaced(database: Any, server: Server) -> None:
    before = database.run("SELECT pg_backend_pid()").table.rows
    server.connection.execute(
        "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert database.run("SELECT pg_backend_pid()").table.rows != before


def test_a_connection_that_dies_under_its_query(database: Any, server: Server) -> None:
    def end() -> None:
        server.connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%FETCH%' AND state = 'active' "
            "AND datname = current_database() AND pid <> pg_backend_pid()"
        )

    timer = threading.Timer(0.3, end)
    timer.start()
    with pytest.raises(DatabaseError) as caught:
        database.run("SELECT pg_sleep(10)", limits=QueryLimits(timeout_s=5))
    timer.join()
    assert type(caught.value) is DatabaseError
    assert database.run("SELECT 1").table.rows == [(1,)]


def test_connections_are_reused_and_shared_by_threads(database: Any) -> None:
    first = database.run("SELECT pg_backend_pid()").table.rows
    assert database.run("SELECT pg_backend_pid()").table.rows == first
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: database.run(f"SELECT {n}, pg_sleep(0.001)").table.rows[0][0], range(100)))
    assert results == list(range(100))


def test_a_forked_child_opens_its_own_connections(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inherited: list[Any] = []
    monkeypatch.setattr(postgres, "_inherited", inherited)
    first = database.run("SELECT pg_backend_pid()").table.rows
    database._pid = -1
    assert database.run("SELECT pg_backend_pid()").table.rows != first
    assert [session.connection.closed for session in inherited] == [False]
    inherited[0].connection.close()


def test_pickles_and_limits(database: Any) -> None:
    database.run("SELECT 1")
    with pickle.loads(pickle.dumps(database)) as copy, database.with_limits(max_rows=2) as smaller:
        assert copy.run("SELECT 1").table.rows == [(1,)]
        assert smaller.run("SELECT x FROM t").truncated


def secrets(url: str) -> list[str]:
    """The password in all its spellings."""
    password = urlsplit(url).password or ""
    return [password, unquote(password), "ses@me", "ses%40me"]


def test_names_never_hold_the_password(postgres_url: str) -> None:
    with PostgresDatabase(postgres_url + "?password=hidden&sslpassword=hidden&connect_timeout=5") as database:
        assert urlsplit(postgres_url).path in database.label
        assert database.label.endswith("?connect_timeout=5")
        assert not any(secret in repr(database) for secret in ["hidden", *secrets(postgres_url)])


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("postgresql://ann:ses%40me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'", "Connection refused"]),
        ("postgresql+psycopg2://ann:ses%40me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'", "Connection refused"]),
        ("postgresql://ann:ses@me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'"]),
        ("postgresql://ann:x/ses@me@127.0.0.1:1/shop", ["127.0.0.1:1", "'shop'"]),
        ("postgresql://ann:ses%40me@127.0.0.1:port/shop", ["127.0.0.1", "'shop'"]),
        ("postgresql://ann:ses%40me@127.0.0.1:1/shop?no_such=ses%40me", ["not a PostgreSQL URL"]),
        ("postgresql://ann:%zzses%40me@127.0.0.1:1/shop", ["127.0.0.1"]),
    ],
)
def test_connection_errors(url: str, named: list[str]) -> None:
    with PostgresDatabase(url) as database, pytest.raises(ConfigurationError) as caught:
        database.check()
    told = str(caught.value)
    assert all(name in told for name in named)
    assert "me@" not in told.replace("sqlmetrics", "")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_wrong_database(postgres_url: str) -> None:
    url = urlunsplit(urlsplit(postgres_url)._replace(path="/no_such_database"))
    with PostgresDatabase(url) as database, pytest.raises(ConfigurationError, match="no_such_database") as caught:
        database.run("SELECT 1")
    assert not any(secret in str(caught.value) for secret in secrets(postgres_url))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ('password authentication failed for user "ann"', ConfigurationError),
        ("sorry, too many clients already", DatabaseError),
        ("the database system is starting up", DatabaseError),
    ],
)
def test_what_the_server_says_while_connecting(
    refusing_postgres: Callable[[str], int], message: str, error: type[Exception]
) -> None:
    port = refusing_postgres(message)
    url = f"postgresql://ann:ses%40me@127.0.0.1:{port}/shop?sslmode=disable&gssencmode=disable"
    with PostgresDatabase(url) as database, pytest.raises(error, match=message) as caught:
        database.check()
    assert type(caught.value) is error
    assert "ses" not in str(caught.value)

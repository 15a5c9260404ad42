"""Fixtures for all tests: the shared cases and the database servers."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pytest

POSTGRES_URL = "postgresql://postgres@127.0.0.1:5432/postgres"
MYSQL_URL = "mysql://root@127.0.0.1:3306/mysql"
PASSWORD = "open:ses@me/50%"
"""Of the plain users that the fixtures create; every character of it needs quoting in a URL."""

POSTGRES_OBJECTS = """
    CREATE TABLE t(x int);
    INSERT INTO t VALUES (1), (2), (3);
    CREATE SEQUENCE s;
    CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (9) RETURNING x';
    CREATE FUNCTION writes_as_owner() RETURNS int LANGUAGE sql SECURITY DEFINER
        AS 'INSERT INTO t VALUES (9) RETURNING x';
    GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON t TO {role};
    GRANT ALL ON SEQUENCE s TO {role};
    GRANT ALL ON SCHEMA public TO {role};
"""
MYSQL_OBJECTS = (
    "CREATE TABLE {name}.t(x int)",
    "INSERT INTO {name}.t VALUES (1), (2), (3)",
    "CREATE TABLE {name}.big(x int PRIMARY KEY)",
    "INSERT INTO {name}.big WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 1000) "
    "SELECT x FROM r",
    "CREATE FUNCTION {name}.writes() RETURNS int BEGIN INSERT INTO t VALUES (9); RETURN 1; END",
    "CREATE PROCEDURE {name}.do_write() INSERT INTO t VALUES (9)",
    "CREATE USER {name} IDENTIFIED BY '" + PASSWORD + "'",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, EXECUTE, LOCK TABLES ON {name}.* TO {name}",
)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The cases that several checkouts share."""
    path = Path(__file__).parents[1] / ".." / "shared"
    if not path.is_dir():
        pytest.skip("the directory `shared` with the common cases does not lie beside this checkout")
    return path


@pytest.fixture(scope="session")
def postgres_admin_url() -> str:
    """An administrator's URL of a PostgreSQL server."""
    url = os.environ.get("SQLMETRICS_POSTGRES_URL", POSTGRES_URL)
    psycopg = pytest.importorskip("psycopg")
    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.Error as error:
        _no_server("PostgreSQL", "SQLMETRICS_POSTGRES_URL", error)
    return url


@pytest.fixture(scope="session")
def postgres_url(postgres_admin_url: str) -> Iterator[str]:
    """A fresh database of a plain role that may write to its tables; gone after the session."""
    psycopg = pytest.importorskip("psycopg")
    name = f"sqlmetrics_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_admin_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        try:
            with psycopg.connect(database_url(postgres_admin_url, name), autocommit=True) as owner:
                owner.execute(POSTGRES_OBJECTS.format(role=name))
            yield database_url(postgres_admin_url, name, user=name)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            admin.execute(f"DROP ROLE {name}")


@pytest.fixture
def refusing_postgres() -> Iterator[Callable[[str], int]]:
    """Starts a server that asks one client for its password and refuses it with a message; gives its port."""
    with contextlib.ExitStack() as stack:

        def start(message: str) -> int:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=_refuse, args=(listener, message))
            thread.start()
            stack.callback(thread.join)
            port: int = listener.getsockname()[1]
            return port

        yield start


def _refuse(listener: socket.socket, message: str) -> None:
    """Speak just enough of the protocol."""
    client, _ = listener.accept()
    with client:
        client.recv(4096)
        client.sendall(b"R" + struct.pack("!ii", 8, 3))
        client.recv(4096)
        body = b"SFATAL\0VFATAL\0C28P01\0M" + message.encode() + b"\0\0"
        client.sendall(b"E" + struct.pack("!i", len(body) + 4) + body)


@pytest.fixture(scope="session")
def mysql_admin_url() -> str:
    """An administrator's URL of a MySQL or MariaDB server."""
    url = os.environ.get("SQLMETRICS_MYSQL_URL", MYSQL_URL)
    pymysql = pytest.importorskip("pymysql")
    try:
        mysql_connection(url).close()
    except pymysql.Error as error:
        _no_server("MySQL or MariaDB", "SQLMETRICS_MYSQL_URL", error)
    return url


@pytest.fixture(scope="session")
def mysql_url(mysql_admin_url: str) -> Iterator[str]:
    """A fresh database of a plain user that may write to its tables; gone after the session."""
    name = f"sqlmetrics_{uuid.uuid4().hex[:12]}"
    admin = mysql_connection(mysql_admin_url)
    cursor = admin.cursor()
    cursor.execute(f"CREATE DATABASE {name}")
    try:
        for statement in MYSQL_OBJECTS:
            cursor.execute(statement.format(name=name))
        admin.commit()
        yield database_url(mysql_admin_url, name, user=name)
    finally:
        cursor.execute(f"DROP DATABASE {name}")
        cursor.execute(f"DROP USER IF EXISTS {name}")
        admin.close()


def database_url(url: str, database: str, *, user: str | None = None, password: str = PASSWORD) -> str:
    """The same server's URL with another database and, if given, another user."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    netloc = f"{user}:{quote(password, safe='')}@{place}" if user else parts.netloc
    return urlunsplit(parts._replace(netloc=netloc, path=f"/{database}"))


def mysql_connection(url: str) -> Any:
    """Connect as the URL says, without any safety."""
    parts = urlsplit(url)
    return pytest.importorskip("pymysql").connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path.lstrip("/") or None,
        connect_timeout=3,
        autocommit=True,
    )


def _no_server(engine: str, variable: str, error: Exception) -> NoReturn:
    """Skip, or fail where servers are required."""
    message = f"no {engine} server answers: start one on 127.0.0.1 or name one in {variable} ({error})"
    if os.environ.get("SQLMETRICS_REQUIRE_SERVERS"):
        pytest.fail(message)
    pytest.skip(message)

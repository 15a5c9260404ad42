"""Builds a field case's database on the engine it names."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.conftest import PASSWORD, database_url, mysql_connection


def statements(script: str | None) -> list[str]:
    """Split a script of simple statements."""
    return [statement for statement in (script or "").split(";") if statement.strip()]


@contextmanager
def field_database(
    engine: str, schema: str | None, data: str | None, tmp_path: Path, fixture: Callable[[str], str]
) -> Iterator[str]:
    """Build the tables and yield a target for `connect`, with a role that may only read on servers."""
    build = {"sqlite": _sqlite, "duckdb": _duckdb, "postgres": _postgres, "mysql": _mysql}[engine]
    with build(statements(schema) + statements(data), tmp_path, fixture) as target:
        yield target


@contextmanager
def _sqlite(script: list[str], tmp_path: Path, fixture: Callable[[str], str]) -> Iterator[str]:
    path = tmp_path / f"{uuid.uuid4().hex}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(script))
    yield str(path)


@contextmanager
def _duckdb(script: list[str], tmp_path: Path, fixture: Callable[[str], str]) -> Iterator[str]:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / f"{uuid.uuid4().hex}.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        for statement in script:
            connection.execute(statement)
    yield str(path)


@contextmanager
def _postgres(script: list[str], tmp_path: Path, fixture: Callable[[str], str]) -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg")
    admin_url = fixture("postgres_admin_url")
    name = f"sqlmetrics_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        try:
            with psycopg.connect(database_url(admin_url, name), autocommit=True) as owner:
                for statement in script:
                    owner.execute(statement)
                owner.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
            yield database_url(admin_url, name, user=name)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            admin.execute(f"DROP ROLE {name}")


@contextmanager
def _mysql(script: list[str], tmp_path: Path, fixture: Callable[[str], str]) -> Iterator[str]:
    admin_url = fixture("mysql_admin_url")
    name = f"sqlmetrics_{uuid.uuid4().hex[:12]}"
    with closing(mysql_connection(admin_url)) as admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            cursor.execute(f"USE {name}")
            for statement in script:
                cursor.execute(statement)
            cursor.execute(f"CREATE USER {name} IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON {name}.* TO {name}")
            yield database_url(admin_url, name, user=name)
        finally:
            cursor.execute(f"DROP DATABASE {name}")
            cursor.execute(f"DROP USER IF EXISTS {name}")

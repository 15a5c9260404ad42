"""Is a text one read-only query? Traps of dialects and of names."""

from __future__ import annotations

import pytest

from sqlmetrics.sql.statements import (
    first_word_rejection,
    folded,
    query_rejection,
    strip_distinct,
    tokens,
)

DIALECTS = ["sqlite", "postgres", "mysql", "duckdb"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT 1", id="plain"),
        pytest.param("  select 1 ;  ", id="semicolon"),
        pytest.param("SELECT 1; -- done; DROP TABLE t", id="comment-behind"),
        pytest.param("-- DROP TABLE t;\nSELECT 1", id="comment-before"),
        pytest.param("/* DELETE; */ SELECT 1", id="block-comment"),
        pytest.param("SELECT 'a; DROP TABLE t'", id="semicolon-in-text"),
        pytest.param("SELECT 'it''s; DELETE FROM t'", id="doubled-quote"),
        pytest.param("SELECT '--', '/*', 1", id="comment-in-text"),
        pytest.param("((SELECT 1))", id="parentheses"),
        pytest.param("WITH a AS (SELECT 1 AS x) SELECT x FROM a", id="cte"),
        pytest.param("VALUES (1), (2)", id="values"),
        pytest.param("SELECT created_at, updated_at, deleted FROM t", id="names-that-begin-like-writes"),
        pytest.param("SELECT t.update, t.delete, t.insert FROM t", id="qualified-columns"),
        pytest.param("SELECT replace(a, 'x', 'y') FROM t", id="replace-function"),
        pytest.param("SELECT a FROM t WHERE note = 'INSERT INTO t' OR note = 'into'", id="words-in-text"),
        pytest.param("SELECT count(x), max(value), min(offset_id) FROM t", id="value"),
        pytest.param("SELECT (a + 1) * 2 FROM t UNION (SELECT 3)", id="arithmetic"),
        pytest.param("SELECT 'ü😀', a FROM t", id="unicode"),
    ],
)
def test_queries_pass(sql: str, dialect: str) -> None:
    assert query_rejection(sql, dialect) is None


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        pytest.param("postgres", "SELECT $$; DROP TABLE t$$", id="dollar-quote"),
        pytest.param("postgres", "SELECT $q$ '; DROP TABLE t; $$ $q$", id="tagged-dollar-quote"),
        pytest.param("postgres", "SELECT E'it\\'s; DROP TABLE t'", id="escape-string"),
        pytest.param("postgres", "SELECT 1 /* a /* b; */ c; */", id="nested-comment"),
        pytest.param("postgres", "/* a /* b */ DELETE c */ SELECT 1", id="nested-comment-before"),
        pytest.param("postgres", 'SELECT "into", "delete" FROM t', id="quoted-names"),
        pytest.param("postgres", "SELECT (update + 1) FROM t", id="column-in-parentheses"),
        pytest.param("postgres", "SELECT a->>'delete' FROM t", id="json"),
        pytest.param("postgres", "SELECT CAST(update AS int), (delete) FROM t", id="column-in-a-cast"),
        pytest.param("postgres", "SELECT (grant BETWEEN 1 AND 2), (drop IS NULL) FROM t", id="column-in-a-condition"),
        pytest.param("postgres", "SELECT array_agg(update ORDER BY x), extract(update FROM x) FROM t", id="arguments"),
        pytest.param("postgres", "SELECT count(*) delete FROM t", id="alias-behind-parentheses"),
        pytest.param("postgres", "WITH delete AS (SELECT 1), update(x) AS (SELECT 2) SELECT 1", id="cte-names"),
        pytest.param("postgres", "SELECT * FROM f() AS (update int, delete text)", id="column-definitions"),
        pytest.param("postgres", "SELECT t.into FROM t", id="column-named-into"),
        pytest.param("mysql", "SELECT 'it\\'s; DROP TABLE t'", id="backslash-quote"),
        pytest.param("mysql", 'SELECT "a; DROP TABLE t"', id="double-quoted-text"),
        pytest.param("mysql", "SELECT `delete`, `into` FROM t", id="backticks"),
        pytest.param("mysql", "SELECT 1 # ; DROP TABLE t", id="hash-comment"),
        pytest.param("mysql", "SELECT insert('abc', 1, 1, 'x'), truncate(1.5, 0)", id="functions-named-like-writes"),
        pytest.param("sqlite", "SELECT [delete; from] FROM t", id="brackets"),
        pytest.param("sqlite", "SELECT replace FROM t", id="column-named-replace"),
        pytest.param("duckdb", "FROM t", id="from-first"),
        pytest.param("duckdb", "SELECT $$;$$", id="duckdb-dollar-quote"),
        pytest.param("duckdb", "SELECT * REPLACE (a + 1 AS a) FROM t", id="star-replace"),
    ],
)
def test_queries_of_one_dialect_pass(dialect: str, sql: str) -> None:
    assert query_rejection(sql, dialect) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "word"),
    [
        pytest.param("DELETE FROM t", "DELETE", id="delete"),
        pytest.param("  \n/* x */ -- y\n update t SET x = 1", "UPDATE", id="behind-comments"),
        pytest.param("(((drop table t)))", "DROP", id="behind-parentheses"),
        pytest.param(";;INSERT INTO t VALUES (1)", "INSERT", id="behind-semicolons"),
        pytest.param("REPLACE INTO t VALUES (1)", "REPLACE", id="replace"),
        pytest.param("PRAGMA user_version = 1", "PRAGMA", id="pragma"),
        pytest.param("EXPLAIN SELECT 1", "EXPLAIN", id="explain"),
        pytest.param("SELECT 1; SELECT 2", "more than one statement", id="two-queries"),
        pytest.param("SELECT 1; DROP TABLE t", "more than one statement", id="two-statements"),
        pytest.param("SELECT ';'; DELETE FROM t", "more than one statement", id="semicolon-in-text-first"),
        pytest.param("WITH d AS (DELETE FROM t RETURNING x) SELECT x FROM d", "DELETE", id="writing-cte"),
        pytest.param("WITH a AS (SELECT 1) DELETE FROM t", "DELETE", id="cte-before-delete"),
        pytest.param("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT", id="cte-before-insert"),
        pytest.param("SELECT * INTO u FROM t", "INTO", id="into"),
    ],
)
def test_writes_are_refused(sql: str, word: str, dialect: str) -> None:
    assert word in (query_rejection(sql, dialect) or "")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        pytest.param("postgres", "SELECT '\\'; DROP TABLE t; --'", id="backslash-is-no-escape"),
        pytest.param("sqlite", "SELECT '\\'; DROP TABLE t; --'", id="nor-in-sqlite"),
        pytest.param("mysql", "SELECT 1 INTO OUTFILE '/tmp/x'", id="outfile"),
        pytest.param("mysql", "SELECT '/*'; DROP TABLE t; -- */'", id="comment-in-text"),
        pytest.param("mysql", "/* a /* b */ DELETE FROM t", id="comments-do-not-nest"),
        pytest.param("oracle", "/* /* */ DELETE FROM t -- */ SELECT 1", id="nor-in-oracle"),
        pytest.param("mysql", "# a\nDELETE FROM t", id="behind-a-hash-comment"),
        pytest.param("postgres", "/* a /* b */ c */ DELETE FROM t", id="behind-a-nested-comment"),
        pytest.param(
            "postgres", "WITH a AS (WITH b AS (SELECT 1) DELETE FROM t RETURNING x) SELECT 1", id="cte-in-cte"
        ),
        pytest.param("postgres", "WITH a AS NOT MATERIALIZED (UPDATE t SET x = 1) SELECT 1", id="materialized"),
        pytest.param("postgres", "WITH a AS ((DELETE FROM t RETURNING x)) SELECT 1", id="double-parentheses"),
        pytest.param("postgres", "(WITH a AS (SELECT 1) UPDATE t SET x = 1)", id="update-in-parentheses"),
        pytest.param("postgres", "(SELECT 1) UNION (DELETE FROM t)", id="union-with-a-write"),
        pytest.param("postgres", "SELECT * FROM [DELETE FROM t RETURNING x]", id="brackets"),
        pytest.param("postgres", "SELECT * FROM FINAL TABLE (UPDATE t SET x = 1)", id="final-table"),
        pytest.param("postgres", "SELECT 1.INTO u", id="into-behind-a-number"),
        pytest.param(
            "postgres", "WITH RECURSIVE a AS (SELECT 1) SEARCH BREADTH FIRST BY x SET o DELETE FROM t", id="search"
        ),
    ],
)
def test_writes_of_one_dialect_are_refused(dialect: str, sql: str) -> None:
    assert query_rejection(sql, dialect) is not None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", ["SELECT 'open", 'SELECT "open', "SELECT /* open", "SELECT '\udcff'", "\0", ""])
def test_texts_that_cannot_be_read_raise_nothing(sql: str, dialect: str) -> None:
    found = tokens(sql, dialect)
    assert found is None or isinstance(found, list)


def test_comments_of_any_length_are_read_quickly() -> None:
    assert first_word_rejection("-- x\n" * 20_000 + "SELECT 1") is None
    assert first_word_rejection("/* * / */ " * 20_000 + "DROP TABLE t") is not None


@pytest.mark.parametrize(
    ("dialect", "sql", "stripped"),
    [
        pytest.param("sqlite", "SELECT DISTINCT a FROM t", "SELECT  a FROM t", id="select"),
        pytest.param("sqlite", "SELECT count(distinct a) FROM t", "SELECT count( a) FROM t", id="aggregate"),
        pytest.param("sqlite", "SELECT 'DISTINCT' FROM t", "SELECT 'DISTINCT' FROM t", id="text"),
        pytest.param("sqlite", 'SELECT "distinct" FROM t', 'SELECT "distinct" FROM t', id="name"),
        pytest.param("sqlite", "SELECT 'ü😀', DISTINCT_id FROM t", "SELECT 'ü😀', DISTINCT_id FROM t", id="prefix"),
        pytest.param(
            "sqlite", "SELECT '😀', x FROM (SELECT DISTINCT x)", "SELECT '😀', x FROM (SELECT  x)", id="unicode"
        ),
        pytest.param("sqlite", "SELECT a IS DISTINCT FROM b", "SELECT a IS DISTINCT FROM b", id="is-distinct-from"),
        pytest.param(
            "sqlite", "SELECT a IS NOT DISTINCT FROM b", "SELECT a IS NOT DISTINCT FROM b", id="is-not-distinct"
        ),
        pytest.param("postgres", "SELECT 'open", "SELECT 'open", id="unreadable"),
        pytest.param("postgres", "SELECT DISTINCT ON (a) a FROM t", "SELECT DISTINCT ON (a) a FROM t", id="on"),
        pytest.param("sqlite", "SELECT DISTINCT(a) FROM t", "SELECT (a) FROM t", id="parentheses"),
    ],
)
def test_strip_distinct(dialect: str, sql: str, stripped: str) -> None:
    assert strip_distinct(sql, dialect) == stripped


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT a FROM t", "select  A\nfrom T ;", True),
        ("SELECT ( 'x' , a )", "SELECT ('x',A)", True),
        ("SELECT 'x' AS y", "SELECT  'x'  as Y", True),
        ("SELECT X'ab'", "SELECT x'ab'", True),
        ("SELECT x'ab'", "SELECT x 'ab'", False),
        ("SELECT e'ab'", "SELECT e 'ab'", False),
        ("SELECT n'ab'", "SELECT n 'ab'", False),
        ("SELECT b'01'", "SELECT b '01'", False),
        ("SELECT u&'ab'", "SELECT u& 'ab'", False),
        ("SELECT 'a''b'", "SELECT 'a' 'b'", False),
        ("SELECT 'A'", "SELECT 'a'", False),
        ("SELECT 1 -- A", "SELECT 1 -- a", False),
    ],
)
def test_folded(one: str, other: str, same: bool) -> None:
    assert (folded(one) == folded(other)) is same

"""The outermost ORDER BY: keys, limits, and ranked queries that a real database runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics.databases.sqlite import SQLiteDatabase
from sqlmetrics.metrics.execution_accuracy import ExecutionAccuracy, ExecutionAccuracyDetails
from sqlmetrics.results import MetricResult
from sqlmetrics.sql.order import mentions_order_by, outermost_order


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("select a from t order\n\tby a", True),
        ("SELECT * FROM (SELECT a FROM t ORDER BY a)", True),
        ("SELECT a FROM t", False),
        ("SELECT border by_x FROM t", False),
        ("SELECT order_by FROM t", False),
    ],
)
def test_mentions_order_by(sql: str, expected: bool) -> None:
    assert mentions_order_by(sql) is expected


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT a FROM t", id="none"),
        pytest.param("SELECT 'ORDER BY a' FROM t", id="in-text"),
        pytest.param('SELECT "ORDER BY a" FROM t', id="in-a-name"),
        pytest.param("SELECT a FROM t -- ORDER BY a", id="in-a-comment"),
        pytest.param("SELECT a FROM t /* ORDER BY a */", id="in-a-block-comment"),
        pytest.param("SELECT * FROM (SELECT a FROM t ORDER BY a)", id="in-a-subquery"),
        pytest.param("SELECT a, (SELECT b FROM u ORDER BY b LIMIT 1) FROM t", id="in-a-scalar-subquery"),
        pytest.param("SELECT rank() OVER (ORDER BY a) FROM t", id="in-a-window"),
        pytest.param("SELECT group_concat(a ORDER BY b) FROM t", id="in-an-aggregate"),
        pytest.param("WITH c AS (SELECT a FROM t ORDER BY a) SELECT a FROM c", id="in-a-cte"),
        pytest.param("SELECT a FROM t WHERE 'open ORDER BY a", id="unreadable"),
    ],
)
def test_no_outermost_order(sql: str) -> None:
    assert outermost_order(sql, "sqlite") is None


@pytest.mark.parametrize(
    ("sql", "keys", "limit", "offset"),
    [
        pytest.param("SELECT a FROM t ORDER BY a", ("a",), None, 0, id="plain"),
        pytest.param("SELECT a FROM t ORDER BY a ASC, t.b DESC", ("a", "b"), None, 0, id="two-keys"),
        pytest.param("SELECT a FROM t ORDER BY 2, 1 DESC", (1, 0), None, 0, id="positions"),
        pytest.param("SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 3", ("a",), 3, 0, id="nulls-last"),
        pytest.param("SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 3", ("a",), 3, 0, id="nulls-first"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2", ("a",), 3, 2, id="limit-offset"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 2, 3", ("a",), 3, 2, id="limit-m-n"),
        pytest.param("SELECT a FROM t ORDER BY a OFFSET 2 LIMIT 3", ("a",), 3, 2, id="offset-first"),
        pytest.param("SELECT a FROM t ORDER BY a OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY", ("a",), 3, 2, id="fetch"),
        pytest.param("SELECT a FROM t ORDER BY a FETCH FIRST ROW ONLY", ("a",), 1, 0, id="fetch-one"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT -1", ("a",), None, 0, id="negative-limit"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT (SELECT 3)", ("a",), None, 0, id="computed-limit"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 2 + 1", ("a",), None, 0, id="arithmetic-limit"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT ?", ("a",), None, 0, id="parameter"),
        pytest.param("SELECT a FROM t ORDER BY a; -- LIMIT 3", ("a",), None, 0, id="semicolon-and-comment"),
        pytest.param("SELECT a FROM t ORDER BY max(a, b), c", ("max(a,b)", "c"), None, 0, id="function"),
        pytest.param("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1 LIMIT 3", (0,), 3, 0, id="union"),
        pytest.param("WITH c AS (SELECT 1 AS a) SELECT a FROM c ORDER BY a", ("a",), None, 0, id="cte"),
        pytest.param(
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 9) ORDER BY a LIMIT 3", ("a",), 3, 0, id="nested"
        ),
        pytest.param("SELECT a FROM t ORDER BY a /* LIMIT 5 */ LIMIT 3", ("a",), 3, 0, id="comment-between"),
        pytest.param("SELECT p.last FROM p ORDER BY p.last DESC", ("last",), None, 0, id="column-named-last"),
        pytest.param("SELECT first FROM p ORDER BY first", ("first",), None, 0, id="column-named-first"),
        pytest.param("SELECT offset FROM t ORDER BY offset LIMIT 3", ("offset",), 3, 0, id="column-named-offset"),
        pytest.param('SELECT "limit" FROM t ORDER BY "limit" LIMIT 3', ("limit",), 3, 0, id="column-named-limit"),
        pytest.param("SELECT t.offset FROM t ORDER BY t.offset DESC", ("offset",), None, 0, id="qualified-offset"),
        pytest.param("SELECT asc FROM t ORDER BY asc ASC", ("asc",), None, 0, id="column-named-asc"),
        pytest.param("SELECT a FROM t ORDER BY a + offset LIMIT 3", ("a+offset",), 3, 0, id="offset-behind-a-plus"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 2 + 1 OFFSET 1", ("a",), None, 1, id="offset-is-still-read"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 3 OFFSET ?", (-1,), None, 0, id="unknown-offset"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT ?, 3", (-1,), None, 0, id="unknown-offset-first"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 0x10", ("a",), None, 0, id="hexadecimal"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 1_000", ("a",), None, 0, id="number-in-groups"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 1e1", ("a",), None, 0, id="power"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT ALL OFFSET 2", ("a",), None, 2, id="all"),
        pytest.param("SELECT a FROM t ORDER BY a -- b\n/* c */ LIMIT 3 -- d", ("a",), 3, 0, id="comments-around"),
        pytest.param("SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES", ("a",), None, 0, id="with-ties"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 3 FOR UPDATE", ("a",), 3, 0, id="for-update"),
        pytest.param("SELECT a FROM t ORDER BY 1 COLLATE NOCASE", (-1,), None, 0, id="collated-position"),
        pytest.param("SELECT a FROM t ORDER BY 'a'", (-1,), None, 0, id="constant"),
        pytest.param("SELECT DISTINCT a AS b, b AS c FROM t ORDER BY t.b", (-1,), None, 0, id="hidden-by-an-alias"),
        pytest.param("SELECT DISTINCT a, b + 1 FROM t ORDER BY b+1", (1,), None, 0, id="expression-of-the-list"),
        pytest.param("SELECT DISTINCT *, b + 1 FROM t ORDER BY b+1", ("b+1",), None, 0, id="expression-behind-a-star"),
    ],
)
def test_keys_and_limits(sql: str, keys: tuple[int | str, ...], limit: int | None, offset: int) -> None:
    order = outermost_order(sql, "sqlite")
    assert order is not None
    assert (order.keys, order.limit, order.offset) == (keys, limit, offset)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("(SELECT a FROM t ORDER BY a)", id="parentheses"),
        pytest.param("((SELECT a FROM t ORDER BY a LIMIT 3));", id="double-parentheses"),
    ],
)
def test_parentheses_around_the_whole_query_are_no_subquery(sql: str, dialect: str) -> None:
    order = outermost_order(sql, dialect)
    assert order is not None
    assert order.keys == ("a",)


def test_the_order_of_one_side_of_a_union_is_not_outermost() -> None:
    assert outermost_order("(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL SELECT b FROM u", "postgres") is None


@pytest.mark.parametrize(
    ("sql", "keys", "limit"),
    [
        pytest.param("(SELECT a FROM t ORDER BY a) LIMIT 3", ("a",), 3, id="limit-behind"),
        pytest.param("(SELECT a FROM t ORDER BY a LIMIT 5) LIMIT 3", ("a",), None, id="two-limits"),
        pytest.param("WITH c AS (SELECT 1 AS a) (SELECT a FROM c ORDER BY a)", ("a",), None, id="behind-ctes"),
        pytest.param("(SELECT a FROM t UNION SELECT b FROM u ORDER BY 1 LIMIT 3)", (0,), 3, id="union-inside"),
        pytest.param("(SELECT a FROM t) UNION (SELECT b FROM u) ORDER BY 1", (0,), None, id="union-of-two"),
        pytest.param("SELECT a FROM t ORDER BY a USING > NULLS FIRST", ("a",), None, id="using"),
        pytest.param("SELECT a FROM t QUALIFY rank() OVER (ORDER BY b) = 1 ORDER BY a", ("a",), None, id="qualify"),
        pytest.param("SELECT a FROM t ORDER BY a LIMIT 10 PERCENT", ("a",), None, id="percent"),
    ],
)
def test_other_forms(sql: str, keys: tuple[int | str, ...], limit: int | None) -> None:
    order = outermost_order(sql, "postgres")
    assert order is not None
    assert (order.keys, order.limit) == (keys, limit)


def test_a_limit_that_is_unknown_is_told_from_none() -> None:
    known = [
        order.limit_known if (order := outermost_order(f"SELECT a FROM t ORDER BY a{tail}", "postgres")) else None
        for tail in ("", " LIMIT 3", " LIMIT ALL", " LIMIT 2 + 1", " LIMIT (SELECT 3)", " OFFSET 1 + 1")
    ]
    assert known == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("sql", "limit", "unlimited"),
    [
        ("SELECT TOP 5 a FROM t ORDER BY a", 5, "SELECT  a FROM t ORDER BY a"),
        ("SELECT DISTINCT TOP (5) a FROM t ORDER BY a", 5, "SELECT DISTINCT  a FROM t ORDER BY a"),
        ("SELECT TOP 5 PERCENT a FROM t ORDER BY a", None, "SELECT  a FROM t ORDER BY a"),
        ("SELECT top, a FROM t ORDER BY top", None, "SELECT top, a FROM t ORDER BY top"),
    ],
)
def test_top(sql: str, limit: int | None, unlimited: str) -> None:
    order = outermost_order(sql, "tsql")
    assert order is not None
    assert (order.limit, order.unlimited_query(None)) == (limit, unlimited)


@pytest.mark.parametrize(
    ("dialect", "sql", "rank_key"),
    [
        pytest.param("postgres", 'SELECT -a AS "M", m FROM t ORDER BY m', "m", id="quotes-keep-case"),
        pytest.param("postgres", "SELECT -a AS M FROM t ORDER BY m", "-a", id="without-quotes-case-is-folded"),
        pytest.param("duckdb", 'SELECT -a AS "M" FROM t ORDER BY m', "-a", id="case-never-matters"),
        pytest.param("postgres", "SELECT ARRAY[1, 2], b FROM t ORDER BY 2", "b", id="comma-in-brackets"),
        pytest.param("duckdb", "SELECT {'k': 1, 'l': 2}, b FROM t ORDER BY 2", "b", id="comma-in-braces"),
        pytest.param("duckdb", "SELECT m: -a FROM t ORDER BY m", "-a", id="alias-first"),
        pytest.param("sqlite", "SELECT t.b, a AS b FROM t ORDER BY b", "a", id="alias-before-column"),
        pytest.param("sqlite", "SELECT t.b FROM t JOIN u USING (b) ORDER BY b", "t.b", id="qualified-column"),
        pytest.param("sqlite", "SELECT *, -a AS a FROM t ORDER BY a", None, id="star-before-an-alias"),
        pytest.param("sqlite", 'SELECT -a AS m FROM t ORDER BY -"m"', None, id="quoted-alias-in-an-expression"),
        pytest.param("sqlite", "SELECT a FROM t ORDER BY +1", None, id="signed-position"),
        pytest.param("duckdb", "SELECT * EXCLUDE (a) FROM t ORDER BY 1", None, id="exclude"),
        pytest.param("duckdb", "SELECT COLUMNS('a.*'), b FROM t ORDER BY 2", None, id="columns"),
        pytest.param("duckdb", "SELECT a FROM t ORDER BY ALL", None, id="order-by-all"),
        pytest.param("duckdb", "SELECT -a AS a FROM t ORDER BY a COLLATE NOCASE", None, id="collated-alias"),
        pytest.param("postgres", "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b", None, id="distinct-on"),
        pytest.param("mysql", "SELECT DISTINCTROW a FROM t ORDER BY a", None, id="distinctrow"),
    ],
)
def test_what_a_window_is_ordered_by(dialect: str, sql: str, rank_key: str | None) -> None:
    order = outermost_order(sql, dialect)
    assert order is not None
    expected = None if rank_key is None else f"DENSE_RANK() OVER (ORDER BY {rank_key}) AS"
    assert order.ranked_sql is None if expected is None else expected in (order.ranked_sql or "")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLiteDatabase]:
    path = tmp_path / "club.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE club(title TEXT, members INTEGER, "offset" INTEGER, town TEXT);
        INSERT INTO club VALUES
            ('chess', 9, 1, 'Lund'), ('go', 4, 2, 'lund'), ('bridge', 4, 2, 'Bari'),
            ('darts', 1, 3, NULL), ('ΩmΩ', 1, 3, '😀');
        """
    )
    connection.close()
    with SQLiteDatabase(str(path)) as database:
        yield database


@pytest.mark.parametrize(
    ("sql", "ranks"),
    [
        pytest.param("SELECT title FROM club ORDER BY members DESC", [1, 2, 2, 3, 3], id="key-not-shown"),
        pytest.param("SELECT title, members FROM club ORDER BY 2 DESC", [1, 2, 2, 3, 3], id="position"),
        pytest.param("SELECT title, -members AS m FROM club ORDER BY m", [1, 2, 2, 3, 3], id="alias"),
        pytest.param("SELECT title, -members m FROM club ORDER BY m", [1, 2, 2, 3, 3], id="implicit-alias"),
        pytest.param('SELECT title, -members AS "M" FROM club ORDER BY "M"', [1, 2, 2, 3, 3], id="quoted-alias"),
        pytest.param("SELECT members AS title FROM club ORDER BY title", [1, 1, 2, 2, 3], id="alias-hides-a-column"),
        pytest.param("SELECT title FROM club ORDER BY members DESC, title DESC", [1, 2, 3, 4, 5], id="two-keys"),
        pytest.param("SELECT town FROM club ORDER BY town COLLATE NOCASE", [1, 2, 3, 3, 4], id="collation"),
        pytest.param("SELECT town FROM club ORDER BY town NULLS LAST", [1, 2, 3, 4, 5], id="nulls-last"),
        pytest.param("SELECT members, count(*) FROM club GROUP BY members ORDER BY 2 DESC", [1, 1, 2], id="aggregate"),
        pytest.param("SELECT members, count(*) AS n FROM club GROUP BY 1 ORDER BY n", [1, 2, 2], id="aggregate-alias"),
        pytest.param("SELECT 'ORDER BY 😀 FROM', members FROM club ORDER BY members", [1, 1, 2, 2, 3], id="text"),
        pytest.param("SELECT title FROM club ORDER BY club.offset LIMIT 2", [1, 2, 2, 3, 3], id="column-named-offset"),
        pytest.param("WITH c AS (SELECT * FROM club) SELECT title FROM c ORDER BY members", [1, 1, 2, 2, 3], id="cte"),
        pytest.param(
            "SELECT (SELECT max(members) FROM club) AS x, title FROM club ORDER BY members", [1, 1, 2, 2, 3], id="sub"
        ),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 1; -- one", [1, 2, 2, 3, 3], id="limit"),
        pytest.param(
            "SELECT title FROM club ORDER BY CASE WHEN members > 1 THEN 0 ELSE 1 END", [1, 1, 1, 2, 2], id="case"
        ),
        pytest.param("SELECT * FROM club ORDER BY members", [1, 1, 2, 2, 3], id="star"),
        pytest.param("SELECT title, members FROM club ORDER BY (2) DESC", [1, 2, 2, 3, 3], id="(position)"),
        pytest.param("SELECT title, members AS m FROM club ORDER BY (m) DESC", [1, 2, 2, 3, 3], id="(alias)"),
        pytest.param("SELECT town FROM club ORDER BY 1 COLLATE NOCASE", [1, 2, 3, 3, 4], id="collated-position"),
        pytest.param(
            "SELECT town || '' AS title FROM club ORDER BY title COLLATE NOCASE", [1, 2, 3, 3, 4], id="collated-alias"
        ),
        pytest.param("SELECT -members 'title' FROM club ORDER BY title", [1, 2, 2, 3, 3], id="alias-in-quotes"),
        pytest.param("SELECT -members last FROM club ORDER BY last", [1, 2, 2, 3, 3], id="alias-named-last"),
        pytest.param("SELECT town IS DISTINCT FROM 'x' AS x, members FROM club ORDER BY 2", [1, 1, 2, 2, 3], id="is"),
        pytest.param("SELECT title FROM club ORDER BY offset, members LIMIT 1", [1, 2, 2, 3, 3], id="bare-offset"),
        pytest.param("SELECT title FROM club ORDER BY 'members'", [1, 1, 1, 1, 1], id="constant"),
        pytest.param("SELECT title -- a\nFROM club ORDER BY members -- b\n LIMIT 2", [1, 1, 2, 2, 3], id="comments"),
        pytest.param(
            "SELECT group_concat(title) AS g FROM club GROUP BY members ORDER BY max(offset), g", [1, 2, 3], id="concat"
        ),
        pytest.param(
            "SELECT members AS title, title AS x FROM club ORDER BY title || ''",
            [1, 2, 3, 4, 5],
            id="alias-in-expression",
        ),
    ],
)
def test_ranked_queries_run(database: SQLiteDatabase, sql: str, ranks: list[int]) -> None:
    order = outermost_order(sql, database.dialect)
    assert order is not None
    ranked = order.ranked_query(None)
    assert ranked is not None
    assert [row[-1] for row in database.run(ranked).table.rows] == ranks


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT members FROM club ORDER BY members LIMIT 2",
        "SELECT members FROM club UNION SELECT 7 ORDER BY 1 LIMIT 2",
        "SELECT members FROM club INTERSECT SELECT 4 ORDER BY 1",
        "SELECT 1 AS a ORDER BY a",
    ],
)
def test_queries_without_a_rank_still_run_without_their_limit(database: SQLiteDatabase, sql: str) -> None:
    order = outermost_order(sql, database.dialect)
    assert order is not None
    assert order.ranked_query(3) is None
    assert len(database.run(order.unlimited_query(None)).table.rows) >= len(database.run(sql).table.rows)


def score(database: SQLiteDatabase, gold: str, prediction: str, **options: Any) -> MetricResult:
    """Score one pair by execution accuracy."""
    return ExecutionAccuracy(database, **options).score(response=prediction, reference=gold)


BY_MEMBERS = "SELECT title, members FROM club ORDER BY members"


@pytest.mark.parametrize(
    ("gold", "prediction", "value"),
    [
        pytest.param(BY_MEMBERS, BY_MEMBERS + ", title DESC", 1.0, id="F20-tie"),
        pytest.param(BY_MEMBERS, BY_MEMBERS + " DESC", 0.0, id="F19-reversed"),
        pytest.param(BY_MEMBERS, "SELECT members AS m, title AS t FROM club ORDER BY 1, 2", 1.0, id="columns-swapped"),
        pytest.param("SELECT title, members FROM club", BY_MEMBERS, 1.0, id="gold-without-order"),
        pytest.param(f"SELECT * FROM ({BY_MEMBERS})", BY_MEMBERS + " DESC", 1.0, id="order-in-a-subquery"),
        pytest.param(
            "SELECT title FROM club ORDER BY members", "SELECT title FROM club ORDER BY members DESC", 0.0, id="hidden"
        ),
        pytest.param("SELECT * FROM club ORDER BY 2", "SELECT * FROM club ORDER BY 2 DESC", 0.0, id="star-by-position"),
        pytest.param(
            "SELECT * FROM club ORDER BY 2", "SELECT * FROM club ORDER BY 2, 1 DESC", 1.0, id="star-by-position-tie"
        ),
        pytest.param(
            "SELECT c.*, 0 AS z FROM club c ORDER BY 2",
            "SELECT c.*, 0 AS z FROM club c ORDER BY 2 DESC",
            0.0,
            id="star-and-more",
        ),
        pytest.param(
            "SELECT DISTINCT members FROM club ORDER BY members",
            "SELECT DISTINCT members FROM club ORDER BY 1 DESC",
            0.0,
            id="distinct",
        ),
        pytest.param(
            "SELECT DISTINCT title, members FROM club ORDER BY members",
            "SELECT DISTINCT title, members FROM club ORDER BY members, title DESC",
            1.0,
            id="distinct-tie",
        ),
        pytest.param(
            "SELECT title, members FROM club UNION SELECT 'x', 4 ORDER BY members",
            "SELECT title, members FROM club UNION SELECT 'x', 4 ORDER BY members, title DESC",
            1.0,
            id="union-tie",
        ),
        pytest.param(
            "SELECT title, members FROM club ORDER BY club.offset",
            "SELECT title, members FROM club ORDER BY club.offset DESC",
            0.0,
            id="column-named-offset",
        ),
    ],
)
def test_order_is_judged_on_the_gold_keys(database: SQLiteDatabase, gold: str, prediction: str, value: float) -> None:
    assert score(database, gold, prediction).value == value


@pytest.mark.parametrize(
    ("gold", "cuts"),
    [
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 1", False, id="first-alone"),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 2", True, id="through-a-tie"),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 3", False, id="behind-a-tie"),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 1 OFFSET 2", True, id="offset-through-a-tie"),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 9", False, id="beyond-the-end"),
        pytest.param("SELECT title FROM club ORDER BY members DESC", False, id="no-limit"),
        pytest.param("SELECT title FROM club LIMIT 2", False, id="no-order"),
        pytest.param("SELECT title FROM club ORDER BY members DESC LIMIT 0", False, id="limit-0"),
        pytest.param("SELECT * FROM club ORDER BY 2 DESC LIMIT 1", False, id="star-by-position"),
        pytest.param("SELECT DISTINCT title, members FROM club ORDER BY members DESC LIMIT 2", True, id="distinct"),
        pytest.param("SELECT title, members FROM club UNION SELECT 'x', 4 ORDER BY 2 DESC LIMIT 2", True, id="union"),
    ],
)
def test_a_cut_tie_is_noticed(database: SQLiteDatabase, gold: str, cuts: bool) -> None:
    details = score(database, gold, gold).details
    assert isinstance(details, ExecutionAccuracyDetails)
    assert details.gold_cuts_tie is cuts


@pytest.mark.parametrize(
    ("prediction", "value", "value_with_ties"),
    [
        pytest.param(
            "SELECT title FROM club WHERE title IN ('chess', 'go') ORDER BY members DESC", 1.0, 1.0, id="gold"
        ),
        pytest.param(
            "SELECT title FROM club WHERE title IN ('chess', 'bridge') ORDER BY members DESC", 0.0, 1.0, id="tie"
        ),
        pytest.param(
            "SELECT title FROM club WHERE title IN ('chess', 'darts') ORDER BY members DESC", 0.0, 0.0, id="wrong"
        ),
        pytest.param(
            "SELECT title FROM club WHERE title IN ('chess', 'bridge') ORDER BY members", 0.0, 0.0, id="wrong-order"
        ),
        pytest.param("SELECT title FROM club WHERE title IN ('go', 'bridge')", 0.0, 0.0, id="whole-block-left-out"),
    ],
)
def test_ties_can_be_accepted(database: SQLiteDatabase, prediction: str, value: float, value_with_ties: float) -> None:
    gold = "SELECT title FROM club ORDER BY members DESC LIMIT 2"
    assert score(database, gold, prediction).value == value
    assert score(database, gold, prediction, ties="accept").value == value_with_ties


def test_the_order_of_a_chain_of_values_counts(database: SQLiteDatabase) -> None:
    gold = "SELECT column1 AS x FROM (VALUES (0), (1), (2)) ORDER BY x"
    prediction = "SELECT column1 AS x FROM (VALUES (0), (1), (2.5)) ORDER BY x DESC"
    assert score(database, gold, prediction, abs_tol=1.0).value == 0.0

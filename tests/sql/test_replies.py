"""The SQL in a model's reply."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.sql.replies import extract_sql


@pytest.mark.parametrize(
    ("reply", "sql"),
    [
        pytest.param("```sql\nSELECT 1\n```", "SELECT 1", id="fence"),
        pytest.param("```\nSELECT 1\n```", "SELECT 1", id="fence-without-language"),
        pytest.param("```SQL\r\nSELECT 1\r\n```", "SELECT 1", id="windows"),
        pytest.param("~~~sql\nSELECT 1\n~~~", "SELECT 1", id="tildes"),
        pytest.param("Here:\n```sql\nSELECT 1\n```\nIt works.", "SELECT 1", id="prose-around"),
        pytest.param("```sql\nSELECT 1\n```\nBetter:\n```sql\nSELECT 2\n```", "SELECT 2", id="last-fence"),
        pytest.param("```sql\nSELECT 1\n```\n```python\nprint(1)\n```", "SELECT 1", id="other-language"),
        pytest.param("```sql\nSELECT 1\n```\n```\n1 row\n```", "SELECT 1", id="result-behind"),
        pytest.param("```sql\nSELECT 1", "SELECT 1", id="open-fence"),
        pytest.param("SQLQuery: SELECT 1", "SELECT 1", id="label"),
        pytest.param("SQL: SELECT 1", "SELECT 1", id="short-label"),
        pytest.param("Answer:\nWITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a", id="cte"),
        pytest.param("<think>SELECT 0?</think>\n```sql\nSELECT 1\n```", "SELECT 1", id="thinking"),
        pytest.param("<think>```sql\nSELECT 0\n```</think>SELECT 1", "SELECT 1", id="fence-while-thinking"),
        pytest.param("```sql\n-- note\nSELECT 1\n```", "-- note\nSELECT 1", id="comment-first"),
        pytest.param("```sql\nSELECT a -- why\nFROM t\n```", "SELECT a -- why\nFROM t", id="comment-inside"),
        pytest.param("x:\n```sql\nSELECT '```' AS x\n```", "SELECT '```' AS x", id="fence-in-the-fenced-text"),
        pytest.param("```SELECT 1```", "SELECT 1", id="one-line"),
        pytest.param("```sql SELECT 1``` is it", "SELECT 1", id="one-line-with-language"),
        pytest.param("```sql\nSELECT 1```\nor\n```sql\nSELECT 2```", "SELECT 2", id="closed-behind-the-query"),
        pytest.param("SELECT 1\n```", "SELECT 1", id="closed-only"),
        pytest.param("Use this: ```sql\nSELECT 1\n```", "SELECT 1", id="fence-behind-prose"),
        pytest.param("Do it in `t`:\n~~~\nSELECT 1\n~~~", "SELECT 1", id="name-in-prose"),
        pytest.param(
            "With 5\" rows, I'm sure it's:\n```\nSELECT \"a\", 'b'\n```", "SELECT \"a\", 'b'", id="apostrophes"
        ),
        pytest.param("Use the teams' names:\n  ```sql\n  SELECT 'a'\n  ```", "SELECT 'a'", id="indented"),
    ],
)
def test_sql_is_taken_out(reply: str, sql: str) -> None:
    assert extract_sql(reply) == sql


@pytest.mark.parametrize(
    "opening",
    [
        "With the given schema, this is the query:",
        "From the schema we need two tables.",
        "Use the following query:",
        "Select the rows of t like this:",
        "Set semantics matter here, so:",
        "Explain: we count rows.",
        "Start with the table t:",
        "Do this:",
        "Values are counted as follows:",
    ],
)
def test_prose_that_begins_like_sql_does_not_hide_the_fence(opening: str) -> None:
    assert extract_sql(f"{opening}\n```sql\nSELECT 1\n```\n") == "SELECT 1"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("SELECT 1", id="plain"),
        pytest.param("  (SELECT 1) UNION SELECT 2", id="parentheses"),
        pytest.param("-- note\nSELECT 1", id="comment"),
        pytest.param("/* note */ WITH a AS (SELECT 1) SELECT * FROM a", id="block-comment"),
        pytest.param("SELECT '```' AS x, '```sql\nSELECT 2\n```' AS y", id="fence-in-text"),
        pytest.param("SELECT '\n```sql\nSELECT 2\n```' AS x", id="fenced-block-in-text"),
        pytest.param("SELECT 1 /*\n```sql\nSELECT 2\n```*/", id="fenced-block-in-a-comment"),
        pytest.param("SELECT ```a` FROM t", id="doubled-backticks"),
        pytest.param("SELECT 'SQL: SELECT 2'", id="label-in-text"),
        pytest.param("DROP TABLE t", id="a-write-stays-a-write"),
        pytest.param("I cannot answer that.", id="no-sql"),
        pytest.param("", id="empty"),
        pytest.param("```python\nprint(1)\n```", id="no-sql-in-the-fence"),
        pytest.param("SELECT '<think>a</think>'", id="tag-in-text"),
        pytest.param("SELECT '\udcff'", id="undecodable"),
    ],
)
def test_the_rest_is_unchanged(reply: str) -> None:
    assert extract_sql(reply) == reply


@settings(max_examples=200, deadline=None, database=None)
@given(tail=st.text(max_size=40))
def test_a_query_is_never_changed(tail: str) -> None:
    sql = f"SELECT '{tail.replace(chr(39), '').replace('`', '').replace('~', '')}'"
    assert extract_sql(sql) == sql
    assert extract_sql(f"Here:\n```sql\n{sql}\n```") == sql


def test_long_replies_are_read_quickly() -> None:
    started = time.perf_counter()
    for reply in (
        "/* a */ " * 5_000 + "x",
        " " * 50_000 + "1",
        "(" * 50_000,
        "Do ```" * 10_000,
        "Use ' " * 20_000 + "\n```",
    ):
        extract_sql(reply)
    assert time.perf_counter() - started < 2

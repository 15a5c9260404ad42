"""The SQL in a model's reply: fences, labels and prose around are taken off, the query itself never changes."""

from __future__ import annotations

import re

from sqlmetrics.sql.statements import NOT_QUERIES

__all__ = ["extract_sql"]

_FENCE = re.compile(r"(?:```|~~~)[ \t]*([A-Za-z0-9_+-]*)[ \t]*\r?\n?(.*?)(?:```|~~~|\Z)", re.DOTALL)
_STARTS_SQL = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*[(\s]*(SELECT|WITH|VALUES|TABLE|FROM|" + "|".join(sorted(NOT_QUERIES)) + r")\b",
    re.IGNORECASE | re.DOTALL,
)
_LABEL = re.compile(r"\s*(?:SQL\s*Query|SQL|Query|Answer|Final\s+SQL)\s*:\s*", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_LANGUAGES = frozenset(
    {"", "sql", "sqlite", "sqlite3", "postgres", "postgresql", "mysql", "mariadb", "duckdb", "tsql", "bigquery"}
)


def extract_sql(reply: str) -> str:
    """Take the SQL out of a model's reply.

    A text that starts like a statement is returned as it is. Otherwise the last fenced block that starts like a
    statement counts, then the text behind a label such as `SQLQuery:`. Nothing is ever cut out of the middle of a
    query; a reply without any SQL is returned unchanged, so that the engine's error shows what it was.

    Args:
        reply: What the model wrote.

    Returns:
        The SQL, or the reply itself.

    Examples:
        >>> extract_sql("Here you go:\\n```SQL\\nSELECT 1\\n```\\nIt works.")
        'SELECT 1'
        >>> extract_sql("SQLQuery: SELECT 2"), extract_sql("SELECT '```' AS x")
        ('SELECT 2', "SELECT '```' AS x")
    """
    if _STARTS_SQL.match(reply):
        return reply
    text = _THINKING.sub("", reply) if "<think" in reply.casefold() else reply
    if "```" in text or "~~~" in text:
        blocks = [body.strip() for language, body in _FENCE.findall(text) if language.casefold() in _LANGUAGES]
        statements = [block for block in blocks if _STARTS_SQL.match(_unlabelled(block))]
        if statements:
            return _unlabelled(statements[-1])
    stripped = _unlabelled(text.strip())
    return stripped if _STARTS_SQL.match(stripped) else reply


def _unlabelled(text: str) -> str:
    """Drop a leading label."""
    match = _LABEL.match(text)
    return text[match.end() :] if match else text

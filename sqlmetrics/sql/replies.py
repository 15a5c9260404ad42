"""The SQL in a model's reply: fences, labels and prose around are taken off, the query itself never changes."""

from __future__ import annotations

import re

from sqlmetrics.sql.statements import LEADING, NOT_QUERIES

__all__ = ["extract_sql"]

_LANGUAGE_NAMES = "sql sqlite sqlite3 postgres postgresql mysql mariadb duckdb tsql bigquery".split()
_LANGUAGES = "|".join(_LANGUAGE_NAMES)
_FENCE = re.compile(
    r"(?P<mark>```|~~~)[ \t]*(?:"
    r"(?P<language>[\w+-]*)[ \t]*\r?\n(?P<body>.*?)(?:^[ \t]*(?P=mark)|(?P=mark)[ \t]*\r?$|\Z)"
    rf"|(?:(?:{_LANGUAGES})\b)?(?P<inline>.*?)(?:(?P=mark)|\Z))",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_OPENING = re.compile(
    r"--[^\n]*|/\*.*?\*/"  # comments
    r"|(?<=[A-Za-z]{2})'|(?<=\b[Ii])'|(?<=\d)['\"]"  # apostrophes and inches of prose
    rf"|(?P<fence>^[ \t]*(?:```|~~~)|(?:```|~~~)[ \t]*(?:{_LANGUAGES})[ \t]*\r?\n)"
    r"|'[^']*'|\"[^\"]*\"|`[^`]*`",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_STARTS_SQL = re.compile(
    LEADING + r"+[\s(]*(SELECT|WITH|VALUES|TABLE|FROM|" + "|".join(sorted(NOT_QUERIES)) + r")\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\s*(?:SQL\s*Query|SQL|Query|Answer|Final\s+SQL)\s*:\s*", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def extract_sql(reply: str) -> str:
    """Take the SQL out of a model's reply.

    A text that starts like a statement and holds no fence outside its quotes and comments is returned as it is.
    Otherwise the last fenced block that starts like a statement counts, then the text behind a label such as
    `SQLQuery:`. Nothing is ever cut out of the middle of a query; a reply without any SQL is returned unchanged, so
    that the engine's error shows what it was.

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
        return _behind_sql_words(reply) if "```" in reply or "~~~" in reply else reply
    text = _THINKING.sub("", reply) if "<think" in reply.casefold() else reply
    if "```" in text or "~~~" in text:
        statement = _last_fenced(text)
        if statement is not None:
            return statement
    stripped = _unlabelled(text.strip())
    return stripped if _STARTS_SQL.match(stripped) else reply


def _behind_sql_words(reply: str) -> str:
    """The SQL of a reply that holds a fence and begins with an SQL word: a query, or prose such as "Use this:"."""
    fence = next((found.start() for found in _OPENING.finditer(reply) if found["fence"]), None)
    if fence is None:
        return reply
    if reply[fence:].strip() in ("```", "~~~"):  # the fence was opened before the reply began
        return reply[:fence].rstrip()
    return _last_fenced(reply[fence:]) or reply


def _last_fenced(text: str) -> str | None:
    """The last fenced block that starts like a statement."""
    for found in reversed(list(_FENCE.finditer(text))):
        if (found["language"] or "sql").casefold() in _LANGUAGE_NAMES:
            block = _unlabelled((found["body"] or found["inline"] or "").strip())
            if _STARTS_SQL.match(block):
                return block
    return None


def _unlabelled(text: str) -> str:
    """Drop a leading label."""
    match = _LABEL.match(text)
    return text[match.end() :] if match else text

"""Is this text one query? A quick look at its first word, and a full look at its tokens.

`first_word_rejection` costs a microsecond and runs for every query. `query_rejection` tokenises (a tenth of a
millisecond) and runs where an engine cannot be trusted to refuse a second statement or a write by itself.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import TokenError

__all__ = ["first_word_rejection", "folded", "query_rejection", "strip_distinct", "tokens"]

_LEADING = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?![!M])(?:[^*]|\*(?!/))*\*/|;)*"
_FIRST_WORD = re.compile(_LEADING + r"[\s(]*([A-Za-z_]+)?")
_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\])")
_LOOSE = re.compile(r"\s*([(),])\s*")

NOT_QUERIES = frozenset(
    """
    ABORT ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT CLOSE CLUSTER COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE
    DELETE DETACH DISCARD DO DROP END EXEC EXECUTE EXPLAIN EXPORT FETCH FLUSH GRANT HANDLER HELP IMPORT INSERT INSTALL
    KILL LISTEN LOAD LOCK MERGE MOVE NOTIFY OPTIMIZE PRAGMA PREPARE PURGE REASSIGN REFRESH REINDEX RELEASE RENAME REPAIR
    REPLACE RESET RESIGNAL REVOKE ROLLBACK SAVEPOINT SET SHUTDOWN SIGNAL START STOP TRUNCATE UNINSTALL UNLISTEN
    UNLOCK UPDATE UPSERT USE VACUUM XA
    """.split()
)
"""First words of statements that are not read-only queries, in any engine."""

WRITING_WORDS = frozenset({"DELETE", "INSERT", "UPDATE", "MERGE", "TRUNCATE", "DROP", "ALTER", "CREATE", "GRANT"})


def first_word_rejection(sql: str) -> str | None:
    """Say why a text is certainly no query, going by its first word.

    Args:
        sql: Any text.

    Returns:
        A sentence, or `None` if the first word does not rule the text out (the engine then judges it).

    Examples:
        >>> first_word_rejection("/* hi */ (SELECT 1)") is None
        True
        >>> first_word_rejection("delete from t")
        'DELETE is not a query; only one read-only query is run.'
    """
    match = _FIRST_WORD.match(sql)
    word = match[1].upper() if match and match[1] else ""
    return f"{word} is not a query; only one read-only query is run." if word in NOT_QUERIES else None


@lru_cache(maxsize=16_384)
def folded(sql: str) -> str:
    """Drop what makes no difference between two texts of one query: letter case and white space outside quotes.

    Args:
        sql: A query in a dialect whose names do not depend on letter case.

    Returns:
        A key: equal keys mean the same query. A text with comments or letters beyond ASCII is its own key.

    Examples:
        >>> folded("SELECT Count( * )  FROM t;") == folded("select count(*) from T")
        True
        >>> folded("SELECT 'A'") == folded("SELECT 'a'")
        False
    """
    if not sql.isascii() or "--" in sql or "/*" in sql:
        return sql
    parts = _QUOTED.split(sql)
    for i in range(0, len(parts), 2):
        spaced = f" {' '.join(parts[i].lower().split())} " if parts[i].strip() else " " * bool(parts[i])
        parts[i] = _LOOSE.sub(r"\1", spaced)
    return "\0".join(parts).strip(" ;")


@lru_cache(maxsize=32)
def _dialect(name: str) -> Dialect:
    """Look a sqlglot dialect up once."""
    return Dialect.get_or_raise(name)


def tokens(sql: str, dialect: str) -> list[Token] | None:
    """Split a text into tokens; comments and white space are left out.

    Returns:
        The tokens, or `None` if the text cannot be split (an unclosed quote, say).
    """
    try:
        return _dialect(dialect).tokenize(sql)
    except TokenError:
        return None


def query_rejection(sql: str, dialect: str) -> str | None:
    """Say why a text is not exactly one read-only query, going by its tokens.

    Args:
        sql: Any text.
        dialect: The dialect whose quoting rules apply.

    Returns:
        A sentence, or `None` if nothing speaks against running it.

    Examples:
        >>> query_rejection("SELECT 1; -- done", "postgres") is None
        True
        >>> query_rejection("SELECT 1; DROP TABLE t", "postgres")
        'The text holds more than one statement; only one read-only query is run.'
        >>> query_rejection("WITH d AS (DELETE FROM t RETURNING x) SELECT x FROM d", "postgres")
        'The query holds DELETE; only one read-only query is run.'
    """
    rejection = first_word_rejection(sql)
    if rejection:
        return rejection
    found = tokens(sql, dialect)
    if found is None:
        return None  # the engine will not understand it either
    ended = False
    for position, token in enumerate(found):
        if token.token_type == TokenType.SEMICOLON:
            ended = True
        elif ended:
            return "The text holds more than one statement; only one read-only query is run."
        else:
            rejection = _token_rejection(found, position)
            if rejection:
                return rejection
    return None


def _token_rejection(found: list[Token], position: int) -> str | None:
    """Say why one token shows that the statement writes."""
    token = found[position]
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return None
    word = token.text.upper()
    before = found[position - 1].token_type if position else None
    after = found[position + 1].token_type if position + 1 < len(found) else None
    starts_clause = before in (None, TokenType.L_PAREN, TokenType.R_PAREN) and after not in (
        TokenType.L_PAREN, TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT,
    )  # fmt: skip
    if word in WRITING_WORDS and starts_clause:
        return f"The query holds {word}; only one read-only query is run."
    if token.token_type == TokenType.INTO:
        return "The query holds INTO, which writes its result somewhere; only one read-only query is run."
    return None


@lru_cache(maxsize=4096)
def strip_distinct(sql: str, dialect: str) -> str:
    """Remove every DISTINCT outside quotes, as the Spider test suite does before it runs a query.

    Examples:
        >>> strip_distinct("SELECT DISTINCT a, count(DISTINCT b) FROM t WHERE c = 'distinct'", "sqlite")
        "SELECT  a, count( b) FROM t WHERE c = 'distinct'"
    """
    found = tokens(sql, dialect) or []
    for token in reversed(found):
        if token.token_type == TokenType.DISTINCT:
            sql = sql[: token.start] + sql[token.end + 1 :]
    return sql

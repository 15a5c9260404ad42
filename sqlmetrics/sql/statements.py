"""Is this text one query? A quick look at its first word, and a full look at its tokens.

`first_word_rejection` costs a microsecond and runs for every query. `query_rejection` tokenises (a tenth of a
millisecond) and runs where an engine cannot be trusted to refuse a second statement or a write by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import TokenError

__all__ = ["find_dialect", "first_word_rejection", "folded", "query_rejection", "strip_distinct", "tokens"]

LEADING = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?![!M])(?:[^*/]|\*(?!/)|/(?!\*))*\*/|;)*"
"""What may stand before the first word. Comments in comments do not match: engines read them differently."""

_FIRST_WORD = re.compile(LEADING + r"[\s(]*([A-Za-z_]+)?")
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

_MAIN_WORDS = frozenset({"SELECT", "VALUES", "TABLE", "FROM"})
_BEFORE_CTE_NAME = frozenset({"WITH", "RECURSIVE", ",", "BY", "SET", "CYCLE", "USING"})
_CONTINUES_EXPRESSION = frozenset(
    """
    AND AS ASC AT BETWEEN COLLATE DESC DIV ESCAPE FOR FROM GLOB ILIKE IN IS ISNULL LIKE LIMIT MATCH MOD NOT NOTNULL
    NULLS OR ORDER OVER PARTITION RANGE REGEXP RLIKE ROWS SEPARATOR SIMILAR THEN USING WHERE XOR
    """.split()
)


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
        A key: equal keys mean the same query. A text with comments or letters beyond ASCII is its own key, and a
        word that touches a quote (`x'ab'` is a blob) is told from one that does not (`x 'ab'` is a name).

    Examples:
        >>> folded("SELECT Count( * )  FROM t;") == folded("select count(*) from T")
        True
        >>> folded("SELECT 'A'") == folded("SELECT 'a'"), folded("SELECT x 'ab'") == folded("SELECT x'ab'")
        (False, False)
    """
    if not sql.isascii() or "--" in sql or "/*" in sql:
        return sql
    parts = _QUOTED.split(sql)
    for i in range(0, len(parts), 2):
        spaced = f" {' '.join(parts[i].lower().split())} " if parts[i].strip() else " " * bool(parts[i])
        if i + 1 < len(parts) and (parts[i][-1:].isalnum() or parts[i].endswith(("_", "&", "$"))):
            spaced = spaced[:-1]
        parts[i] = _LOOSE.sub(r"\1", spaced)
    return "\0".join(parts).strip(" ;")


@lru_cache(maxsize=32)
def find_dialect(name: str) -> Dialect:
    """Look a sqlglot dialect up once."""
    return Dialect.get_or_raise(name)


def tokens(sql: str, dialect: str) -> list[Token] | None:
    """Split a text into tokens; comments and white space are left out.

    Returns:
        The tokens, or `None` if the text cannot be split (an unclosed quote, say).
    """
    try:
        return find_dialect(dialect).tokenize(sql)
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
    scopes = [_Scope(statement=True)]
    ended = False
    for position, token in enumerate(found):
        if token.token_type == TokenType.SEMICOLON:
            ended = True
        elif ended:
            return "The text holds more than one statement; only one read-only query is run."
        elif _writes(found, position, scopes):
            return f"The query holds {token.text.upper()}; only one read-only query is run."
        elif token.token_type == TokenType.INTO and not _follows_name_and_dot(found, position):
            return "The query holds INTO, which writes its result somewhere; only one read-only query is run."
    return None


@dataclass(slots=True)
class _Scope:
    """What a pair of parentheses, or the whole text, holds so far.

    Attributes:
        statement: Whether a statement must stand in it; otherwise an expression may.
        empty: Whether it holds nothing yet.
        lists_ctes: Whether it began with WITH and its main query has not begun yet.
    """

    statement: bool
    empty: bool = True
    lists_ctes: bool = False


def _writes(found: list[Token], position: int, scopes: list[_Scope]) -> bool:
    """Whether a token begins a statement that writes; keeps track of the parentheses around it."""
    token, scope = found[position], scopes[-1]
    kind = token.token_type
    if kind in (TokenType.L_PAREN, TokenType.L_BRACKET):
        before = found[position - 1].text.upper() if position else ""
        body = scope.lists_ctes and before in ("AS", "MATERIALIZED")
        statement = body or (scope.statement and scope.empty)
        columns = before == "AS" and not body  # names and types of what a function returns
        scopes.append(_Scope(statement, empty=not columns))
        return False
    if kind in (TokenType.R_PAREN, TokenType.R_BRACKET):
        if len(scopes) > 1:
            scopes.pop()
            scopes[-1].empty = False
        return False
    first, scope.empty = scope.empty, False
    if kind in (TokenType.STRING, TokenType.IDENTIFIER):
        return False
    word = token.text.upper().split(None, 1)[0] if token.text.strip() else ""
    if first and word == "WITH":
        scope.lists_ctes = True
    elif first:
        return _starts_write(found, position, scope, word)
    elif scope.lists_ctes and word in _MAIN_WORDS:
        scope.lists_ctes = False
    return scope.lists_ctes and word in WRITING_WORDS and found[position - 1].text.upper() not in _BEFORE_CTE_NAME


def _starts_write(found: list[Token], position: int, scope: _Scope, word: str) -> bool:
    """Whether the first word in parentheses, or in the text, begins a statement that writes."""
    if scope.statement:
        return word in NOT_QUERIES | WRITING_WORDS
    if word not in WRITING_WORDS or position + 1 == len(found):
        return False
    after = found[position + 1]
    text = after.text.upper()
    if word == "DELETE" and text == "FROM":
        return True
    is_word = after.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or text[:1].isalpha() or text[:1] == "_"
    return is_word and text.split(None, 1)[0] not in _CONTINUES_EXPRESSION


def _follows_name_and_dot(found: list[Token], position: int) -> bool:
    """Whether a token is the column in `table.column`."""
    if position < 2 or found[position - 1].token_type != TokenType.DOT:
        return False
    return found[position - 2].token_type in (TokenType.VAR, TokenType.IDENTIFIER)


@lru_cache(maxsize=4096)
def strip_distinct(sql: str, dialect: str) -> str:
    """Remove every DISTINCT outside quotes, as the Spider test suite does before it runs a query.

    `IS [NOT] DISTINCT FROM` compares and `DISTINCT ON (...)` chooses rows by other columns: both stay.

    Examples:
        >>> strip_distinct("SELECT DISTINCT a, count(DISTINCT b) FROM t WHERE c = 'distinct'", "sqlite")
        "SELECT  a, count( b) FROM t WHERE c = 'distinct'"
        >>> strip_distinct("SELECT a IS DISTINCT FROM b FROM t", "sqlite")
        'SELECT a IS DISTINCT FROM b FROM t'
    """
    found = tokens(sql, dialect) or []
    for position in range(len(found) - 1, -1, -1):
        token = found[position]
        if token.token_type == TokenType.DISTINCT and not _keeps_distinct(found, position):
            sql = sql[: token.start] + sql[token.end + 1 :]
    return sql


def _keeps_distinct(found: list[Token], position: int) -> bool:
    """Whether a DISTINCT is part of a comparison or of DISTINCT ON, or is a column."""
    before = found[position - 1].token_type if position else None
    after = [token.token_type for token in found[position + 1 : position + 3]]
    if before in (TokenType.IS, TokenType.NOT):
        return after[:1] == [TokenType.FROM]
    return before == TokenType.DOT or after == [TokenType.ON, TokenType.L_PAREN]

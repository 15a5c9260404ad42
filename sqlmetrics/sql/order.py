"""ORDER BY keys and LIMIT of a query, read from its tokens.

A result shows in which order its rows came, but not which of them tie: the keys may not be among its columns. So
the gold query is asked once more with the rank of every row as a last column (`ranked_query`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import Token, TokenType

from sqlmetrics.sql.clauses import depths, direction_start, is_tail, read_limits, split, unwrap
from sqlmetrics.sql.projection import Projection, read_projection, unparenthesised
from sqlmetrics.sql.statements import tokens

__all__ = ["QueryOrder", "mentions_order_by", "outermost_order"]

_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
_SET_OPERATIONS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
RANK_COLUMN = "sqlmetrics_rank"
UNKNOWN_KEY = -1


@dataclass(frozen=True, slots=True)
class QueryOrder:
    """The outermost ORDER BY of a query and what follows it.

    Attributes:
        unlimited_sql: The query without its LIMIT.
        ranked_sql: The query without its LIMIT and with the rank of each row as a last column; `None` where no rank
            can be added (DISTINCT, set operations) or a key cannot be read from the text.
        keys: For each key its position in the result (an int, from 0; -1 if it is unknown) or the name it goes by.
        limit: Rows that LIMIT, FETCH or TOP lets through; `None` if there is none or it is no plain number.
        offset: Rows that OFFSET skips.
        limit_known: Whether the limit could be read. Where the offset could not, nothing is known.
    """

    unlimited_sql: str
    ranked_sql: str | None
    keys: tuple[int | str, ...]
    limit: int | None = None
    offset: int = 0
    limit_known: bool = True

    def ranked_query(self, row_count: int | None) -> str | None:
        """The ranked query, cut after so many rows.

        Args:
            row_count: How many rows to ask for; `None` for all.

        Returns:
            A query, or `None` where no rank can be added.
        """
        return None if self.ranked_sql is None else _limited(self.ranked_sql, row_count)

    def unlimited_query(self, row_count: int | None) -> str:
        """The query without its own LIMIT, cut after so many rows."""
        return _limited(self.unlimited_sql, row_count)


def _limited(sql: str, row_count: int | None) -> str:
    """Add a LIMIT to a query that has none."""
    return sql if row_count is None else f"{sql} LIMIT {row_count}"


@lru_cache(maxsize=4096)
def mentions_order_by(sql: str) -> bool:
    """Whether the words ORDER BY occur anywhere in a text, be it in a subquery.

    Examples:
        >>> mentions_order_by("SELECT a FROM t ORDER  BY a"), mentions_order_by("SELECT a FROM t")
        (True, False)
    """
    return bool(_ORDER_BY.search(sql))


@lru_cache(maxsize=4096)
def outermost_order(sql: str, dialect: str) -> QueryOrder | None:
    """Read the ORDER BY of the outermost query.

    Args:
        sql: One query.
        dialect: Its dialect.

    Returns:
        Keys, limit and the ranked form, or `None` if the outermost query is not ordered or cannot be read.

    Examples:
        >>> order = outermost_order("SELECT who FROM run ORDER BY sec DESC LIMIT 2", "sqlite")
        >>> order.ranked_query(3)
        'SELECT who , DENSE_RANK() OVER (ORDER BY sec DESC) AS sqlmetrics_rank FROM run ORDER BY sec DESC LIMIT 3'
        >>> order.limit, outermost_order("SELECT * FROM (SELECT a FROM t ORDER BY a)", "sqlite")
        (2, None)
    """
    if not mentions_order_by(sql):
        return None
    found = tokens(sql, dialect)
    if found is None:
        return None
    sql, found = unwrap(sql, found)
    levels = depths(found)
    top = [i for i, depth in enumerate(levels) if depth == 0]
    ordered = [i for i in top if found[i].token_type == TokenType.ORDER_BY]
    if not ordered:
        return None
    start = ordered[-1]
    end = next((i for i in top if i > start and is_tail(found, i)), len(found))
    head = [i for i in top if i < start]
    projection = read_projection(found, head, start, dialect)
    keys = [_read_key(sql, part, projection, dialect) for part in split(found[start + 1 : end])]
    limits = read_limits(found[end:], projection.top if projection else [])
    stop = found[end - 1].end + 1
    ranked = None
    if projection and projection.rankable and not any(found[i].token_type in _SET_OPERATIONS for i in head):
        ranked = _ranked_sql(sql[:stop], projection, [key.expression for key in keys])
    unlimited = _without_top(sql[:stop], projection).strip()
    names = tuple(key.name for key in keys)
    if not limits.offset_known:  # which of the ranked rows are the query's own cannot be told
        return QueryOrder(unlimited, None, (UNKNOWN_KEY,) * len(names), None, 0, limit_known=False)
    return QueryOrder(unlimited, ranked, names, limits.limit, limits.offset, limits.limit_known)


def _without_top(sql: str, projection: Projection | None) -> str:
    """Take a TOP clause out."""
    if not projection or not projection.top:
        return sql
    return sql[: projection.top[0].start] + sql[projection.top[-1].end + 1 :]


def _ranked_sql(sql: str, projection: Projection, expressions: list[str | None]) -> str | None:
    """Write the query with the rank as a last column; `None` if a key is unknown."""
    known = [expression for expression in expressions if expression is not None]
    if len(known) < len(expressions):
        return None
    cut = projection.end.start
    rank = f", DENSE_RANK() OVER (ORDER BY {', '.join(known)}) AS {RANK_COLUMN} "
    return f"{sql[:cut]}{rank}{sql[cut:]}".strip()


@dataclass(frozen=True, slots=True)
class _Key:
    """One sort key: what it goes by in the result, and how to write it inside a window (`None`: unknown)."""

    name: int | str
    expression: str | None


def _read_key(sql: str, part: list[Token], projection: Projection | None, dialect: str) -> _Key:
    """Read one key. A position or an alias stands for an expression of the SELECT list."""
    body = part[: direction_start(part)]
    collated = len(body) > 2 and body[-2].token_type == TokenType.COLLATE
    operand = body[:-2] if collated else body
    core = unparenthesised(operand)
    suffix = sql[operand[-1].end + 1 : part[-1].end + 1]
    plain = sql[part[0].start : part[-1].end + 1]
    if len(core) != 1:
        key = _expression_key(core, plain, projection, dialect)
    elif core[0].token_type == TokenType.NUMBER:
        key = _position_key(sql, core[0], projection, (plain, suffix))
    else:
        key = _name_key(sql, core[0], projection, (plain, suffix), dialect)
    if not collated:
        return key
    # A collation is not seen in the result. Elsewhere than in SQLite it turns an alias into an expression.
    moved = dialect != "sqlite" and key.expression != plain
    return _Key(UNKNOWN_KEY, None if moved else key.expression)


def _position_key(sql: str, token: Token, projection: Projection | None, texts: tuple[str, str]) -> _Key:
    """Read a key that is a number: a position, unless it is a fraction, which is a constant."""
    plain, suffix = texts
    if not (token.text.isascii() and token.text.isdigit()):
        return _Key(UNKNOWN_KEY, plain)
    position = int(token.text) - 1
    if projection is None or projection.wide or not 0 <= position < len(projection.items):
        return _Key(position, None)
    return _Key(position, projection.items[position].written(sql, suffix))


def _name_key(sql: str, token: Token, projection: Projection | None, texts: tuple[str, str], dialect: str) -> _Key:
    """Read a key that is one word: the first column of that alias, or else a column of the tables."""
    plain, suffix = texts
    if token.token_type == TokenType.STRING:
        return _Key(UNKNOWN_KEY, plain)
    if token.token_type in (TokenType.ALL, TokenType.STAR):
        return _Key(UNKNOWN_KEY, None)
    if projection is None:
        return _Key(token.text, plain)
    item = projection.named(token)
    if item is None:
        return _Key(token.text, plain)
    hidden = projection.wide and dialect == "sqlite"  # a column that * stands for comes first there
    return _Key(token.text, None if hidden else item.written(sql, suffix))


def _expression_key(core: list[Token], plain: str, projection: Projection | None, dialect: str) -> _Key:
    """Read a key of several tokens; names in it are columns of the tables, not aliases."""
    qualified = all((token.token_type == TokenType.DOT) == bool(i % 2) for i, token in enumerate(core))
    name: int | str = core[-1].text if qualified else "".join(token.text for token in core)
    signed = len(core) == 2 and core[0].token_type == TokenType.PLUS and core[1].token_type == TokenType.NUMBER
    if signed or core[0].token_type == TokenType.STAR or core[0].text.upper() == "COLUMNS":
        return _Key(UNKNOWN_KEY, None)
    if projection is None:
        return _Key(name if qualified else UNKNOWN_KEY, plain)
    if not qualified or projection.hides(core):
        position = projection.position_of(core)
        if position is not None:
            name = position
        elif qualified or any(token.token_type == TokenType.STRING for token in core):
            name = UNKNOWN_KEY
    # In SQLite a quoted name that is no column is text inside a window, but an alias in ORDER BY.
    quoted = [token for token in core if token.token_type == TokenType.IDENTIFIER]
    unsafe = dialect == "sqlite" and not qualified and any(projection.named(token) for token in quoted)
    return _Key(name, None if unsafe else plain)

"""ORDER BY keys and LIMIT of a query, read from its tokens.

A result shows in which order its rows came, but not which of them tie: the keys may not be among its columns. So
the gold query is asked once more with the rank of every row as a last column (`ranked_query`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import Token, TokenType

from sqlmetrics.sql.statements import tokens

__all__ = ["QueryOrder", "mentions_order_by", "outermost_order"]

_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
_SET_OPERATIONS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
_TAIL = frozenset({TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.FOR, TokenType.SEMICOLON})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_BEFORE_IMPLICIT_ALIAS = frozenset(
    {TokenType.R_PAREN, TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.END}
)
RANK_COLUMN = "sqlmetrics_rank"


@dataclass(frozen=True, slots=True)
class QueryOrder:
    """The outermost ORDER BY of a query and what follows it.

    Attributes:
        unlimited_sql: The query without its LIMIT.
        ranked_sql: The query without its LIMIT and with the rank of each row as a last column; `None` where no rank
            can be added (DISTINCT, set operations).
        keys: For each key its position in the result (an int, from 0) or the name it goes by.
        limit: Rows that LIMIT or FETCH lets through; `None` if there is none or it is no plain number.
        offset: Rows that OFFSET skips.
    """

    unlimited_sql: str
    ranked_sql: str | None
    keys: tuple[int | str, ...]
    limit: int | None = None
    offset: int = 0

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
    depths = _depths(found)
    top = [i for i, depth in enumerate(depths) if depth == 0]
    ordered = [i for i in top if found[i].token_type == TokenType.ORDER_BY]
    if not ordered:
        return None
    start = ordered[-1]
    end = next((i for i in top if i > start and found[i].token_type in _TAIL), len(found))
    keys = [_trim_direction(part) for part in _split(found, depths, start + 1, end)]
    limit, offset = _limit_and_offset(found[end:])
    head = [i for i in top if i < start]
    items = _projection(found, depths, head)
    names = tuple(_key_name(key) for key in keys)
    ranked = None
    if items is not None and not any(found[i].token_type in _SET_OPERATIONS for i in head):
        ranked = _ranked_sql(sql, found, items, (start, end))
    return QueryOrder(sql[: found[end - 1].end + 1], ranked, names, limit, offset)


def _depths(found: list[Token]) -> list[int]:
    """The depth of parentheses at every token; a parenthesis itself counts as inside."""
    depths, depth = [], 0
    for token in found:
        if token.token_type == TokenType.L_PAREN:
            depth += 1
        depths.append(depth)
        if token.token_type == TokenType.R_PAREN:
            depth -= 1
    return depths


def _split(found: list[Token], depths: list[int], start: int, end: int) -> list[list[Token]]:
    """Split tokens at the commas that stand outside parentheses."""
    parts: list[list[Token]] = [[]]
    for i in range(start, end):
        if found[i].token_type == TokenType.COMMA and depths[i] == 0:
            parts.append([])
        else:
            parts[-1].append(found[i])
    return [part for part in parts if part]


def _trim_direction(part: list[Token]) -> list[Token]:
    """Drop ASC, DESC and NULLS FIRST/LAST from the end of a key."""
    while len(part) > 1 and part[-1].text.upper() in ("ASC", "DESC", "NULLS", "FIRST", "LAST", "NULLS FIRST"):
        part = part[:-1]
    return part


def _key_name(key: list[Token]) -> int | str:
    """What a key goes by in the result: a position, or a name."""
    if len(key) == 1 and key[0].token_type == TokenType.NUMBER and key[0].text.isdigit():
        return int(key[0].text) - 1
    if len(key) == 3 and key[1].token_type == TokenType.DOT:
        return key[2].text
    return "".join(token.text for token in key)


def _limit_and_offset(tail: list[Token]) -> tuple[int | None, int]:
    """Read LIMIT n, LIMIT m, n, OFFSET m and FETCH FIRST n ROWS; what is no plain number counts as unknown."""
    limit, offset = None, 0
    for i, token in enumerate(tail):
        numbers = [int(other.text) for other in tail[i + 1 : i + 4] if other.text.isdigit()]
        if token.token_type == TokenType.LIMIT and numbers and tail[i + 1].text.isdigit():
            comma = len(tail) > i + 3 and tail[i + 2].token_type == TokenType.COMMA
            limit, offset = (numbers[1], numbers[0]) if comma and len(numbers) > 1 else (numbers[0], offset)
        elif token.token_type == TokenType.OFFSET and numbers:
            offset = numbers[0]
        elif token.token_type == TokenType.FETCH:
            limit = numbers[0] if numbers else 1
    return limit, offset


@dataclass(frozen=True, slots=True)
class _Projection:
    """The SELECT list of the outermost query."""

    insert_before: Token
    items: list[list[Token]]


def _projection(found: list[Token], depths: list[int], head: list[int]) -> _Projection | None:
    """Find the SELECT list, or `None` if a column cannot be added to it."""
    selects = [i for i in head if found[i].token_type == TokenType.SELECT]
    if len(selects) != 1:
        return None
    select = selects[0]
    end = next((i for i in head if i > select and found[i].token_type == TokenType.FROM), None)
    if end is None or found[select + 1].token_type in (TokenType.DISTINCT, TokenType.TOP):
        return None
    return _Projection(found[end], _split(found, depths, select + 1, end))


def _ranked_sql(sql: str, found: list[Token], projection: _Projection, order: tuple[int, int]) -> str:
    """Write the query with the rank as a last column and without what follows ORDER BY."""
    start, end = order
    depths = _depths(found)
    parts = _split(found, depths, start + 1, end)
    rank_keys = ", ".join(_resolved(sql, part, projection.items) for part in parts)
    stop = found[end - 1].end + 1
    cut = projection.insert_before.start
    rank = f", DENSE_RANK() OVER (ORDER BY {rank_keys}) AS {RANK_COLUMN} "
    return sql[:cut] + rank + sql[cut:stop]


def _resolved(sql: str, part: list[Token], items: list[list[Token]]) -> str:
    """A key's text, with a position or an alias replaced by the expression that it stands for."""
    key = _trim_direction(part)
    direction = sql[key[-1].end + 1 : part[-1].end + 1]
    expression = None
    if len(key) == 1 and key[0].token_type == TokenType.NUMBER and key[0].text.isdigit():
        position = int(key[0].text) - 1
        expression = _without_alias(items[position])[1] if position < len(items) else None
    elif len(key) == 1 and key[0].token_type in _NAMES:
        aliases = {alias.casefold(): body for alias, body in map(_without_alias, items) if alias}
        expression = aliases.get(key[0].text.casefold())
    if expression:
        return sql[expression[0].start : expression[-1].end + 1] + direction
    return sql[part[0].start : part[-1].end + 1]


def _without_alias(item: list[Token]) -> tuple[str | None, list[Token]]:
    """Split an item of the SELECT list into its alias and its expression."""
    if len(item) > 2 and item[-2].token_type == TokenType.ALIAS:
        return item[-1].text, item[:-2]
    if len(item) > 1 and item[-1].token_type in _NAMES and item[-2].token_type in _BEFORE_IMPLICIT_ALIAS:
        return item[-1].text, item[:-1]
    return None, item

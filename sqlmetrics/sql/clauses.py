"""Parts of a query, told apart by its tokens: parentheses, lists, directions of sort keys, LIMIT and OFFSET."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sqlglot import Token, TokenType

__all__ = ["Limits", "depths", "direction_start", "is_tail", "opens_operand", "read_limits", "split", "unwrap"]

_CLOSES = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
    TokenType.END: TokenType.CASE,
}
_OPENS = frozenset(_CLOSES.values())
_TAIL = frozenset(
    {
        TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.FOR, TokenType.LOCK, TokenType.INTO,
        TokenType.SEMICOLON,
    }
)  # fmt: skip
_QUERY_STARTS = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.TABLE, TokenType.L_PAREN}
)
_QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
_OPERATORS = frozenset("AND OR NOT LIKE IS IN BETWEEN CASE WHEN THEN ELSE DISTINCT".split()) | {"ORDER BY"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What LIMIT, OFFSET, FETCH and TOP let through.

    Attributes:
        limit: Rows at most; `None` if there is no such bound or it is unknown.
        offset: Rows that are skipped; 0 if that is unknown.
        limit_known: Whether the limit could be read.
        offset_known: Whether the offset could be read.
    """

    limit: int | None = None
    offset: int = 0
    limit_known: bool = True
    offset_known: bool = True


def opens_operand(found: list[Token], position: int) -> bool:
    """Whether an operand must stand at a position, so that a word there is a name and no clause.

    Examples:
        >>> from sqlmetrics.sql.statements import tokens
        >>> found = tokens("a.offset + offset offset", "sqlite")
        >>> [opens_operand(found, position) for position in (2, 4, 5)]
        [True, True, False]
    """
    if position == 0:
        return True
    before = found[position - 1]
    if before.token_type in _QUOTED:
        return False
    if before.token_type == TokenType.STAR:
        return not opens_operand(found, position - 1)
    if before.text.upper() in _OPERATORS:
        return position < 2 or found[position - 2].token_type != TokenType.DOT
    return before.text not in (")", "]", "}", "?", ";") and not any(c.isalnum() or c == "_" for c in before.text)


def is_tail(found: list[Token], position: int) -> bool:
    """Whether a token begins what follows ORDER BY, and is no column of the same name."""
    kind = found[position].token_type
    return kind == TokenType.SEMICOLON or (kind in _TAIL and not opens_operand(found, position))


def depths(found: list[Token]) -> list[int]:
    """How many parentheses, brackets and CASEs are open at every token; they count as inside themselves."""
    result: list[int] = []
    opened: list[TokenType] = []
    for position, token in enumerate(found):
        kind = token.token_type
        named = position > 0 and found[position - 1].token_type == TokenType.DOT
        if kind in _OPENS and not named:
            opened.append(kind)
        result.append(len(opened))
        if (
            opened
            and _CLOSES.get(kind) == opened[-1]
            and not (kind == TokenType.END and opens_operand(found, position))
        ):
            opened.pop()
    return result


def split(found: list[Token]) -> list[list[Token]]:
    """Split tokens at the commas that stand outside parentheses."""
    parts: list[list[Token]] = [[]]
    for token, depth in zip(found, depths(found), strict=True):
        if token.token_type == TokenType.COMMA and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def direction_start(part: list[Token]) -> int:
    """Where ASC, DESC, USING and NULLS FIRST or LAST begin in a sort key; its length if there is none."""
    end = len(part)
    levels = depths(part)
    using = [i for i in range(1, end) if levels[i] == 0 and part[i].token_type == TokenType.USING]
    if using:
        return using[0]
    words = [token.text.upper() if token.token_type not in _QUOTED else "" for token in part]
    if end > 2 and words[-2] == "NULLS" and words[-1] in ("FIRST", "LAST") and not opens_operand(part, end - 2):
        end -= 2
    if end > 1 and words[end - 1] in ("ASC", "DESC") and not opens_operand(part, end - 1):
        end -= 1
    return end


def unwrap(sql: str, found: list[Token]) -> tuple[str, list[Token]]:
    """Take away parentheses around the whole query, also where only a LIMIT follows them.

    Returns:
        The text with blanks instead, so that tokens keep their places, and the tokens that are left.
    """
    while pair := _wrapping_pair(found):
        for place in (found[pair[0]].start, found[pair[1]].start):
            sql = f"{sql[:place]} {sql[place + 1 :]}"
        found = [token for position, token in enumerate(found) if position not in pair]
    return sql, found


def _wrapping_pair(found: list[Token]) -> tuple[int, int] | None:
    """The parentheses around the main query, if it has such."""
    levels = depths(found)
    start = None
    for position, token in enumerate(found[:-1]):
        kind = token.token_type
        if kind == TokenType.SELECT and levels[position] == 0:
            return None
        after_ctes = found[0].token_type == TokenType.WITH and found[position - 1].token_type == TokenType.R_PAREN
        opens = kind == TokenType.L_PAREN and levels[position] == 1
        if opens and (position == 0 or after_ctes) and found[position + 1].token_type in _QUERY_STARTS:
            start = position
            break
    if start is None:
        return None
    close = next(
        (i for i in range(start, len(found)) if levels[i] == 1 and found[i].token_type == TokenType.R_PAREN), None
    )
    if close is None or (close + 1 < len(found) and not is_tail(found, close + 1)):
        return None
    return start, close


def read_limits(tail: list[Token], top: list[Token]) -> Limits:
    """Read LIMIT n, LIMIT m, n, OFFSET m, FETCH FIRST n ROWS and TOP n; what is no plain number is unknown.

    Args:
        tail: The tokens behind the sort keys.
        top: The tokens of a TOP clause, without TOP.
    """
    bounds: dict[str, int | None] = {}
    unknown: set[str] = set()
    levels = depths(tail)
    starts = [i for i in range(len(tail)) if levels[i] == 0 and (i == 0 or is_tail(tail, i))]
    clauses = [tail[start:end] for start, end in pairwise([*starts, len(tail)])]
    if top:
        clauses.append(top)
    for clause in clauses:
        kind = clause[0].token_type
        if kind not in (TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.TOP):
            continue
        read = _clause_bounds(kind, clause[1:])
        if read is None:
            unknown.add("offset" if kind == TokenType.OFFSET else "limit")
            unknown |= {"offset"} if len(split(clause)) > 1 else set()
        else:
            unknown |= bounds.keys() & read.keys()
            bounds |= read
    return Limits(
        limit=None if "limit" in unknown else bounds.get("limit"),
        offset=0 if "offset" in unknown else bounds.get("offset") or 0,
        limit_known="limit" not in unknown,
        offset_known="offset" not in unknown,
    )


def _clause_bounds(kind: TokenType, body: list[Token]) -> dict[str, int | None] | None:
    """What one clause says; `None` if that is unknown."""
    words = [str(_number(token)) if _number(token) is not None else token.text.upper() for token in body]
    numbers = [number for number in map(_number, body) if number is not None]
    if kind == TokenType.OFFSET:
        bare = [word for word in words if word not in ("ROW", "ROWS")]
        return {"offset": numbers[0]} if len(numbers) == len(bare) == 1 else None
    if kind == TokenType.LIMIT:
        if len(numbers) == 2 and len(words) == 3 and words[1] == ",":
            return {"offset": numbers[0], "limit": numbers[1]}
        if words in (["ALL"], ["NULL"]) or (len(words) == 2 and words[0] == "-" and numbers):
            return {"limit": None}
        return {"limit": numbers[0]} if len(numbers) == len(words) == 1 else None
    with_ties = words[-2:] == ["WITH", "TIES"]
    ignored = ("FIRST", "NEXT", "ROW", "ROWS", "ONLY", "WITH", "TIES", "(", ")")
    bare = [word for word in words if word not in ignored]
    if len(bare) != len(numbers) or len(bare) > 1:
        return None
    return {"limit": None if with_ties else (numbers or [1])[0]}


def _number(token: Token) -> int | None:
    """The whole number that a token is, if it is one."""
    plain = token.token_type == TokenType.NUMBER and token.text.isascii() and token.text.isdigit()
    return int(token.text) if plain and len(token.text) < 19 else None

"""The SELECT list of a query: its items, their aliases, and what stands before them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import NormalizationStrategy

from sqlmetrics.sql.clauses import depths, opens_operand, split
from sqlmetrics.sql.statements import find_dialect

__all__ = ["Item", "Projection", "read_projection", "unparenthesised"]

_NO_ALIAS = frozenset({TokenType.END, TokenType.NULL, TokenType.ISNULL, TokenType.NOTNULL, TokenType.NUMBER})
_ENDS_EXPRESSION = frozenset(
    {
        TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER,
        TokenType.STRING, TokenType.END, TokenType.NULL, TokenType.TRUE, TokenType.FALSE,
    }
)  # fmt: skip
_MODIFIERS = frozenset("DISTINCT DISTINCTROW UNIQUE ALL TOP HIGH_PRIORITY STRAIGHT_JOIN".split())


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the SELECT list.

    Attributes:
        alias: Its alias, if it has one.
        body: The tokens of its expression.
    """

    alias: Token | None
    body: list[Token]

    def written(self, sql: str, suffix: str) -> str:
        """The expression's text with a direction or a collation behind it."""
        text = sql[self.body[0].start : self.body[-1].end + 1]
        return f"({text}){suffix}" if "collate" in suffix.lower() else text + suffix

    @property
    def is_wide(self) -> bool:
        """Whether it stands for several columns, as `*` does."""
        for position, token in enumerate(self.body):
            if token.token_type == TokenType.STAR and (
                position == 0 or self.body[position - 1].token_type == TokenType.DOT
            ):
                return True
        return self.body[0].text.upper() in ("COLUMNS", "UNNEST")


@dataclass(frozen=True, slots=True)
class Projection:
    """The SELECT list of the outermost query.

    Attributes:
        items: Its items.
        end: The token behind it.
        rankable: Whether a column can be added without changing the rows.
        wide: Whether an item stands for several columns, so that positions are unknown.
        top: The tokens of a TOP clause.
        folds: How names without quotes are folded where quotes preserve case: `lower`, `upper`, or an empty text
            where case never matters.
    """

    items: list[Item]
    end: Token
    rankable: bool
    wide: bool
    top: list[Token]
    folds: str

    def named(self, token: Token) -> Item | None:
        """The item that a word in ORDER BY means: the first of that alias, or a qualified column of that name."""
        name = self._folded(token)
        for item in self.items:
            if item.alias is not None and self._folded(item.alias) == name:
                return item
        if self.wide:
            return None
        columns = [item for item in self.items if _is_qualified(item) and self._folded(item.body[-1]) == name]
        return columns[0] if len(columns) == 1 else None

    def hides(self, core: list[Token]) -> bool:
        """Whether a qualified column's name is the alias of something else."""
        item = self.named(core[-1])
        return item is not None and item.alias is not None and self._text(item.body) != self._text(core)

    def position_of(self, core: list[Token]) -> int | None:
        """Where an expression stands in the list; `None` if it does not."""
        if self.wide:
            return None
        wanted = self._text(core)
        return next((i for i, item in enumerate(self.items) if self._text(item.body) == wanted), None)

    def _text(self, tokens: list[Token]) -> list[tuple[bool, str]]:
        """Tokens in a form that can be compared."""
        texts = (TokenType.STRING, TokenType.NATIONAL_STRING)
        return [(True, token.text) if token.token_type in texts else (False, self._folded(token)) for token in tokens]

    def _folded(self, token: Token) -> str:
        """A name in the form under which the engine looks it up."""
        if not self.folds:
            return token.text.casefold()
        if token.token_type == TokenType.IDENTIFIER:
            return token.text
        return token.text.lower() if self.folds == "lower" else token.text.upper()


def unparenthesised(core: list[Token]) -> list[Token]:
    """Drop parentheses around a whole expression."""
    while len(core) > 2 and core[0].token_type == TokenType.L_PAREN:
        levels = depths(core)
        if core[-1].token_type != TokenType.R_PAREN or 0 in levels:
            break
        closes = [i for i, token in enumerate(core) if levels[i] == 1 and token.token_type == TokenType.R_PAREN]
        if closes[0] != len(core) - 1:
            break
        core = core[1:-1]
    return core


def read_projection(found: list[Token], head: list[int], order: int, dialect: str) -> Projection | None:
    """Find the SELECT list of the outermost query.

    Args:
        found: The query's tokens.
        head: Positions of those outside parentheses and before ORDER BY.
        order: The position of ORDER BY.
        dialect: The query's dialect.

    Returns:
        The list, or `None` if there is none or several.
    """
    selects = [i for i in head if found[i].token_type == TokenType.SELECT]
    if len(selects) != 1:
        return None
    select = selects[0]
    end = next((i for i in head if i > select and _is_from(found, i)), None)
    start, top = _skip_modifiers(found, select + 1, order if end is None else end)
    items = [_item(part, dialect) for part in split(found[start : order if end is None else end])]
    rankable = end is not None and start == select + 1 and bool(items)
    wide = any(item.is_wide for item in items)
    return Projection(items, found[order if end is None else end], rankable, wide, top, _folding(dialect))


def _folding(dialect: str) -> str:
    """How a dialect folds names without quotes, if quotes preserve case."""
    strategy = find_dialect(dialect).normalization_strategy
    return {NormalizationStrategy.LOWERCASE: "lower", NormalizationStrategy.UPPERCASE: "upper"}.get(strategy, "")


def _is_from(found: list[Token], position: int) -> bool:
    """Whether a token begins the FROM clause; `IS DISTINCT FROM` does not."""
    before = found[position - 1].token_type
    return found[position].token_type == TokenType.FROM and before not in (TokenType.DISTINCT, TokenType.DOT)


def _skip_modifiers(found: list[Token], start: int, end: int) -> tuple[int, list[Token]]:
    """Step over DISTINCT, ALL, TOP and the like; returns where the items begin, and the tokens of TOP."""
    top: list[Token] = []
    while start < end:
        word = found[start].text.upper()
        known = word in _MODIFIERS or word.startswith("SQL_")
        if not known or found[start].token_type == TokenType.IDENTIFIER or not _is_modifier(found, start):
            break
        begin, start = start, start + 1
        if word == "TOP" or (word == "DISTINCT" and found[start].token_type == TokenType.ON):
            start = _operand_end(found, start)
        if word == "TOP":
            while found[start].text.upper() in ("PERCENT", "WITH", "TIES"):
                start += 1
            top = found[begin:start]
    return start, top


def _is_modifier(found: list[Token], position: int) -> bool:
    """Whether a word is no column that happens to be called so: an item follows, not a comma or an operator."""
    after = found[position + 1]
    if found[position].text.upper() == "TOP":
        return after.token_type in (TokenType.NUMBER, TokenType.L_PAREN)
    return after.token_type not in (TokenType.COMMA, TokenType.FROM, TokenType.DOT, TokenType.ALIAS)


def _operand_end(found: list[Token], start: int) -> int:
    """Where a number, or ON and a list in parentheses, ends."""
    if found[start].token_type == TokenType.ON:
        start += 1
    if found[start].token_type != TokenType.L_PAREN:
        return start + 1
    levels = depths(found[start:])
    return start + next((i for i in range(len(levels) - 1) if levels[i + 1] == 0), len(levels) - 1) + 1


def _is_qualified(item: Item) -> bool:
    """Whether an item is a column with its table in front and no alias."""
    body = item.body
    return (
        item.alias is None
        and len(body) > 2
        and all((token.token_type == TokenType.DOT) == bool(i % 2) for i, token in enumerate(body))
    )


def _item(part: list[Token], dialect: str) -> Item:
    """Split an item of the SELECT list into its alias and its expression."""
    if len(part) > 2 and part[-2].token_type == TokenType.ALIAS:
        return Item(part[-1], part[:-2])
    if dialect == "duckdb" and len(part) > 2 and part[1].token_type == TokenType.COLON:
        return Item(part[0], part[2:])
    if len(part) > 1 and _can_be_alias(part[-1], dialect) and _can_end(part, len(part) - 2, dialect):
        return Item(part[-1], part[:-1])
    return Item(None, part)


def _can_be_alias(token: Token, dialect: str) -> bool:
    """Whether a token can be an alias without AS: a word, in some dialects also a text."""
    if token.token_type == TokenType.STRING:
        return dialect in ("sqlite", "mysql")
    word = token.text.replace("_", "a").isalnum() and not token.text[0].isdigit()
    return token.token_type == TokenType.IDENTIFIER or (word and token.token_type not in _NO_ALIAS)


def _can_end(part: list[Token], position: int, dialect: str) -> bool:
    """Whether an expression can end with the token at a position."""
    token = part[position]
    if position and part[position - 1].token_type == TokenType.INTERVAL:
        return False
    if part[-1].token_type == TokenType.STRING and (token.text.startswith("_") or token.token_type == TokenType.STRING):
        return False
    if token.token_type in _ENDS_EXPRESSION:
        return True
    word = token.text.replace("_", "a").isalnum()
    if not word or (part[-1].token_type == TokenType.STRING and dialect != "sqlite"):
        return False
    after_dot = position > 0 and part[position - 1].token_type == TokenType.DOT
    return after_dot or (position == 0 and not opens_operand(part, 1) and token.token_type != TokenType.INTERVAL)

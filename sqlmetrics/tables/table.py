"""A result table: column names and rows, exactly as a driver returned them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlmetrics.errors import ConfigurationError

__all__ = ["Row", "Table"]

Row = tuple[Any, ...]


PLAIN_TYPES = frozenset({int, float, str, bool, bytes, type(None)})
MISSING_TYPES = frozenset({"NaTType", "NAType"})
"""What pandas calls its missing values."""


def plain_cell(value: Any) -> Any:
    """Bring a cell that was given by hand to what a driver would return.

    Arrays become lists and numpy's scalars Python's, pandas' NaT and NA become NULL, a signalling NaN a quiet one.
    """
    if isinstance(value, list | tuple):
        return [plain_cell(item) for item in value]
    if isinstance(value, dict):
        return {name: plain_cell(item) for name, item in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain_cell(value.tolist())
    if isinstance(value, Decimal) and value.is_snan():
        return Decimal("NaN")
    return None if type(value).__name__ in MISSING_TYPES else value


class Table:
    """Column names and rows, in the order in which they came.

    Column names may repeat and never decide whether two tables are equal. Cells keep the driver's types.

    Args:
        columns: The column names, one for each cell of a row.
        rows: The rows; any sequences, kept as tuples.

    Raises:
        ConfigurationError: A row has more or fewer cells than there are columns.

    Examples:
        >>> table = Table(["city", "n"], [("Lund", 3), ("Bari", 5)])
        >>> table.columns, len(table.rows)
        (('city', 'n'), 2)
    """

    __slots__ = ("columns", "rows")

    columns: tuple[str, ...]
    rows: list[Row]

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Keep the columns and rows, and check that they fit together."""
        if isinstance(columns, str):
            raise ConfigurationError(f"Expected `columns` to be a sequence of names, but got the text {columns!r}.")
        if not isinstance(columns, Iterable) or not isinstance(rows, Iterable):
            raise ConfigurationError(
                "Expected Table(columns, rows) with a list of names and a list of rows, but got "
                f"{type(columns).__name__} and {type(rows).__name__}."
            )
        self.columns = tuple(str(name) for name in columns)
        self.rows = []
        width = len(self.columns)
        for number, row in enumerate(rows, start=1):
            if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
                raise ConfigurationError(f"Expected row {number} to be a sequence of cells, but got {row!r:.80}.")
            cells = tuple([value if type(value) in PLAIN_TYPES else plain_cell(value) for value in row])
            if len(cells) != width:
                raise ConfigurationError(f"Row {number} has {len(cells)} cells, but there are {width} columns.")
            self.rows.append(cells)

    @classmethod
    def trusted(cls, columns: tuple[str, ...], rows: list[Row]) -> Table:
        """Build a table from a driver's own tuples without checking every row."""
        table = cls.__new__(cls)
        table.columns = columns
        table.rows = rows
        return table

    def __eq__(self, other: object) -> bool:
        """Whether names and rows are identical, in order."""
        return isinstance(other, Table) and self.columns == other.columns and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]  # rows are a list

    def __repr__(self) -> str:
        """Show the shape and the names."""
        return f"Table({list(self.columns)!r}, {len(self.rows)} rows)"

"""A result table: column names and rows, exactly as a driver returned them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlmetrics.errors import ConfigurationError

__all__ = ["Row", "Table"]

Row = tuple[Any, ...]


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
        self.columns = tuple(str(name) for name in columns)
        self.rows = [row if type(row) is tuple else tuple(row) for row in rows]
        width = len(self.columns)
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                raise ConfigurationError(f"Row {number} has {len(row)} cells, but there are {width} columns.")

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

"""In which order the gold's rows must come, and whether its LIMIT cuts through a tie: asked of the database itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from sqlmetrics.databases.base import Database
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.metrics.queries import QuerySession
from sqlmetrics.sql.order import QueryOrder, outermost_order
from sqlmetrics.tables.columns import fold_name
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.ties import accepted_by_ties, blocks_from_columns, blocks_from_ranks
from sqlmetrics.tables.values import key

__all__ = ["GoldOrder", "read_gold_order"]


@dataclass(frozen=True, slots=True)
class GoldOrder:
    """The outermost order of a gold query, with what is needed to ask the database about it."""

    order: QueryOrder
    gold: Table
    database: Database
    session: QuerySession
    cancellation: Cancellation | None

    def cuts_tie(self) -> bool | None:
        """Whether rows that the gold's LIMIT or OFFSET leaves out tie with rows that it keeps.

        Returns:
            `None` if the database cannot tell.
        """
        order, count = self.order, len(self.gold.rows)
        if order.limit is None and not order.offset and order.limit_known:
            return False
        if not count or (not order.offset and order.limit is not None and count < order.limit):
            return False
        first, end = order.offset, order.offset + count
        ranked = self._ranked(end + 1)
        if ranked is None:
            return None
        if len(ranked) < end:
            return None
        ranks = [row[-1] for row in ranked]
        cut_end = len(ranks) > end and ranks[end] == ranks[end - 1]
        return cut_end or (first > 0 and ranks[first - 1] == ranks[first])

    def blocks(self) -> list[int]:
        """Number the blocks of gold rows that tie; every row is a block of its own if that cannot be found out."""
        ranked = self._ranked(self.order.offset + len(self.gold.rows) + 1)
        if ranked is not None:
            blocks = blocks_from_ranks(self.gold, ranked)
            if blocks is not None:
                return blocks
        return list(range(len(self.gold.rows)))

    def accepts(self, predicted: Table, policy: ComparisonPolicy) -> bool:
        """Whether a prediction is an answer that the ties at the gold's LIMIT allow."""
        ranked = self._ranked(None)
        if not ranked:
            return False
        window = (self.order.offset, len(self.gold.rows))
        return accepted_by_ties(predicted, ranked, self.gold.columns, window, policy)

    def _ranked(self, row_count: int | None) -> list[Row] | None:
        """The first rows of the gold without its LIMIT, each with its rank as last cell; `None` if that fails.

        The engine ranks by its own collations where the query can be given a rank. Where it cannot (DISTINCT, set
        operations) the keys are columns of the result, and the rank is counted from them.
        """
        table = self._run(self.order.ranked_query(row_count), row_count)
        if table is not None and all(isinstance(row[-1], int) for row in table.rows):
            return table.rows
        positions = self._key_positions()
        table = self._run(self.order.unlimited_query(row_count), row_count) if positions is not None else None
        if table is None or positions is None:
            return None
        blocks = self._blocks_by_engine(table, positions) or blocks_from_columns(table, positions)
        return [(*row, block) for row, block in zip(table.rows, blocks, strict=True)]

    def _blocks_by_engine(self, table: Table, positions: list[int]) -> list[int] | None:
        """Number the runs of rows whose keys the engine itself takes as equal, collations included.

        Returns:
            `None` if the engine cannot be asked (two columns of one name, say).
        """
        quote = "`" if self.database.dialect == "mysql" else '"'
        names = [quote + table.columns[position].replace(quote, 2 * quote) + quote for position in positions]
        inner = self.order.unlimited_query(None)
        ranked = self._run(
            f"SELECT *, DENSE_RANK() OVER (ORDER BY {', '.join(names)}) FROM ({inner}) AS gold_rows",  # noqa: S608
            None,
        )
        if ranked is None or any(len(row) != len(table.columns) + 1 for row in ranked.rows[:1]):
            return None
        classes = {tuple(map(key, row[:-1])): row[-1] for row in ranked.rows}
        found = [classes.get(tuple(map(key, row))) for row in table.rows]
        if None in found:
            return None
        return [number for number, (_, run) in enumerate(groupby(found)) for _ in run]

    def _run(self, sql: str | None, row_count: int | None) -> Table | None:
        """Run a query of ours on the gold's database; `None` if there is none or it fails."""
        if sql is None:
            return None
        outcome = self.session.run(
            self.database, sql, cancellation=self.cancellation, max_rows=None if row_count is None else row_count + 1
        )
        return None if outcome.result is None or outcome.result.truncated else outcome.result.table

    def _key_positions(self) -> list[int] | None:
        """Where the keys stand in the result; `None` if one does not."""
        names = [fold_name(name) for name in self.gold.columns]
        positions = []
        for named in self.order.keys:
            if isinstance(named, int) and 0 <= named < len(names):
                positions.append(named)
            elif isinstance(named, str) and fold_name(named) in names:
                positions.append(names.index(fold_name(named)))
            else:
                return None
        return positions


def read_gold_order(
    sql: str, gold: Table, database: Database, session: QuerySession, cancellation: Cancellation | None
) -> GoldOrder | None:
    """Read the outermost ORDER BY of a gold query.

    Returns:
        The order, or `None` if the outermost query has none.
    """
    order = outermost_order(sql, database.dialect)
    return None if order is None else GoldOrder(order, gold, database, session, cancellation)

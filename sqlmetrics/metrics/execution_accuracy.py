"""Execution accuracy (EX): do the predicted and the gold query return equal result tables?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import ConfigurationError
from sqlmetrics.metrics.answers import Answer, AnswerReader, Fault, gold_fault, prediction_fault
from sqlmetrics.metrics.base import BlockingMetric, Row, check_arguments
from sqlmetrics.metrics.ordering import GoldOrder, read_gold_order
from sqlmetrics.metrics.published import KEPT_PREDICTED_ROWS, PUBLISHED, published_verdicts
from sqlmetrics.metrics.queries import QuerySession, as_database_source
from sqlmetrics.results import MetricDetails, MetricResult, ReasonCode, Status
from sqlmetrics.sql.order import mentions_order_by
from sqlmetrics.sql.replies import extract_sql
from sqlmetrics.sql.statements import strip_distinct
from sqlmetrics.tables.compare import TableComparison, compare
from sqlmetrics.tables.describe import describe_difference, describe_equality, printable, shown_rows
from sqlmetrics.tables.policy import ComparisonPolicy, resolve_policy
from sqlmetrics.tables.table import Table

__all__ = ["ExecutionAccuracy", "ExecutionAccuracyDetails"]


class ExecutionAccuracyDetails(MetricDetails):
    """What `ExecutionAccuracy` knows about one pair.

    Attributes:
        policy: Name of the policy that decided, with `+option` for each option that was changed.
        rel_tol: Relative tolerance between numbers.
        abs_tol: Absolute tolerance between numbers.
        reason_codes: Why the tables differ, or what is worth knowing about an equal pair; the leading one first.
        predicted_row_count: Rows of the prediction; `None` if it has no result.
        gold_row_count: Rows of the gold; `None` if it has no result.
        predicted_column_count: Columns of the prediction.
        gold_column_count: Columns of the gold.
        missing_rows: A few gold rows without an equal predicted row, as text.
        extra_rows: A few predicted rows without an equal gold row, as text.
        missing_row_count: How many gold rows lack a partner.
        extra_row_count: How many predicted rows lack a partner.
        column_pairs: Pairs of (predicted position, gold position) that were held against each other.
        predicted_elapsed_s: Seconds that the predicted query took.
        gold_elapsed_s: Seconds that the gold query took.
        gold_empty: Whether the gold's result is empty.
        gold_cuts_tie: Whether the gold's LIMIT leaves out rows that tie with rows it keeps, so that its result is
            partly chance; `None` if the database could not tell.
        undecodable: Whether bytes that are not valid text were met; they were compared byte for byte.
        other_policies: What the policies `bird` and `test_suite` say of the pair; `None` where they cannot.
        gold_index: Which of several golds counted, from 0.
        predicted_sql: The prediction as it was run.
    """

    policy: str
    rel_tol: float
    abs_tol: float
    reason_codes: tuple[ReasonCode, ...] = ()
    predicted_row_count: int | None = None
    gold_row_count: int | None = None
    predicted_column_count: int | None = None
    gold_column_count: int | None = None
    missing_rows: tuple[tuple[str, ...], ...] = ()
    extra_rows: tuple[tuple[str, ...], ...] = ()
    missing_row_count: int = 0
    extra_row_count: int = 0
    column_pairs: tuple[tuple[int, int], ...] = ()
    predicted_elapsed_s: float | None = None
    gold_elapsed_s: float | None = None
    gold_empty: bool | None = None
    gold_cuts_tie: bool | None = None
    undecodable: bool = False
    other_policies: dict[str, bool | None] = Field(default_factory=dict)
    gold_index: int | None = None
    predicted_sql: str | None = None


class ExecutionAccuracy(BlockingMetric):
    """Execution accuracy: 1.0 if both queries return equal result tables under a policy, else 0.0.

    Higher is better. Headings alone never make results differ; they say which columns answer each other where the
    columns do not agree by position. By default rows are a multiset, their order counts only on the
    keys of the gold's outermost ORDER BY, and numbers are compared with a relative tolerance of 1e-9. A prediction
    that fails, never ends or tries to write scores 0.0; a gold that fails yields no score (`value` is `None`).

    Args:
        database: Where queries run: a `Database`, a target for `connect`, a `DatabaseCatalog` or what makes one.
        policy: `default`, `bird`, `test_suite`, `spider2`, `superset`, `strict`, or a `ComparisonPolicy`.
        gold_timeout_s: Seconds for gold queries, if they should get more than predictions.
        extract_sql: Whether to take the SQL out of fenced or prefaced replies. By default yes, but not under `bird` and
            `test_suite`, whose own evaluators run the reply as it is.
        **options: Single options of `ComparisonPolicy`, such as `abs_tol=0.01` or `ties="accept"`.

    Raises:
        ConfigurationError: A policy, an option or the database is wrong; the message names the nearest right one.

    Examples:
        >>> metric = ExecutionAccuracy()
        >>> gold = Table(["town", "n"], [("Lund", 1), ("Bari", 2)])
        >>> float(metric.score(response=Table(["n", "town"], [(2, "Bari"), (1, "Lund")]), reference=gold))
        1.0
        >>> wrong = metric.score(response=Table(["town", "n"], [("Lund", 1)]), reference=gold)
        >>> wrong.value, wrong.details.reason_codes[0].value
        (0.0, 'missing_rows')
        >>> twice = Table(["town"], [("Lund",), ("Lund",)])  # a missing DISTINCT: BIRD does not see it
        >>> result = metric.score(response=twice, reference=Table(["town"], [("Lund",)]))
        >>> result.value, result.details.other_policies["bird"]
        (0.0, True)

    References:
        BIRD: https://arxiv.org/abs/2305.03111. Test suites for Spider: https://arxiv.org/abs/2010.02840.
    """

    name = "execution_accuracy"

    def __init__(
        self,
        database: Any = None,
        policy: str | ComparisonPolicy = "default",
        *,
        gold_timeout_s: float | None = None,
        extract_sql: bool | None = None,
        **options: Any,
    ) -> None:
        """Check the configuration; nothing is opened yet."""
        super().__init__(as_database_source(database))
        self.policy = resolve_policy(policy, options, ("database", "policy", "gold_timeout_s", "extract_sql"))
        numeric = isinstance(gold_timeout_s, int | float) and not isinstance(gold_timeout_s, bool)
        if gold_timeout_s is not None and not (numeric and gold_timeout_s > 0):
            raise ConfigurationError(f"Expected `gold_timeout_s` to be a number above 0, but got {gold_timeout_s!r}.")
        self.gold_timeout_s = gold_timeout_s
        if extract_sql not in (None, True, False):
            raise ConfigurationError(f"Expected `extract_sql` to be True, False or None, but got {extract_sql!r}.")
        published = self.policy.name.split("+")[0] in PUBLISHED
        self.extract_sql = (not published) if extract_sql is None else extract_sql

    async def ascore(  # named arguments instead of **arguments
        self,
        *,
        response: Any = None,
        reference: Any = None,
        database: Any = None,
        db_id: str | None = None,
        user_input: str | None = None,  # noqa: ARG002 - every metric takes it
        reference_contexts: str | Sequence[str] | None = None,  # noqa: ARG002 - every metric takes it
        **unknown: Any,
    ) -> MetricResult:
        """Run both queries and compare their results.

        Args:
            response: The predicted SQL, or its result as a `Table` or DataFrame.
            reference: The gold SQL, or its result, or a list of several right ones.
            database: Where to run, instead of the metric's own database.
            db_id: Which database of a catalog.
            user_input: The question; not used.
            reference_contexts: Schema text; not used.
            **unknown: Refused, with the name of the nearest right argument.

        Returns:
            1.0 or 0.0 with the reason; the value is `None` where the gold or the database failed.

        Raises:
            ConfigurationError: An unknown argument, no database, an unknown `db_id`.
        """
        check_arguments(unknown)
        row = {"response": response, "reference": reference, "database": database, "db_id": db_id}
        return await self._ascore(row)

    def judge(self, row: Row, session: QuerySession, cancellation: Cancellation | None = None) -> MetricResult:
        """Score one item in the calling thread; see `ascore`.

        Raises:
            ConfigurationError: No database, or an unknown `db_id`.
        """
        names_count = self.policy.column_names
        reader = AnswerReader(row, self.database, session, cancellation, exact_text=names_count)
        golds = row.get("reference")
        golds = golds if isinstance(golds, list | tuple) else [golds]
        results = []
        for index, gold in enumerate(golds or [None]):
            result = self._judge_gold(row.get("response"), gold, reader, index if len(golds) > 1 else None)
            if result.value == 1.0:
                return result
            results.append(result)
        return _best(results)

    def _judge_gold(self, response: Any, reference: Any, reader: AnswerReader, index: int | None) -> MetricResult:
        """Score the prediction against one gold; the gold runs first."""
        strip = not self.policy.keep_distinct
        gold = reader.read(_stripped(reference, reader, strip=strip), timeout_s=self.gold_timeout_s)
        if isinstance(response, str) and self.extract_sql:
            response = extract_sql(response)
        predicted = reader.read(_stripped(response, reader, strip=strip), keep_rows=KEPT_PREDICTED_ROWS)
        if gold.comparable is not None and predicted.comparable is not None:
            return _PairJudge(self.policy, predicted, gold, reader).result(predicted.comparable, gold.comparable, index)
        fault = gold_fault(gold, _database_of(gold, reader)) or prediction_fault(
            predicted, _database_of(predicted, reader)
        )
        return self._fault_result(fault, predicted, gold, index)

    def _fault_result(self, fault: Fault | None, predicted: Answer, gold: Answer, index: int | None) -> MetricResult:
        """The result of a pair of which one side has no table."""
        fault = fault or Fault(Status.MISSING, None, "There is nothing to compare.")
        details = ExecutionAccuracyDetails(
            policy=self.policy.name,
            rel_tol=self.policy.rel_tol,
            abs_tol=self.policy.abs_tol,
            gold_row_count=len(gold.table.rows) if gold.table else None,
            gold_column_count=len(gold.table.columns) if gold.table else None,
            gold_empty=not gold.table.rows if gold.table else None,
            gold_elapsed_s=gold.elapsed_s,
            predicted_elapsed_s=predicted.elapsed_s,
            gold_index=index,
            predicted_sql=printable(predicted.sql) if predicted.sql is not None else None,
        )
        return MetricResult(value=fault.value, reason=printable(fault.reason), status=fault.status, details=details)


def _database_of(answer: Answer, reader: AnswerReader) -> Any:
    """The database that a side was run on; `None` for a table that was given."""
    return None if answer.sql is None else reader.database


def _stripped(value: Any, reader: AnswerReader, *, strip: bool) -> Any:
    """Drop DISTINCT from a query if the policy says so."""
    if strip and isinstance(value, str) and "distinct" in value.lower():
        return strip_distinct(value, reader.database.dialect)
    return value


def _best(results: list[MetricResult]) -> MetricResult:
    """Of several golds the one that says most: a judged one before one that could not be judged."""
    judged = [result for result in results if result.judged]
    best = (judged or results)[0]
    if len(results) == 1:
        return best
    failed = len(results) - len(judged)
    if not judged:
        note = f"None of the {len(results)} golds could be judged."
    else:
        note = f"None of the {len(results)} golds is met" + (f"; {failed} could not be judged." if failed else ".")
    return best.model_copy(update={"reason": f"{best.reason.rstrip('.')}. {note}"})


class _PairJudge:
    """Compares the tables of one pair and writes the result."""

    def __init__(self, policy: ComparisonPolicy, predicted: Answer, gold: Answer, reader: AnswerReader) -> None:
        """Keep what both the verdict and its details need."""
        self._policy = policy
        self._predicted = predicted
        self._gold = gold
        self._reader = reader

    def result(self, predicted: Table, gold: Table, index: int | None) -> MetricResult:
        """Compare and explain."""
        order = self._gold_order(gold)
        cuts_tie = order.cuts_tie() if order else False
        comparison = self._compare(predicted, gold, order)
        by_tie = not comparison.equal and self._accepted_by_tie(predicted, order, cuts_tie=cuts_tie)
        if by_tie:
            comparison = TableComparison(True, (ReasonCode.TIE_ACCEPTED,), comparison.pairing, False)
        equal = comparison.equal
        status, value = (Status.UNDECIDED, None) if equal is None else (Status.OK, float(equal))
        return MetricResult(
            value=value,
            reason=self._reason(comparison, predicted, gold, cuts_tie=cuts_tie, by_tie=by_tie, index=index),
            status=status,
            details=self._details(comparison, predicted, gold, cuts_tie, index),
        )

    def _gold_order(self, gold: Table) -> GoldOrder | None:
        """Read the gold's order, if its LIMIT has to be looked at."""
        sql = self._gold.sql
        if sql is None or not _may_limit(sql):
            return None
        reader = self._reader
        return read_gold_order(sql, gold, reader.database, reader.session, reader.cancellation)

    def _compare(self, predicted: Table, gold: Table, order: GoldOrder | None) -> TableComparison:
        """Compare without order first; look at the order only where the rows agree but their sequence does not."""
        comparison = compare(predicted, gold, self._policy)
        if not comparison.equal or comparison.same_sequence or self._policy.rows == "set":
            return comparison
        blocks = self._blocks(gold, order)
        if blocks is not None:
            comparison = compare(predicted, gold, self._policy, blocks=blocks)
        sql = self._gold.sql
        if comparison.equal and sql is not None and mentions_order_by(sql):
            return _with_code(comparison, ReasonCode.ROW_ORDER)
        return comparison

    def _blocks(self, gold: Table, order: GoldOrder | None) -> list[int] | None:
        """The blocks of gold rows whose order counts under the policy; `None` if order does not count."""
        policy, sql = self._policy, self._gold.sql
        every_row = list(range(len(gold.rows)))
        if policy.order == "ignore":
            return None
        if sql is None:
            return every_row if policy.order == "rows" else None
        if not mentions_order_by(sql):
            return None
        if policy.order == "text":
            return every_row
        reader = self._reader
        found = order or read_gold_order(sql, gold, reader.database, reader.session, reader.cancellation)
        if found is None:
            return None
        return every_row if policy.order == "rows" else found.blocks()

    def _accepted_by_tie(self, predicted: Table, order: GoldOrder | None, *, cuts_tie: bool | None) -> bool:
        """Whether the policy credits the prediction because the gold's LIMIT cuts through a tie."""
        return bool(self._policy.ties == "accept" and cuts_tie and order and order.accepts(predicted, self._policy))

    def _reason(
        self,
        comparison: TableComparison,
        predicted: Table,
        gold: Table,
        *,
        cuts_tie: bool | None,
        by_tie: bool,
        index: int | None,
    ) -> str:
        """Say what was found, under which policy."""
        under = f"Under policy {self._policy.name!r}" + (f", gold {index + 1}" if index is not None else "")
        if by_tie:
            return f"{under}: accepted; the gold's LIMIT cuts through a tie and this is another right choice."
        if comparison.equal is None:
            return f"{under}: could not be decided within the search budget for column pairings."
        if comparison.equal:
            text = f"{under}: {describe_equality(comparison, gold)}."
        else:
            text = f"{under}: {describe_difference(comparison, predicted, gold)}."
        if cuts_tie:
            text += " The gold's LIMIT cuts through a tie, so its result may be partly chance."
        return printable(text)

    def _details(
        self, comparison: TableComparison, predicted: Table, gold: Table, cuts_tie: bool | None, index: int | None
    ) -> ExecutionAccuracyDetails:
        """Collect what is known about the pair."""
        found = comparison.differences
        different: dict[str, Any] = (
            {
                "missing_rows": shown_rows(found.missing_rows),
                "extra_rows": shown_rows(found.extra_rows),
                "missing_row_count": found.missing_row_count,
                "extra_row_count": found.extra_row_count,
            }
            if found
            else {}
        )
        sql = self._predicted.sql
        verdicts, hinges = published_verdicts((predicted, gold), (self._predicted.sql, self._gold.sql), self._reader)
        return ExecutionAccuracyDetails(
            policy=self._policy.name,
            rel_tol=self._policy.rel_tol,
            abs_tol=self._policy.abs_tol,
            reason_codes=(*comparison.codes, ReasonCode.DISTINCT_STRIPPED) if hinges else comparison.codes,
            predicted_row_count=len(predicted.rows),
            gold_row_count=len(gold.rows),
            predicted_column_count=len(predicted.columns),
            gold_column_count=len(gold.columns),
            column_pairs=tuple((p, g) for g, p in enumerate(comparison.pairing) if p is not None),
            predicted_elapsed_s=self._predicted.elapsed_s,
            gold_elapsed_s=self._gold.elapsed_s,
            gold_empty=not gold.rows,
            gold_cuts_tie=cuts_tie,
            undecodable=self._predicted.undecodable or self._gold.undecodable,
            other_policies=verdicts,
            gold_index=index,
            predicted_sql=printable(sql) if sql is not None else None,
            **different,
        )


def _may_limit(sql: str) -> bool:
    """Whether a text may hold an ORDER BY with a LIMIT or FETCH, judged without reading it closely."""
    if not mentions_order_by(sql):
        return False
    lowered = sql.lower()
    return "limit" in lowered or "fetch" in lowered or "offset" in lowered


def _with_code(comparison: TableComparison, code: ReasonCode) -> TableComparison:
    """Add a reason code to an equal pair."""
    return TableComparison(
        comparison.equal,
        (*comparison.codes, code),
        comparison.pairing,
        comparison.same_sequence,
        comparison.differences,
    )

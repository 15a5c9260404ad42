"""The command line: arguments in, tables out."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlmetrics import __version__
from sqlmetrics.errors import ConfigurationError, SQLMetricsError, nearest
from sqlmetrics.registry import find_metric, metric_names

__all__ = ["app", "main"]

GATE_NOT_MET, WRONG_USE, NOT_JUDGED = 1, 2, 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        typer.echo(f"sqlmetrics {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Text-to-SQL metrics that people trust.

    Exit status: 0 done, 1 a --fail-under gate not met, 2 wrong use, 3 some items could not be judged.
    """


Database = Annotated[
    str | None,
    typer.Option("--database", "-d", help="Path or URL of a database; with `{db_id}` in it, one a `db_id`."),
]
POLICY_NAMES = "default, bird, test_suite, spider2, superset or strict"
Policy = Annotated[str, typer.Option(help=f"{POLICY_NAMES}.")]
Policies = Annotated[list[str] | None, typer.Option("--policy", help=f"{POLICY_NAMES}; may be repeated.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="A policy option such as `abs_tol=0.01`; may be repeated.")
]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds that one query may run.")]
MaxRows = Annotated[int, typer.Option(help="Rows that are fetched at most.")]
GoldTimeout = Annotated[float | None, typer.Option(help="Seconds for gold queries, if they should get more.")]
Isolation = Annotated[
    str, typer.Option(help="`thread`, or `process`: a child process with a memory limit and a hard kill.")
]
AllowSuperuser = Annotated[
    bool, typer.Option("--allow-superuser", help="Accept a server role that could read files or run programs.")
]
FailUnder = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="End with status 1 if a mean over judged items is lower.")
]


def _reports_errors(command: Callable[..., int | None]) -> Callable[..., None]:
    """Print our own errors without a traceback and turn the outcome into an exit status."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            status = command(*args, **kwargs)
        except SQLMetricsError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(WRONG_USE) from error
        raise typer.Exit(status or 0)

    return wrapped


def _parsed_options(pairs: list[str] | None) -> dict[str, Any]:
    """Read `name=value` pairs of policy options; a value that is JSON (a number, true) is taken as such."""
    from sqlmetrics.tables.policy import policy_options

    options: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            raise ConfigurationError(f"Expected --option name=value, but got {pair!r} (for a directory use --output).")
        if name not in policy_options():
            raise ConfigurationError(f"Unknown policy option {name!r}; {nearest(name, policy_options())}")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options


def _source(database: str | None, **options: Any) -> Any:
    """A database, a catalog, or nothing."""
    from sqlmetrics.databases.catalog import DatabaseCatalog
    from sqlmetrics.databases.connect import connect

    if database is None:
        raise ConfigurationError("There is no database to run the SQL on: give its path or URL with --database.")
    return DatabaseCatalog(database, **options) if "{db_id}" in database else connect(database, **options)


def _text_or_file(value: str) -> str:
    """A query given as text, or as `@file`."""
    if not value.startswith("@"):
        return value
    from sqlmetrics.evaluation.formats.base import read_text

    return read_text(value[1:])


@app.command(
    epilog='Example: `sqlmetrics score -d shop.sqlite --gold "SELECT count(*) FROM t" --prediction "SELECT 3"`'
)
@_reports_errors
def score(
    gold: Annotated[str, typer.Option(help="The gold SQL, or `@file`.")],
    prediction: Annotated[str, typer.Option(help="The predicted SQL, or `@file`.")],
    database: Database = None,
    policy: Policy = "default",
    option: Options = None,
    timeout: Timeout = 30.0,
    gold_timeout: GoldTimeout = None,
    max_rows: MaxRows = 100_000,
    isolation: Isolation = "thread",
    allow_superuser: AllowSuperuser = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    fail_under: FailUnder = None,
) -> int:
    """Score one prediction against its gold by execution accuracy."""
    from sqlmetrics.evaluation.terminal import visible
    from sqlmetrics.metrics.execution_accuracy import ExecutionAccuracy

    limits = {"timeout_s": timeout, "max_rows": max_rows, "isolation": isolation, "allow_superuser": allow_superuser}
    source = _source(database, **limits)
    metric = ExecutionAccuracy(source, policy, gold_timeout_s=gold_timeout, **_parsed_options(option))
    result = metric.score(response=_text_or_file(prediction), reference=_text_or_file(gold))
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        value = "not judged" if result.value is None else f"{result.value:g}"
        colour = typer.colors.YELLOW if result.value is None else typer.colors.GREEN if result else typer.colors.RED
        typer.secho(f"execution_accuracy  {value}  ({result.status.value})", fg=colour, bold=True)
        typer.echo(visible(result.reason))
    if result.value is None:
        return NOT_JUDGED
    return GATE_NOT_MET if fail_under is not None and result.value < fail_under else 0


@app.command(
    epilog="Example: `sqlmetrics evaluate dev_gold.sql --predictions predict.json "
    "-d 'databases/{db_id}/{db_id}.sqlite' --by db_id --output out --fail-under 0.7`"
)
@_reports_errors
def evaluate(
    data: Annotated[Path, typer.Argument(help="Golds: JSONL, JSON, CSV, or Spider's `SQL<TAB>db_id` lines.")],
    predictions: Annotated[
        Path | None, typer.Option("--predictions", "-p", help="Predictions by id: BIRD's JSON, JSONL, CSV, or lines.")
    ] = None,
    database: Database = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="A metric's name; may be repeated.")
    ] = None,
    policy: Policies = None,
    option: Options = None,
    by: Annotated[list[str] | None, typer.Option(help="A key to break the summary down by; may be repeated.")] = None,
    id_key: Annotated[str | None, typer.Option(help="Which key of the golds is the predictions' id.")] = None,
    output: Annotated[Path | None, typer.Option(help="Directory for results.jsonl, results.csv, summary.json.")] = None,
    fail_under: FailUnder = None,
    timeout: Timeout = 30.0,
    gold_timeout: GoldTimeout = None,
    max_rows: MaxRows = 100_000,
    isolation: Isolation = "thread",
    allow_superuser: AllowSuperuser = False,
    concurrency: Annotated[int | None, typer.Option(min=1, help="How many items are at work at once.")] = None,
    progress: Annotated[bool, typer.Option(help="Show a progress bar on a terminal.")] = True,
) -> int:
    """Score a file of predictions against a file of golds."""
    from rich.console import Console

    from sqlmetrics.evaluation.report import writable_directory
    from sqlmetrics.evaluation.runner import evaluate as run
    from sqlmetrics.evaluation.terminal import summary_table

    samples, notes = _load(data, predictions, id_key)
    limits = {"timeout_s": timeout, "max_rows": max_rows, "isolation": isolation, "allow_superuser": allow_superuser}
    source = _source(database, **limits)
    build: list[Callable[..., Any]] = [find_metric(name) for name in metric or ["execution_accuracy"]]
    options = {"gold_timeout_s": gold_timeout, **_parsed_options(option)}
    policies = list(dict.fromkeys(policy or ["default"]))
    metrics = [metric_class(source, name, **options) for metric_class in build for name in policies]
    if output is not None:
        writable_directory(output)
    report = run(samples, metrics, by=by or (), concurrency=concurrency, progress=progress)
    for note in (*notes, *report.notes):
        typer.echo(f"Note: {note}", err=True)
    if output is not None:
        typer.echo(f"Results are in {report.save(output)}.", err=True)
    names = ", ".join(entry.policy.name for entry in metrics if hasattr(entry, "policy"))
    Console().print(summary_table(report, title=f"{data.name}, policy {names}"))
    return _gate(report, fail_under)


def _load(data: Path, predictions: Path | None, id_key: str | None) -> tuple[list[Any], list[str]]:
    """Read golds and predictions and pair them."""
    from sqlmetrics.evaluation.formats.detect import (
        join_predictions,
        load_samples,
        paired_by_place,
        read_predictions,
    )
    from sqlmetrics.evaluation.samples import check_samples

    samples = load_samples(data, id_key=id_key)
    if predictions is None:
        check_samples(samples, str(data), predictions=True)
        return samples, []
    by_line = paired_by_place(predictions)
    return join_predictions(samples, read_predictions(predictions), str(predictions), by_line=by_line)


def _gate(report: Any, fail_under: float | None) -> int:
    """The exit status of an evaluation."""
    rows = report.summary(by=())
    if fail_under is not None and any(row.mean is not None and row.mean < fail_under for row in rows):
        typer.echo(f"Gate not met: a mean is below {fail_under:g}.", err=True)
        return GATE_NOT_MET
    unjudged = sum(row.item_count - row.judged_count for row in rows)
    if unjudged:
        nothing = " Nothing was judged, so no gate can be met." if not any(row.judged_count for row in rows) else ""
        typer.echo(f"Not judged: {unjudged}; see the statuses.{nothing}", err=True)
        return NOT_JUDGED
    return 0


@app.command(epilog="Example: `sqlmetrics demo`")
@_reports_errors
def demo(
    output: Annotated[Path | None, typer.Option(help="Keep the database and the results in this directory.")] = None,
) -> int:
    """Score two models' answers to forty questions about a small ferry company, all of it built in."""
    from rich.console import Console

    from sqlmetrics.demo.run import run_demo

    if output is not None:
        run_demo(output, Console())
        return 0
    with tempfile.TemporaryDirectory(prefix="sqlmetrics-demo-") as directory:
        run_demo(Path(directory), Console())
    return 0


@app.command(epilog="Example: `sqlmetrics metrics`")
@_reports_errors
def metrics() -> int:
    """List the metrics that are installed."""
    for name in metric_names():
        summary = (find_metric(name).__doc__ or "").strip().splitlines()[0]
        typer.echo(f"{name:<28}{summary}")
    return 0


def main() -> None:
    """Run the command line; a broken pipe ends it quietly, an output that cannot be written to with a message."""
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        sys.stderr.write(f"Error: the output cannot be written: {error.strerror}.\n")
        raise SystemExit(WRONG_USE) from error


if __name__ == "__main__":
    main()

"""The demo: build the database, score two prediction sets, show what each verdict rests on."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console

from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.demo import demo_files
from sqlmetrics.demo.build import build_database
from sqlmetrics.evaluation.formats.detect import join_predictions, load_samples, read_predictions
from sqlmetrics.evaluation.report import EvaluationReport, writable_directory
from sqlmetrics.evaluation.runner import evaluate
from sqlmetrics.evaluation.terminal import result_line, summary_table
from sqlmetrics.metrics.execution_accuracy import ExecutionAccuracy

__all__ = ["run_demo", "score_demo_model"]

TIMEOUT_S = 1.0
SHOWN_REASONS = 6


def score_demo_model(model: str, database: Path, *, progress: bool = True) -> EvaluationReport:
    """Score one of the demo's prediction sets.

    Args:
        model: `model_a` or `model_b`.
        database: The demo's database file.
        progress: Whether to show a progress bar.

    Returns:
        The report, broken down by difficulty.
    """
    files = demo_files()
    samples, _ = join_predictions(
        load_samples(files["questions"]), read_predictions(files[model]), files[model].name, by_line=False
    )
    catalog = DatabaseCatalog({"ferry": database}, timeout_s=TIMEOUT_S)
    report = evaluate(samples, ExecutionAccuracy(catalog), by="difficulty", progress=progress)
    catalog.close()
    return report


def run_demo(directory: Path, console: Console) -> dict[str, EvaluationReport]:
    """Build the database in a directory, score both models and print summaries and reasons.

    Args:
        directory: Where to build the database and write the results.
        console: Where to print.

    Returns:
        The reports by model.
    """
    writable_directory(directory)
    database = directory / "ferry.sqlite"
    database.unlink(missing_ok=True)
    build_database(database)
    for path in demo_files().values():
        shutil.copyfile(path, directory / path.name)
    reports = {model: score_demo_model(model, database) for model in ("model_a", "model_b")}
    for model, report in reports.items():
        report.save(directory / model)
    for model, report in reports.items():
        console.print(summary_table(report, title=f"{model}: execution accuracy, policy default"))
        wrong = [
            (sample, result)
            for sample, result in zip(report.samples, report.results["execution_accuracy"], strict=True)
            if not result
        ]
        console.print(f"{min(len(wrong), SHOWN_REASONS)} of the {len(wrong)} that it got wrong, and why:")
        for sample, result in wrong[:SHOWN_REASONS]:
            console.print(f"[bold]{sample.id}[/bold] {sample.user_input}", highlight=False)
            console.print(result_line(result), soft_wrap=False)
        console.print()
    return reports

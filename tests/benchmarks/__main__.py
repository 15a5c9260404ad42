"""Print speed as ratios to plain SQLite, measured in the same run.

`python -m tests.benchmarks [--spider DIR] [--smoke]`. Without `--spider` the demo's questions stand in for a data
set; their queries are few and short, so fixed costs weigh more. `--smoke` runs everything once, to show that it runs.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from sqlmetrics import ExecutionAccuracy, Table
from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.demo import demo_files
from sqlmetrics.demo.build import build_database
from sqlmetrics.evaluation.formats.detect import join_predictions, load_samples, read_predictions
from sqlmetrics.tables.compare import compare
from tests.benchmarks.published import PublishedFile, spider_catalog, spider_files

Timed = Callable[[], object]


def best_pair(ours: Timed, limit: Timed, repeats: int) -> tuple[float, float]:
    """The best time of both, run alternately, so that a change of the machine's speed meets both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for side, call in enumerate((limit, ours)):
            started = time.perf_counter()
            call()
            times[side].append(time.perf_counter() - started)
    return min(times[1]), min(times[0])


class PlainSQLite:
    """The limit: run and fetch the same queries on one thread, one open connection a database, no safety."""

    def __init__(self, paths: dict[str, str]) -> None:
        """Open the databases."""
        self._connections = {db_id: sqlite3.connect(f"file:{path}?mode=ro", uri=True) for db_id, path in paths.items()}

    def run(self, rows: list[dict[str, Any]]) -> None:
        """Run golds and predictions."""
        for row in rows:
            connection = self._connections[row["db_id"]]
            for sql in (row["reference"], row["response"]):
                try:
                    connection.execute(sql).fetchmany(100_001)
                except (sqlite3.Error, sqlite3.Warning, TypeError):
                    continue

    def close(self) -> None:
        """Close the databases."""
        for connection in self._connections.values():
            connection.close()


def published_method(paths: dict[str, str], rows: list[dict[str, Any]]) -> float:
    """How published evaluators do it: a fresh connection a pair, everything fetched, sets of rows compared."""
    right = 0
    for row in rows:
        with closing(sqlite3.connect(f"file:{paths[row['db_id']]}?mode=ro", uri=True)) as connection:
            try:
                predicted = connection.execute(row["response"]).fetchmany(100_001)
                right += set(predicted) == set(connection.execute(row["reference"]).fetchall())
            except (sqlite3.Error, sqlite3.Warning, TypeError):
                continue
    return right / len(rows)


def demo_set(directory: Path) -> tuple[DatabaseCatalog, dict[str, str], list[PublishedFile]]:
    """The demo's questions, without the predictions that run into a limit on purpose."""
    path = directory / "ferry.sqlite"
    build_database(path)
    files = []
    for model in ("model_a", "model_b"):
        paths = demo_files()
        samples, _ = join_predictions(
            load_samples(paths["questions"]), read_predictions(paths[model]), model, by_line=False
        )
        rows = [sample.arguments() for sample in samples if isinstance(sample.reference, str) and sample.response]
        rows = [row for row in rows if not any(word in row["response"] for word in ("RECURSIVE", "CROSS JOIN"))]
        files.append(PublishedFile(model, rows, []))
    return DatabaseCatalog({"ferry": path}, timeout_s=5.0), {"ferry": str(path)}, files


def scoring_rows(
    catalog: DatabaseCatalog, paths: dict[str, str], files: list[PublishedFile], repeats: int
) -> list[tuple[str, float, float, str]]:
    """One file, and all files, in this process."""
    metric, plain = ExecutionAccuracy(catalog), PlainSQLite(paths)
    found = []
    one = files[0].rows
    ours, limit = best_pair(lambda: metric.batch_score(one), lambda: plain.run(one), repeats)
    found.append((f"ExecutionAccuracy, one file ({len(one)} pairs)", ours, limit, "<= 1.3"))
    ours, limit = best_pair(lambda: published_method(paths, one), lambda: plain.run(one), repeats)
    found.append(("published method, one file", ours, limit, ""))
    every = [row for file in files for row in file.rows]
    ours, limit = best_pair(lambda: metric.batch_score(every), lambda: plain.run(every), max(1, repeats // 2))
    found.append((f"ExecutionAccuracy, {len(files)} files ({len(every)} pairs)", ours, limit, "<= 1.0"))
    plain.close()
    return found


def comparison_rows(directory: Path, size: int, repeats: int) -> list[tuple[str, float, float, str]]:
    """A large result against itself in another order: comparing, as a ratio to fetching both sides."""
    path = directory / "large.sqlite"
    generator = random.Random(1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t(a INTEGER, b TEXT, c REAL, d INTEGER, e TEXT)")
        rows = (
            (i, f"name{i % 977}", generator.random() * 100, generator.randrange(50), f"x{generator.randrange(10**6)}")
            for i in range(size)
        )
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
        queries = ("SELECT * FROM t", "SELECT * FROM t ORDER BY e")
        tables = [Table(["a", "b", "c", "d", "e"], connection.execute(sql).fetchall()) for sql in queries]
        drifted = Table(tables[1].columns, [(a, b, c * (1 + 1e-13), d, e) for a, b, c, d, e in tables[1].rows])
        found = []
        for name, other in (("another order", tables[1]), ("floats off by 1e-13", drifted)):
            ours, limit = best_pair(
                lambda other=other: compare(other, tables[0]),  # type: ignore[misc]
                lambda: [connection.execute(sql).fetchall() for sql in queries],
                repeats,
            )
            found.append((f"comparing {size:,} x 5 rows, {name}", ours, limit, "<= 1.0" if other is tables[1] else ""))
    return found


def process_rows(directory: Path, repeats: int) -> list[tuple[str, float, float, str]]:
    """`sqlmetrics score` as a whole process, as a ratio to importing three packages it rests on."""
    path = directory / "tiny.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t(x)")
    score = [
        sys.executable,
        "-m",
        "sqlmetrics",
        "score",
        "-d",
        str(path),
        "--gold",
        "SELECT 1",
        "--prediction",
        "SELECT 1",
    ]
    imports = [sys.executable, "-c", "import pydantic, sqlglot, typer"]
    ours, limit = best_pair(
        lambda: subprocess.run(score, check=True, capture_output=True),
        lambda: subprocess.run(imports, check=True, capture_output=True),
        max(2, repeats),
    )
    return [("`sqlmetrics score`, whole process", ours, limit, "<= 2.5")]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spider", type=Path, help="a directory with Spider's dev golds, databases and predictions")
    parser.add_argument("--smoke", action="store_true", help="run everything once, on small data")
    arguments = parser.parse_args()
    repeats = 1 if arguments.smoke else 7
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if arguments.spider:
            catalog, files = spider_catalog(arguments.spider), spider_files(arguments.spider)
            ids = {row["db_id"] for file in files for row in file.rows}
            paths = {db_id: str(arguments.spider / "database" / db_id / f"{db_id}.sqlite") for db_id in ids}
        else:
            catalog, paths, files = demo_set(directory)
        rows = scoring_rows(catalog, paths, files, repeats)
        rows += comparison_rows(directory, 2_000 if arguments.smoke else 100_000, repeats)
        rows += process_rows(directory, repeats)
        catalog.close()
    table = RichTable("work", "seconds", "limit, seconds", "ratio", "target", title="Best of alternating runs")
    for work, ours, limit, target in rows:
        table.add_row(work, f"{ours:.4f}", f"{limit:.4f}", f"{ours / limit:.2f}", target)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

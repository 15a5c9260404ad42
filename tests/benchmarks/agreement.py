"""Print how often our policies agree with the original evaluators' verdicts.

`python -m tests.benchmarks.agreement SPIDER_DIR [BIRD_DIR]`: directories laid out as `published.py` describes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sqlmetrics import ExecutionAccuracy
from tests.benchmarks.published import bird_catalog, bird_files, deviations, spider_catalog, spider_files


def main() -> None:
    """Compare every policy with its original and print the counts."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    spider = Path(sys.argv[1])
    table = Table("data", "policy", "original verdict", "pairs", "deviations")
    catalog, files = spider_catalog(spider), spider_files(spider)
    for policy, options, key in (
        ("bird", {}, "bird_ex"),
        ("test_suite", {}, "test_suite_ex"),
        ("test_suite", {"keep_distinct": True}, "test_suite_ex_keep_distinct"),
    ):
        metric = ExecutionAccuracy(catalog, policy, **options)
        count = len(list(deviations(files, metric, key)))
        table.add_row("Spider", metric.policy.name, key, str(sum(len(file.rows) for file in files)), str(count))
    if len(sys.argv) > 2:
        bird = Path(sys.argv[2])
        files = bird_files(bird)
        metric = ExecutionAccuracy(bird_catalog(bird), "bird")
        count = len(list(deviations(files, metric, "bird_ex")))
        table.add_row("BIRD", "bird", "bird_ex", str(sum(len(file.rows) for file in files)), str(count))
    Console().print(table)


if __name__ == "__main__":
    main()

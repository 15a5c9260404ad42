"""Speed as ratios to plain SQLite, and agreement with published evaluators; `python -m tests.benchmarks --help`."""

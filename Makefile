# The four things one does here. PYTHON is the environment's interpreter.
PYTHON ?= python

.PHONY: check test docs bench

check:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"

test:
	$(PYTHON) -m pytest

docs:
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

bench:
	$(PYTHON) -m tests.benchmarks

# Everything sets itself up: Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
ENGINES := .venv-engines

.DEFAULT_GOAL := help
.PHONY: help demo docs lessons quick test test-browser test-engines soak lint types stale bench bench-spark
.PHONY: dist clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; \
		do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(READY) ## the life of a model on a small table, by the command line
	$(BIN)/verosim warm
	$(BIN)/verosim demo

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(READY) ## the documentation site, in site/
	$(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

lessons: $(READY) ## the numbers and pictures of all lessons, in English and Spanish, and their notebooks
	$(BIN)/python -m examples.lessons --all
	$(BIN)/python -m examples.lessons --notebooks build/notebooks

# Each worker has a core, so its BLAS gets one thread.
quick: export OPENBLAS_NUM_THREADS = 1
quick: $(READY) ## tests for every save: under a minute, 25 examples of each law, no slow tests
	$(PYTEST) -m "not slow and not soak and not browser" --hypothesis-profile=quick --durations=5 --durations-min=1 tests

test: $(READY) ## every test but the soak, 200 examples of each law, and every example of the docs
	$(PYTEST) --hypothesis-profile=test tests src docs README.md

test-browser: $(READY) ## reports and nomograms in the Chromium of this machine; skipped where it has none
	$(BIN)/python -m pytest -m browser -rs tests/browser

# The engines are large, so they have an environment of their own.
test-engines: $(ENGINES)/.ready ## the tests on Dask and Spark (Java 17 or newer) with real schedulers
	$(ENGINES)/bin/python -m pytest --hypothesis-profile=test tests/engines

soak: $(READY) ## long runs, a million random cases, wrong model files, and 20,000 new examples of each law
	$(PYTEST) -m "soak or hypothesis" --hypothesis-profile=soak tests
	$(BIN)/python -m tests.hostile_files 0 100000
	$(BIN)/python -m tests.fuzz report
	$(BIN)/python -m tests.hostile_files report

lint: $(READY) ## ruff: errors and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy
	$(BIN)/mypy

stale: $(READY) ## measured tables of the docs with what has changed in their code since
	$(BIN)/python -m benchmarks.stale

bench: $(READY) ## the tables of speed and quality of the docs, measured on this machine (hours)
	-$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.missing
	$(BIN)/python -m benchmarks.pairs
	$(BIN)/python -m benchmarks.twins
	$(BIN)/python -m benchmarks.explain
	$(BIN)/python -m benchmarks.command_line
	$(BIN)/python -m benchmarks.growth --again
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.text_quality

bench-spark: $(ENGINES)/.ready ## fits on Spark against MLlib, in CPU seconds
	$(ENGINES)/bin/python -m benchmarks.spark

dist: $(READY) ## wheel and source archive in dist/, checked and tried in an empty environment
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dist]'
	rm -rf dist build/compiled
	$(BIN)/python -m verosim.kernels.ready build/compiled
	VEROSIM_COMPILED=$(CURDIR)/build/compiled $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tests.check_dist dist

clean: ## remove the environment and builds
	rm -rf .venv $(ENGINES) build dist site

$(READY): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'verosim needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(ENGINES)/.ready: pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/pip install --quiet --disable-pip-version-check -e '.[dask,spark]' 'pyspark[connect]' hypothesis pytest
	touch $@

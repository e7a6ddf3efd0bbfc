# Every target makes the virtual environment it needs; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Numba's cache looks only at a function's own file; a folder named by all sources cannot hold stale code.
SOURCES := $(shell find src/bktf -name '*.py' | LC_ALL=C sort)
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(shell cat $(SOURCES) | sha256sum | cut -c1-16)
# One thread per linear-algebra call: small matrices, and timings that can be compared.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help demo test test-bugs lint bench clean

help:
	@echo "make demo   fit the introductory function and show what was learned"
	@echo "make test   all tests"
	@echo "make test-bugs  put bugs into copies of the sampler and see its statistical tests fail"
	@echo "make lint   ruff and mypy"
	@echo "make bench  speed, as ratios in one run"
	@echo "make clean  remove the virtual environment and caches"

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/python examples/introductory_function.py

test: $(READY)
	$(BIN)/python -m pytest

test-bugs: $(READY)
	$(BIN)/python -m pytest -m bugs -rA

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.surrogate

clean:
	rm -rf $(VENV) .numba_cache .pytest_cache .mypy_cache .ruff_cache build src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

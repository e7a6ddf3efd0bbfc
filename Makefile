# Every target makes the virtual environment it needs; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
# Windows keeps the programs of a virtual environment in another folder.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
READY := $(VENV)/.ready
TORCH ?= torch==2.13.0
VIZIER ?= 'google-vizier[jax]==0.1.24' jax==0.4.34 jaxlib==0.4.34

# Numba's cache looks only at a function's own file; a folder named by all sources cannot hold stale code.
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(shell $(PYTHON) tests/source_hash.py)
# One thread per linear-algebra call: small matrices, and timings that can be compared.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help demo test test-bugs test-mutations test-integrations lint bench bench-peers study-any-size study-analysis study-ascent study-hard-use study-sampler study-reproduction study-comparison study-conditional study-early study-experimenters study-finite-rank study-vizier clean

help:
	@echo "make demo   optimise a test function and say how close it came"
	@echo "make test   all tests"
	@echo "make test-bugs  put bugs into copies of the sampler and see its statistical tests fail"
	@echo "make test-mutations  put small bugs into copies of the package and see the relevant tests notice (at most an hour of CPU, resumable)"
	@echo "make test-integrations  scikit-learn, BoTorch, ArviZ and Keras, in an environment of its own (installs torch)"
	@echo "make lint   ruff and mypy"
	@echo "make bench  speed, as ratios in one run"
	@echo "make bench-peers  CPU of one suggestion against Optuna's GPSampler and TPE, for 20 to 1,000 trials (installs torch; ten minutes)"
	@echo "make study-any-size  long histories, long budgets, many dimensions: makes the runs that are missing (hours of CPU from nothing)"
	@echo "make study-ascent  coordinate ascent against enumeration on the paper's grids (five minutes)"
	@echo "make study-sampler  how often the sampler walks into failures, resumable (five minutes)"
	@echo "make study-hard-use  long histories, pruning, huge values, noise: makes the runs that are missing (an hour of CPU from nothing)"
	@echo "make study-reproduction  the paper's experiments: makes the runs that are missing, draws tables and figures (hours from nothing)"
	@echo "make study-finite-rank  inference at finite rank: do fits agree, do they predict, is the rank found (an hour of CPU from nothing)"
	@echo "make study-conditional  conditional spaces and pruning against Optuna's samplers (an hour of CPU from nothing)"
	@echo "make study-experimenters  earlier campaigns, beliefs, descriptors, mixtures (half an hour of CPU from nothing)"
	@echo "make study-analysis  importance, sample paths, and whether stated probabilities of being done are true (an hour and a half of CPU from nothing)"
	@echo "make study-early  the first suggestions: what is expected where nothing is known, and 20 dimensions (an hour of CPU from nothing)"
	@echo "make study-vizier  Vizier's runs of the comparison, in an environment of its own (an hour of CPU from nothing)"
	@echo "make study-comparison  bktf against other packages: makes the runs that are missing (seven hours of CPU from nothing)"
	@echo "make clean  remove the virtual environment and caches"

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/bktf demo

test: $(READY)
	$(BIN)/python -m pytest

test-bugs: $(READY)
	$(BIN)/python -m pytest -m bugs -rA

test-mutations: $(READY)
	$(BIN)/python tests/mutations/run_mutations.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.surrogate; surrogate=$$?; $(BIN)/python -m benchmarks.analysis; analysis=$$?; $(BIN)/python -m benchmarks.acquisition && exit $$((surrogate + analysis))

study-ascent: $(READY)
	$(BIN)/python -m benchmarks.ascent

study-reproduction: .venv-integrations/.ready
	.venv-integrations/$(PROGRAMS)/python -m studies.paper all
	.venv-integrations/$(PROGRAMS)/python -m studies.pages

study-comparison: .venv-peers/.ready
	.venv-peers/$(PROGRAMS)/python -m studies.comparison
	.venv-peers/$(PROGRAMS)/python -m studies.pages

study-hard-use: $(READY)
	$(BIN)/python -m benchmarks.hard_use
	$(BIN)/python -m studies.pages

study-sampler: $(READY)
	$(BIN)/python -m benchmarks.sampler_study

# A virtual environment of its own: the CPU build of torch first, then what depends on it.
.venv-peers/.ready: pyproject.toml
	test -x .venv-peers/$(PROGRAMS)/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/$(PROGRAMS)/pip install --quiet --disable-pip-version-check $(TORCH)
	.venv-peers/$(PROGRAMS)/pip install --quiet --disable-pip-version-check -e '.[peers]'
	touch $@

# Vizier's packages disagree with those of the others, so it has an environment too.
.venv-vizier/.ready: pyproject.toml
	test -x .venv-vizier/$(PROGRAMS)/python || $(PYTHON) -m venv .venv-vizier
	.venv-vizier/$(PROGRAMS)/pip install --quiet --disable-pip-version-check $(VIZIER)
	.venv-vizier/$(PROGRAMS)/pip install --quiet --disable-pip-version-check -e '.[experiments]'
	touch $@

# The same for the integrations: scikit-learn, BoTorch, ArviZ, pandas, Keras and the peers, each with its own small tests.
.venv-integrations/.ready: pyproject.toml
	test -x .venv-integrations/$(PROGRAMS)/python || $(PYTHON) -m venv .venv-integrations
	.venv-integrations/$(PROGRAMS)/pip install --quiet --disable-pip-version-check $(TORCH)
	.venv-integrations/$(PROGRAMS)/pip install --quiet --disable-pip-version-check -e '.[sklearn,botorch,arviz,plots,experiments,networks,peers]' pytest pandas
	touch $@

test-integrations: .venv-integrations/.ready
	.venv-integrations/$(PROGRAMS)/python -m pytest -W default tests/integrations

study-vizier: .venv-vizier/.ready
	.venv-vizier/$(PROGRAMS)/python -m studies.comparison --methods vizier --half test --seeds 1
	.venv-vizier/$(PROGRAMS)/python -m studies.comparison --tables
	.venv-vizier/$(PROGRAMS)/python -m studies.pages

study-finite-rank: $(READY)
	$(BIN)/python -m studies.finite_rank
	$(BIN)/python -m studies.pages

study-conditional: .venv-peers/.ready
	.venv-peers/$(PROGRAMS)/python -m studies.conditional
	.venv-peers/$(PROGRAMS)/python -m studies.conditional.sharing
	.venv-peers/$(PROGRAMS)/python -m studies.pruning
	.venv-peers/$(PROGRAMS)/python -m studies.pruning.predictions
	.venv-peers/$(PROGRAMS)/python -m studies.pages

study-experimenters: $(READY)
	$(BIN)/python -m studies.experimenters
	$(BIN)/python -m studies.pages

study-analysis: $(READY)
	$(BIN)/python -m studies.analysis.stopping
	$(BIN)/python -m studies.analysis.importance_coverage
	$(BIN)/python -m benchmarks.path_features
	$(BIN)/python -m studies.pages

study-early: .venv-peers/.ready
	.venv-peers/$(PROGRAMS)/python -m benchmarks.prior_mean
	.venv-peers/$(PROGRAMS)/python -m benchmarks.twenty_dims
	.venv-peers/$(PROGRAMS)/python -m studies.pages

study-any-size: .venv-peers/.ready
	.venv-peers/$(PROGRAMS)/python -m benchmarks.any_size
	.venv-peers/$(PROGRAMS)/python -m studies.pages

bench-peers: .venv-peers/.ready
	.venv-peers/$(PROGRAMS)/python -m benchmarks.peers

clean:
	rm -rf $(VENV) .venv-peers .venv-integrations .venv-vizier .numba_cache .pytest_cache .mypy_cache .ruff_cache build src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

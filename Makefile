# make reproduce: set up .venv, then the table, the closed forms and the figures.   make study: the paper's study and
# its page.   make test: set up .venv, then lint, types, layers and tests.   make slow: the tests that take up to a
# minute each.   make numba: a quick check on the oldest and the newest numba.   make docs: the site, in build/docs.
PYTHON ?= python3
BIN := .venv/bin
# Tiny linear systems slow down when a BLAS spreads them over threads.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1

.PHONY: reproduce study test slow numba docs clean

reproduce: .venv/installed
	$(BIN)/caet-opt table models/ --columns "model,family,task,K,T*,gap,expected,deviation"
	$(BIN)/caet-opt verify
	$(BIN)/caet-opt curve models/paper-instance-1.toml --sweep mean:2 --from 0 --to 2.5 --output results/curve
	$(BIN)/caet-opt reproduce figure-1 --out results
	$(BIN)/caet-opt reproduce proportions --out results
	$(BIN)/caet-opt reproduce regret --out results
	$(BIN)/python analysis/threshold_costs.py --quick --figure results/threshold-costs

study: .venv/installed
	$(BIN)/caet-opt sweep analysis/studies/paper.toml --figures
	$(BIN)/caet-opt report results/paper -o results/paper.html

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2

slow: .venv/installed
	$(BIN)/pytest -n 2 -m slow

# Each release, with what it needs and a cache of its own, in a folder that is seen before .venv.
OLDEST_NUMBA := $(shell sed -n 's/.*"numba>=\([0-9.]*\)".*/numba==\1.*/p' pyproject.toml)
numba: .venv/installed
	for release in '$(OLDEST_NUMBA)' numba; do \
	  rm -rf build/numba && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/numba "$$release" && \
	  PYTHONPATH=$(CURDIR)/build/numba NUMBA_CACHE_DIR=$(CURDIR)/build/numba/cache $(BIN)/python analysis/numba_releases.py \
	  || exit 1; \
	done

# Every page is executed, every warning is an error, and every link within the site is followed.
docs: .venv/docs
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/sphinx-build -E -W --keep-going -q -j 2 docs build/docs
	$(BIN)/python docs/check_site.py build/docs

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ipopt,dev]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Everything one does in this tree. `make` alone lists it.
# Works on a machine with Python 3.11, pip and make; what is missing is set up on the way.

PYTHON ?= python3
VENV   ?= .venv
# More for pytest, such as PYTEST_ARGS="-n 2" or PYTEST_ARGS="-k claim".
PYTEST_ARGS ?= -n auto

BIN   := $(VENV)/bin
READY := $(VENV)/.ready

export PYTHON
# A newer release of a tool is no news while one works on something else.
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check check-deep bench bench-peers spec lock clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 | /p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## /  make \1: /p' $(MAKEFILE_LIST)

setup: $(READY) ## fill .venv from requirements.lock (does nothing when it is up to date)

# The mark is made last, so a broken set-up is tried again.
$(READY): requirements.lock pyproject.toml scripts/setup
	@scripts/setup $(VENV)
	@touch $@

demo: $(READY) ## a short tour of the board
	@$(BIN)/taskloom demo

test: check ## the whole gate: check, then all tests but the deep ones
	@echo "test: pytest"
	@$(BIN)/python -m pytest -q $(PYTEST_ARGS)

check: $(READY) ## format, lint, types, floors, dependencies
	@echo "check: ruff format"
	@$(BIN)/ruff format --quiet --check .
	@echo "check: ruff"
	@$(BIN)/ruff check --quiet .
	@echo "check: pyright"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "check: mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "check: import-linter"
	@$(BIN)/lint-imports > $(VENV)/floors.txt 2>&1 || { cat $(VENV)/floors.txt; exit 1; }
	@echo "check: deptry"
	@$(BIN)/deptry src > $(VENV)/deptry.txt 2>&1 || { cat $(VENV)/deptry.txt; exit 1; }

check-deep: $(READY) ## the larger versions of the tests (minutes)
	@TASKLOOM_DEEP=1 $(BIN)/python -m pytest -q -m deep $(PYTEST_ARGS)

bench: $(READY) ## measure, each figure beside its ceiling
	@$(BIN)/python -m bench

bench-peers: $(READY) ## the agent loop of other frameworks beside ours (installs them into .peers)
	@$(BIN)/python -m bench.peers

spec: $(READY) ## which tests show which behaviour of docs/spec, and which show none
	@$(BIN)/python scripts/spec.py $(SPEC_ARGS)

lock: ## write requirements.lock anew (LOCK_ARGS=--upgrade for newer versions)
	@scripts/lock $(LOCK_ARGS)

clean: ## remove what was made here, .venv too
	@rm -rf $(VENV) .uv build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis \
	  .import_linter_cache .coverage .coverage.* htmlcov
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

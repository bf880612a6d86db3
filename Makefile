# All development tasks. `make` alone lists them.
# Needs Python 3.11, pip and make; each target installs what it needs.

PYTHON ?= python3
VENV   ?= .venv
# Arguments for pytest, such as PYTEST_ARGS="-n 2" or PYTEST_ARGS="-k claim".
PYTEST_ARGS ?= -n auto

BIN   := $(VENV)/bin
READY := $(VENV)/.ready

export PYTHON
# Do not report newer releases of pyright.
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check check-deep bench bench-peers spec reference lock clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 | /p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## /  make \1: /p' $(MAKEFILE_LIST)

setup: $(READY) ## install requirements.lock into .venv (does nothing when it is up to date)

# The marker file is made last, so a failed set-up is repeated.
$(READY): requirements.lock pyproject.toml scripts/setup
	@scripts/setup $(VENV)
	@touch $@

demo: $(READY) ## run a whole session without a network, and kill a worker in it
	@$(BIN)/taskloom demo

test: check ## the whole gate: check, then all tests except the deep ones
	@echo "test: pytest"
	@$(BIN)/python -m pytest -q $(PYTEST_ARGS)

check: $(READY) ## format, lint, types, layers, dependencies
	@echo "check: ruff format"
	@$(BIN)/ruff format --quiet --check .
	@echo "check: ruff"
	@$(BIN)/ruff check --quiet .
	@echo "check: pyright"
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@echo "check: mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "check: import-linter"
	@$(BIN)/lint-imports > $(VENV)/layers.txt 2>&1 || { cat $(VENV)/layers.txt; exit 1; }
	@echo "check: deptry"
	@$(BIN)/deptry src > $(VENV)/deptry.txt 2>&1 || { cat $(VENV)/deptry.txt; exit 1; }

check-deep: $(READY) ## run the larger versions of the tests (minutes)
	@TASKLOOM_DEEP=1 $(BIN)/python -m pytest -q -m deep $(PYTEST_ARGS)

bench: $(READY) ## measure, and compare each figure with its limit
	@$(BIN)/python -m bench

bench-peers: $(READY) ## compare the agent loop with other frameworks (installs them into .peers)
	@$(BIN)/python -m bench.peers

spec: $(READY) ## list which tests show which behaviour of docs/spec, and what no test shows
	@$(BIN)/python scripts/spec.py $(SPEC_ARGS)

reference: $(READY) ## write docs/reference and the pinned public names from the source
	@$(BIN)/python scripts/reference.py

lock: ## write requirements.lock again (LOCK_ARGS=--upgrade for newer versions)
	@scripts/lock $(LOCK_ARGS)

clean: ## remove generated files and .venv
	@rm -rf $(VENV) .uv build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis \
	  .import_linter_cache .coverage .coverage.* htmlcov
	@find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

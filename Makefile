# Every target creates .venv and installs what it needs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUICK ?=
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test lint bench-draws bench-ask clean

help:
	@echo "make demo         tune a real model and draw the convergence plot"
	@echo "make test         run the tests"
	@echo "make lint         check style and types"
	@echo "make bench-draws  time posterior draws against gradient descent (QUICK=1: under a minute)"
	@echo "make bench-ask    time suggestions beside Optuna's samplers (QUICK=1: under a minute)"

# One stamp file for each set of extras; a changed pyproject.toml installs again.
$(VENV)/.installed-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench-draws: $(VENV)/.installed-plot
	$(BIN)/python benchmarks/draws.py $(if $(QUICK),--quick)

bench-ask: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/ask.py $(if $(QUICK),--quick)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache

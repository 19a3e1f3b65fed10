# Everything people run here. `make demo` and `make test` set up what they need, once; after that nothing
# opens a connection. Needs Python 3.11 or newer: `make test PYTHON=python3.12` chooses one.

PYTHON ?= python3

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MODELS := .cache/models
MCP    := .cache/mcp/installed.txt
MODEL  := $(MODELS)/SmolLM2-135M-Instruct.Q4_1.gguf

# Stamps: made again when pyproject.toml is newer, so that a changed dependency is installed.
BASE := $(VENV)/.stamp-base
DEMO := $(VENV)/.stamp-demo
DEV  := $(VENV)/.stamp-dev

.DEFAULT_GOAL := help
.PHONY: help demo test soak check docs fix clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO) $(MODEL) ## run the demo with the embedded model and draw it
	$(BIN)/flowgraph demo

test: $(DEV) $(MODEL) $(MCP) ## run all tests (choose some: make test ARGS="-k retry")
	$(BIN)/python -m pytest $(ARGS)

soak: $(DEV) ## the drawn tests, twenty times as many, and 240 processes killed at work (about half an hour)
	FLOWGRAPH_SOAK=1 $(BIN)/python -m pytest -q tests/crash $(wildcard tests/engine/test_resume*.py) \
	  tests/engine/test_schedule.py tests/engine/test_leaks.py tests/engine/test_deadjoins.py $(ARGS)

check: $(DEV) ## lint, formatting, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DEV) ## run every block of Python in the README and docs, and every example
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_examples.py

fix: $(DEV) ## mend what the linter can mend, and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(DEV) ## measure what the engine costs (make bench ARGS="--repeat 30 --strict")
	$(BIN)/python -m tests.benchmarks $(ARGS)

clean: ## remove the environment, the model and all caches
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find flowgraph nodes examples tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BASE):
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "make: there is no '$(PYTHON)': install Python 3.11 or newer, or name one (make PYTHON=python3.12)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: '$(PYTHON)' is too old, Python 3.11 or newer is needed; name one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' cannot make environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(DEMO): pyproject.toml | $(BASE)
	@echo "Installing what the demo needs into $(VENV) (once, about a minute)"
	@$(PIP) --editable '.[agents,local]'
	@touch $@

# Installing for the tests covers the demo, hence both stamps.
$(DEV): pyproject.toml | $(BASE)
	@echo "Installing what the tests need into $(VENV) (once, about a minute)"
	@$(PIP) --editable '.[agents,local,dev]'
	@touch $(DEMO) $@

# Where they cannot be had, the tests that talk to them are skipped and say so.
$(MCP): tests/nodes/mcp/fetch.py | $(DEV)
	@echo "Fetching the MCP servers of the tests into .cache/mcp (once)"
	@$(BIN)/python $< || echo "warning: the MCP servers cannot be had: tests that need them are skipped" >&2

$(MODEL): | $(DEMO)
	@echo "Fetching the embedded model into $(MODELS) (once, 93 MB)"
	@$(BIN)/python -m flowgraph_nodes.models.local fetch $(MODELS)

# AICO Memory. `make` or `make help` lists the targets; `make run-bus` and `make test` need nothing prepared
# but Python 3.11 or later (with venv) and make.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Options for the installer, e.g. an index: make install PIP_OPTIONS='--index-url …'
PIP_OPTIONS ?=
# Extra options for PyTorch alone, where the index also has builds with CUDA.
TORCH_OPTIONS ?=
# Options for the deployment that `make run-bus` starts, e.g. UP='--timeout 300'.
UP ?=
PYTEST_OPTIONS ?=
# Tests that run at once; those that start brokers and deployments go one after the other in any case.
WORKERS ?= 2

INSTALLED := $(VENV)/.installed
INSTALLED_BENCH := $(VENV)/.installed-bench
COMPILED := $(VENV)/.proto
PROTO := $(wildcard proto/aico_memory/contracts/v1/*.proto)

# The first interpreter that is new enough and can make environments.
FIND_PYTHON = for python in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; done

.PHONY: help venv install proto run-bus test lint format typecheck bench docs clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@python="$$($(FIND_PYTHON))"; \
	if [ -z "$$python" ]; then \
		echo "Python 3.11 or later with the venv module is needed (Debian: apt install python3 python3-venv)," >&2; \
		echo "or name one: make PYTHON=/path/to/python3.11 …" >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$python"; "$$python" -m venv $(VENV)

venv: $(BIN)/python ## Make the environment in .venv.

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing (PyTorch first; two to five minutes)"
	$(PIP) install -q $(PIP_OPTIONS) $(TORCH_OPTIONS) -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(PIP) install -q $(PIP_OPTIONS) -c constraints.txt -e '.[dev]'
	@if $(PIP) list 2>/dev/null | grep -q '^nvidia-'; then \
		echo "This PyTorch carries CUDA, which is not needed: make clean, then name an index of builds without it: make TORCH_OPTIONS='--index-url …' install" >&2; fi
	@touch $@

install: $(INSTALLED) ## Install the pinned versions into .venv.

$(COMPILED): $(PROTO) scripts/gen_proto.py | $(INSTALLED)
	@$(BIN)/python scripts/gen_proto.py
	@touch $@

proto: $(COMPILED) ## Compile the contracts.

run-bus: $(INSTALLED) $(COMPILED) ## Start the broker and all workers; Ctrl-C drains and stops.
	@$(BIN)/aico-memory up $(UP)

test: $(INSTALLED) $(COMPILED) ## Run all tests, style and types among them.
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(PYTEST_OPTIONS)

lint: $(INSTALLED) ## Check style, and that what is generated is up to date.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/gen_proto.py --check
	$(BIN)/python scripts/gen_docs.py --check

format: $(INSTALLED) ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(INSTALLED) ## Check the types, strictly.
	$(BIN)/mypy

$(INSTALLED_BENCH): $(INSTALLED)
	$(PIP) install -q $(PIP_OPTIONS) -c constraints.txt -e '.[dev,bench]'
	@touch $@

bench: $(INSTALLED_BENCH) ## Measure the bus and the system (peers: scripts/install_peers.sh).
	$(BIN)/aico-memory bench bus
	$(BIN)/aico-memory bench system

docs: $(INSTALLED) ## Generate the tables in docs/.
	$(BIN)/python scripts/gen_docs.py

clean: ## Remove the environment and all caches; data folders stay.
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

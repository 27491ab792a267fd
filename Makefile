# Everything runs in .venv, which the first call makes. `make PYTHON=/path/to/python3.12 demo` picks another interpreter.

CANDIDATES := python3 python3.13 python3.12 python3.11
PYTHON ?= $(shell for p in $(CANDIDATES); do "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
DEMO := instances/recorded/fgd2023-an-hour.json

.DEFAULT_GOAL := help
.PHONY: help demo test

help:
	@echo "make demo  install into $(VENV), solve a recorded instance, show the plan"
	@echo "make test  install into $(VENV) with the test tools, run every check and test"

demo: $(VENV)/.installed
	$(BIN)/libra-opt solve $(DEMO)

test: $(VENV)/.installed-test
	scripts/check

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "libra_opt needs Python 3.11 or newer, and none of $(CANDIDATES) is one: install it, or say make PYTHON=/path/to/it"; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment: install its venv module (on Debian python3-venv)"; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.installed

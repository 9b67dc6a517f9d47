# Each target makes what it needs: .venv (with .venv/bin/headway) and node_modules. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
VENV_READY := $(VENV)/.ready
NODE_READY := node_modules/.ready
WORKSPACE ?=
MINUTES ?= 10
ARGS ?=

.PHONY: help setup demo test test-python test-ts test-vscode pictures lint lint-python lint-ts format bench simulate soak coverage mutation compiled lock vsix clean

help:  ## this list
	@awk -F ':.*##  *' '/^[a-z-]+:.*##/ { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "  Variables: PYTHON=path (3.11 or newer), WORKSPACE=path (demo), MINUTES=n (soak), ARGS='…' (passed on)"

$(VENV_READY): pyproject.toml requirements/dev.txt scripts/make-venv scripts/find-python
	@PYTHON="$(PYTHON)" scripts/make-venv $(VENV)
	@touch $@

$(NODE_READY): package.json package-lock.json scripts/make-node-modules
	@scripts/make-node-modules
	@touch $@

setup: $(VENV_READY) $(NODE_READY)  ## both environments: .venv and node_modules

demo: $(VENV_READY)  ## the main job on a real code base, live in the terminal
	@$(BIN)/headway demo $(if $(WORKSPACE),"$(WORKSPACE)") $(ARGS)

test: test-ts test-python  ## every test that needs no editor

test-python: $(VENV_READY)  ## pytest; ARGS='-k word' picks
	$(BIN)/python -m pytest $(ARGS)

test-ts: $(NODE_READY)  ## the extension's unit tests
	npm run --silent test

test-vscode: $(VENV_READY) $(NODE_READY)  ## the packed extension in a real VS Code, headless
	npm run --silent test:vscode

pictures: $(NODE_READY)  ## the READMEs' pictures anew, from the screenshots of the last test-vscode: look at each
	@node tests/vscode/pictures.mjs

lint: lint-python lint-ts  ## formats, rules and types of both languages

lint-python: $(VENV_READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

lint-ts: $(NODE_READY)
	npm run --silent lint

format: $(VENV_READY)  ## lets ruff format and mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV_READY)  ## latencies, as ratios to this machine's speed; ARGS='completion'
	$(BIN)/python -m tests.bench $(ARGS)

soak: $(VENV_READY)  ## mixed load with random kills and cancels for MINUTES; fails on a leak or a loss
	$(BIN)/python -m tests.soak --minutes $(MINUTES) $(ARGS)

simulate: $(VENV_READY)  ## virtual and recorded days of the scheduler beside simpler policies; ARGS='--cores 2 --hours 1'
	$(BIN)/python -m headway.scheduler.simulator --recorded tests/scheduler/days/*.jsonl $(ARGS)

coverage: $(VENV_READY)  ## branch coverage of the scheduler by its tests, per module; ARGS='tests/scheduler/test_core.py'
	$(BIN)/coverage erase
	@if [ -n "$(ARGS)" ]; then $(BIN)/coverage run -m pytest $(ARGS); exit; fi; \
	: beside the rest, the tests of executors mostly wait; \
	$(BIN)/coverage run -m pytest -q -p no:cacheprovider tests/scheduler/executors & beside=$$!; \
	$(BIN)/coverage run -m pytest -q --ignore=tests/scheduler/executors tests/scheduler tests/cli/test_doctor.py; here=$$?; \
	wait $$beside && exit $$here
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='*/headway/scheduler/*'
	@$(BIN)/coverage json -q -o - --include='*/headway/scheduler/*' | $(BIN)/python scripts/branches.py $(if $(ARGS),,95)

mutation: $(VENV_READY)  ## do tests notice when the scheduler's core is broken? ARGS='queues --sample 200'
	$(BIN)/python -m tests.mutation $(ARGS)

vsix: $(VENV_READY) $(NODE_READY)  ## the extension with its Python packages inside, in dist/
	npm run --silent vsix

compiled: $(VENV_READY)  ## the scheduler's core compiled by mypyc, in build/compiled, and its tests with it
	$(BIN)/python scripts/compile_core.py
	PYTHONPATH=build/compiled $(BIN)/python -m pytest $(or $(ARGS),tests/scheduler)

lock: $(VENV_READY)  ## requirements/*.txt anew from pyproject.toml
	$(BIN)/python scripts/lock.py

clean:  ## what was built; the environments stay
	rm -rf build dist out artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*

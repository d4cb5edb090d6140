# Two commands: `make demo` runs a whole evaluation and publishes a board, `make test` proves the project.
# `make help` lists the rest.

SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
CATALOGUES := $(wildcard locale/*/LC_MESSAGES/django.po)
COMPILED := $(CATALOGUES:.po=.mo)
PORT ?= 8000
LOCOMO ?= ../shared/data/locomo

.DEFAULT_GOAL := help
.PHONY: help setup demo locomo suites serve test chaos same-numbers bench lint format screenshots messages lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/runtime $(COMPILED) ## install what running needs; quick when nothing changed

demo: setup ## evaluate the reference memory server, or SERVER=http://..., and publish the board
	@$(BIN)/python -m aml.demo $(if $(SERVER),--server $(SERVER)) $(if $(SERVER_KEY),--server-key $(SERVER_KEY))

locomo: setup ## the same on the whole LoCoMo file (LOCOMO=folder); prints wall time and peak memory
	@$(BIN)/python -m aml.demo --bundle $(LOCOMO) --dataset locomo --figures

suites: setup ## hold each own suite to its purpose: no memory < BM25 <= evidence, and the portal's own run beside them
	@$(BIN)/python -m aml.demo.suites $(SUITES)

serve: setup ## web server and workers for real use, on PORT; settings come from the environment or .env
	@$(BIN)/python manage.py serve --port $(PORT)

test: setup-test ## the whole suite, browser tests included
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

chaos: setup-test ## kill processes at random for CHAOS_SECONDS (60) and hold the runs to the right numbers
	@CHAOS_SECONDS=$(or $(CHAOS_SECONDS),60) $(BIN)/python -m pytest -n0 tests/engine/test_chaos.py

same-numbers: setup-test ## the whole LoCoMo file at 1, 8 and 64 lanes and by two clusters: one digest (AML_DATA_DIR=folder)
	@LOCOMO_CONVERSATIONS=10 $(BIN)/python -m pytest -n0 tests/engine/test_same_numbers.py

bench: setup-test ## figures of wire, engine and site beside their goals, into var/bench.json; fails when a hard one is missed
	@.ci/system-packages bench
	@$(BIN)/python -m tests.bench

lint: setup-test ## format, lint, types, layers, migrations, templates
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy .
	@$(BIN)/djlint --check --lint --quiet templates
	@$(BIN)/python manage.py makemigrations --check --dry-run

format: setup-test ## put code and templates in shape
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .
	@$(BIN)/djlint --reformat --quiet templates

screenshots: setup-test ## each page in both languages, themes and two widths, into var/screenshots
	@$(BIN)/python -m tests.screenshots

messages: setup-test ## collect the messages of code and templates into locale/
	@$(BIN)/python manage.py makemessages --locale zh_Hans --no-wrap --add-location file --ignore '.venv/*' --ignore 'var/*' --ignore 'tests/*'

lock: .venv/uv ## renew the hashed locks from pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 \
	  --extra build pyproject.toml --output-file requirements.txt
	$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 \
	  --extra build --extra dev --constraints requirements.txt pyproject.toml --output-file requirements-dev.txt

clean: ## remove what these targets made, the environment and var/ included
	rm -rf .venv var .pytest_cache .mypy_cache .ruff_cache .hypothesis $(COMPILED)

.PHONY: setup-test
setup-test: .venv/development $(COMPILED)
	@.ci/system-packages test

.venv/uv: requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it with PYTHON=...")'
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.txt
	@touch $@

# An environment that already has the development packages has the runtime ones too: never take packages away.
.venv/runtime: .venv/uv requirements.txt pyproject.toml
	@echo "Installing packages"
	@$(UV) pip install --quiet --require-hashes --no-deps -r requirements.txt
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/development: .venv/runtime requirements-dev.txt
	@echo "Installing development packages"
	@$(UV) pip install --quiet --require-hashes --no-deps -r requirements-dev.txt
	@touch $@

# Babel compiles the catalogues, so that running needs no system package.
%.mo: %.po | .venv/runtime
	@$(BIN)/pybabel --quiet compile --input-file $< --output-file $@

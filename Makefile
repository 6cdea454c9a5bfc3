# Everything a newcomer needs: `make demo`, `make test`. Each target makes its own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
MINUTES ?= 10
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
# tests start Python hundreds of times: compiled modules are kept, even if the shell asks for none
export PYTHONDONTWRITEBYTECODE =
# where there is a roomy RAM disk, tests write there: thousands of small files wait for no disk
RAM_DISK := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 {print "PYTEST_DEBUG_TEMPROOT=/dev/shm"}')
.DEFAULT_GOAL := help

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing uvast into $(VENV) ..."
	@$(PIP) -e ".[video]"
	@touch $@

$(TOOLS): $(READY)
	@echo "installing its tools into $(VENV) ..."
	@$(PIP) "pip>=25.1"
	@$(PIP) --group dev -e .
	@touch $@

install: $(TOOLS) ## make .venv with the package and its tools

demo: $(READY) ## from video files to actions, on generated videos
	@$(BIN)/uvast demo --overwrite

test: $(TOOLS) ## all tests
	@$(RAM_DISK) $(BIN)/python -m pytest -n 2 --dist worksteal --durations 15 --durations-min 5

fuzz: $(TOOLS) ## broken files for MINUTES=10; failing cases go to build/fuzzing
	@$(BIN)/python -m tests.fuzzing --minutes $(MINUTES)

check: $(TOOLS) ## formatting, lint, types, layers and docs: what CI runs beside the tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@MYPYPATH=benchmarks $(BIN)/mypy --disable-error-code no-any-return --disable-error-code no-untyped-call benchmarks
	@$(BIN)/lint-imports
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

format: $(TOOLS) ## format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist

.PHONY: help install demo test fuzz check format clean

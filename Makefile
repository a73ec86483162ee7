# Every target first sets up its own virtual environment in .venv, independently of the active environment.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
STAMP  := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
OLDEST := .venv-oldest
PINS   := .venv-pins
# One process more than two cores, because some tests wait for other processes; each has one thread. The tests of a file
# stay together: they share what they train. Bytecode is kept even where the environment says otherwise, because many
# tests start a new interpreter.
WORKERS ?= 3
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile

.PHONY: help demo test test-oldest fuzz audit pins bench bench-scale docs lint page release-check clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   set up, show on two graphs why one basis is not enough, and what auto makes of them"
	@echo "make test   set up, then lint, types, tests and doctests"
	@echo "make test-oldest  the tests with the oldest supported versions, in .venv-oldest"
	@echo "make fuzz   set up, then factorize 10,000 generated graphs and check every property of the results"
	@echo "make audit  look up known vulnerabilities of the pinned versions"
	@echo "make pins   write the newest versions into constraints.txt; then run the tests"
	@echo "make bench  set up, then measure against the published algorithm and PyG's SIGN"
	@echo "make bench-scale  measure graphs larger than memory"
	@echo "make docs   set up, then build the documentation in docs/_build/html"
	@echo "make page   rebuild the scripts and styles of the explanation pages (needs node)"
	@echo "make release-check  build sdist and wheel, check them, install each and run the README's first example"
	@echo "make lint   ruff, mypy and import-linter only"
	@echo "make clean  remove .venv, .venv-oldest, .venv-pins, caches and built files"
	@echo "Another interpreter: make PYTHON=python3.12 demo"

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "== creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "== installing torch (the largest download; once)"
	@$(PIP) torch
	@echo "== installing unifilter and its test tools"
	@$(PIP) -e '.[test,lint]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@echo "== installing the documentation tools"
	@$(PIP) -e '.[docs]'
	@touch $@

demo: $(STAMP)
	@echo "== running the demo"
	@$(BIN)/python examples/demo.py --out demo

lint: $(STAMP)
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"
	@$(BIN)/python -m mypy
	@echo "== import-linter"
	@$(BIN)/lint-imports

test: lint
	@echo "== tests and doctests"
	@$(PYTEST)

# The lower bounds of pyproject.toml, but for torch, which stays at the pinned version: older ones from a package index
# bring several gigabytes of CUDA libraries. Nothing is compiled. uv finds versions of everything else that fit to the
# old ones in seconds, where pip tries them one by one. Old versions warn about what newer ones changed, and the pytest
# plugin of an anyio that fits to them is too old for pytest; neither says anything about this library.
test-oldest:
	@test -x $(OLDEST)/bin/python || { echo "== creating $(OLDEST) with $(PYTHON)"; $(PYTHON) -m venv $(OLDEST); }
	@echo "== finding versions"
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check uv
	@$(OLDEST)/bin/python .ci/oldest_versions.py > $(OLDEST)/lowest.txt
	@$(OLDEST)/bin/uv pip compile -q --python $(OLDEST)/bin/python --only-binary :all: --no-annotate --no-header \
		-c $(OLDEST)/lowest.txt --extra test pyproject.toml -o $(OLDEST)/constraints.txt
	@echo "== installing the oldest supported versions"
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check --only-binary=:all: \
		-c $(OLDEST)/constraints.txt -e '.[test]'
	@echo "== tests and doctests"
	@$(subst $(BIN),$(OLDEST)/bin,$(PYTEST)) -p no:anyio -W ignore::DeprecationWarning

audit:
	@echo "== looking up known vulnerabilities of the pinned versions"
	@$(PYTHON) .ci/audit.py

pins:
	@echo "== installing the newest versions that pyproject.toml allows, in $(PINS)"
	@$(PYTHON) -m venv --clear $(PINS)
	@$(PINS)/bin/python -m pip install -qq --disable-pip-version-check hatchling -e '.[all]'
	@$(PINS)/bin/python .ci/pins.py > $(PINS)/constraints.txt
	@cp $(PINS)/constraints.txt constraints.txt
	@rm -rf $(PINS)
	@echo "constraints.txt is renewed: see git diff, then make test, make test-oldest, .ci/base-install and make audit"

fuzz: $(STAMP)
	@echo "== 10,000 generated graphs (some ten minutes)"
	@$(BIN)/python -W ignore::UserWarning tests/fuzz.py

bench: $(STAMP)
	@echo "== benchmarks (long: python -m benchmarks --only SECTION runs one part; an idle machine gives steadier figures)"
	@$(BIN)/python -m benchmarks

bench-scale: $(STAMP)
	@echo "== graphs larger than memory (an hour or two; needs 24 GB of memory and 30 GB in scale-work)"
	@for stage in store growth order end-to-end rivals paper wide channels docs; do $(BIN)/python -m benchmarks.scale $$stage || exit 1; done

docs: $(DOCS_STAMP)
	@echo "== building the documentation"
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

page: $(STAMP)
	@echo "== building the explanation page (needs node and npm)"
	@cd web && npm ci --ignore-scripts && npm run build

release-check:
	@PYTHON=$(PYTHON) .ci/release-check

clean:
	@echo "== removing $(VENV), $(OLDEST), $(PINS), caches and built files"
	@rm -rf $(VENV) $(OLDEST) $(PINS) docs/_build docs/generated docs/examples build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

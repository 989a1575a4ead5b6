# Needs only python3 and make. Each target installs what it uses into .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check

# Labelled data sets that are not part of the project, if there is a copy next to it.
export ALLEGIANCE_DATA ?= $(abspath $(wildcard ../shared/data))

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-scaffold lint format attack bench bench-quick bench-scale study paper docs docs-check dist release-check matrix clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	$(PIP) install --quiet --editable ".[all]"
	@touch $@

# One stamp for each dependency group of pyproject.toml.
$(VENV)/.group-%: $(VENV)/.core
	$(PIP) install --quiet --group $*
	@touch $@

# The tests of the report drive a browser. Where it is missing and cannot be installed, they are skipped by name.
$(VENV)/.browser: $(VENV)/.core
	@if ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null \
	  || echo "no browser could be installed: the tests that drive one are skipped"; \
	fi
	@touch $@

demo: $(VENV)/.core ## cluster scikit-learn's wine data, print which labels would come back, write the page
	@$(RUN) examples/wines.py out/wines.csv
	$(VENV)/bin/allegiance score out/wines.csv --clusters 3 --drop cultivar -o out/scored.csv \
	  --report out/report.html --if-exists replace
	@echo && echo "The table with its labels and trust: out/scored.csv. The page, for a browser: out/report.html"

# Tests of one file run in one process, and processes share the compiled kernels.
PYTEST := $(RUN) -m pytest -n 2 --dist loadfile

test: $(VENV)/.group-test $(VENV)/.browser ## the everyday tests
	$(PYTEST) -m "not slow and not scaffold"

test-slow: $(VENV)/.group-test $(VENV)/.browser ## tests that take longer, or start a process, a cluster or a browser
	$(PYTEST) -m "slow and not scaffold"

test-scaffold: $(VENV)/.group-test ## tests of the benchmarks, attacks, releases, documentation and reproduction
	$(PYTEST) -m scaffold

attack: $(VENV)/.group-test $(VENV)/.browser ## try to break every promise of docs/reliability.md (about 20 minutes)
	$(RUN) -m attacks --write

lint: $(VENV)/.group-lint ## style, types, and who imports whom
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.group-lint ## rewrite the sources in the project's style
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: $(VENV)/.group-bench ## speed and memory compared with other libraries (about half an hour)
	@$(RUN) benchmarks/run.py
	@$(RUN) benchmarks/peers_speed.py

bench-quick: $(VENV)/.group-bench ## the same on less data
	@$(RUN) benchmarks/run.py --quick

bench-scale: $(VENV)/.group-bench ## ten million rows from disk, and Dask (some minutes, 3 GB of disk)
	@$(RUN) benchmarks/scale.py

# Tables that the project does not hold take part in the study where they are at hand.
STUDY_TABLES := $(if $(ALLEGIANCE_DATA),$(wildcard $(ALLEGIANCE_DATA)/tables))

study: $(VENV)/.group-bench ## do labels come back as often as trust says, does the order of review find wrong ones, do audits hold? (about two hours)
	@$(RUN) benchmarks/study.py $(if $(STUDY_TABLES),--folder $(STUDY_TABLES))
	@$(RUN) benchmarks/replication.py

paper: $(VENV)/.core ## every table and figure of the paper, compared with ours (about an hour)
	@$(RUN) -m reproduction -o out/paper
	@mkdir -p docs/images/paper && cp out/paper/images/paper/*.png docs/images/paper/ && cp out/paper/paper.md docs/paper.md
	@echo "The page is docs/paper.md"

docs: $(VENV)/.group-docs ## build the documentation site into out/site
	$(RUN) -m sphinx -q -W --keep-going -n -b html docs out/site
	@echo "The site: out/site/index.html"

docs-check: $(VENV)/.group-docs docs ## run all code of all pages, check links inside the site, and spelling
	PYTHONPATH=docs $(RUN) -m pytest -q -p run_pages -p no:cacheprovider README.md docs
	$(VENV)/bin/linkchecker --config docs/linkchecker.cfg --no-status out/site/index.html
	$(VENV)/bin/codespell README.md CONTRIBUTING.md CHANGELOG.md docs src examples

dist: $(VENV)/.group-release ## build the source distribution and the wheel
	$(RUN) -m build --outdir dist .

release-check: $(VENV)/.group-release ## build, check, install into empty environments, and use what would be released
	$(RUN) release/check.py
	$(VENV)/bin/cffconvert --validate

matrix: ## the everyday tests on every Python and with the lowest versions; JOBS=3.13,lowest chooses
	$(PYTHON) release/matrix.py $(if $(JOBS),--jobs $(JOBS))

clean: ## remove what the other targets made
	rm -rf $(VENV) out benchmarks/results attacks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

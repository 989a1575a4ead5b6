# Requires only python3 and make. Each target installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check

# Set ALLEGIANCE_DATA to a folder of labeled datasets that are not part of the project; the study and the real-data benchmarks use it.
export ALLEGIANCE_DATA

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

# The report tests drive a browser. If it cannot be installed, they are skipped with a message.
$(VENV)/.browser: $(VENV)/.core
	@if ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null \
	  || echo "could not install a browser; the tests that need one are skipped"; \
	fi
	@touch $@

demo: $(VENV)/.core ## cluster scikit-learn's wine data, print which labels would hold up, write the report
	@$(RUN) examples/wines.py out/wines.csv
	$(VENV)/bin/allegiance score out/wines.csv --clusters 3 --drop cultivar -o out/scored.csv \
	  --report out/report.html --if-exists replace
	@echo && echo "Scored table: out/scored.csv. Report, to open in a browser: out/report.html"

# Tests of one file run in one process, and processes share the compiled kernels.
PYTEST := $(RUN) -m pytest -n 2 --dist loadfile

test: $(VENV)/.group-test $(VENV)/.browser ## everyday tests
	$(PYTEST) -m "not slow and not scaffold"

test-slow: $(VENV)/.group-test $(VENV)/.browser ## tests that take longer or start a process, a cluster or a browser
	$(PYTEST) -m "slow and not scaffold"

test-scaffold: $(VENV)/.group-test ## tests of the benchmarks, attacks, release, documentation and reproduction
	$(PYTEST) -m scaffold

attack: $(VENV)/.group-test $(VENV)/.browser ## try to break every promise of docs/reliability.md (about 20 minutes)
	$(RUN) -m attacks --write

lint: $(VENV)/.group-lint ## style, types and import layers
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.group-lint ## format the sources
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: $(VENV)/.group-bench ## speed and memory compared with other libraries (about half an hour)
	@$(RUN) benchmarks/run.py
	@$(RUN) benchmarks/peers_speed.py

bench-quick: $(VENV)/.group-bench ## the same benchmarks on less data
	@$(RUN) benchmarks/run.py --quick

bench-scale: $(VENV)/.group-bench ## ten million rows from disk, and Dask (a few minutes, 3 GB of disk)
	@$(RUN) benchmarks/scale.py

study: $(VENV)/.group-bench ## check trust, review order and audits against independent samples and true classes (about two hours)
	@$(RUN) benchmarks/replication.py

paper: $(VENV)/.core ## reproduce every table and figure of the paper
	@$(RUN) -m reproduction -o out/paper
	@mkdir -p docs/images/paper && cp out/paper/images/paper/*.png docs/images/paper/ && cp out/paper/paper.md docs/paper.md
	@echo "The page is docs/paper.md"

docs: $(VENV)/.group-docs ## build the documentation site into out/site
	$(RUN) -m sphinx -q -W --keep-going -n -b html docs out/site
	@echo "The site: out/site/index.html"

docs-check: $(VENV)/.group-docs docs ## run the code on every page, check links and spelling
	PYTHONPATH=docs $(RUN) -m pytest -q -p run_pages -p no:cacheprovider README.md docs
	$(VENV)/bin/linkchecker --config docs/linkchecker.cfg --no-status out/site/index.html
	$(VENV)/bin/codespell README.md CONTRIBUTING.md CHANGELOG.md docs src examples

dist: $(VENV)/.group-release ## build the source distribution and the wheel
	$(RUN) -m build --outdir dist .

release-check: $(VENV)/.group-release ## build, check, install into empty environments, and use the release artifacts
	TAG=$(TAG) $(RUN) release/check.py
	$(VENV)/bin/cffconvert --validate

matrix: $(VENV)/.group-release ## everyday tests on every installed Python and with the lowest versions; JOBS="tests-3.13 lowest" selects
	$(RUN) -m nox $(if $(JOBS),-s $(JOBS))

clean: ## remove everything the other targets created
	rm -rf $(VENV) out benchmarks/results attacks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
DOCS_STAMP := $(VENV)/.installed-docs
CLIENTS_STAMP := $(VENV)/.installed-clients
WORKERS ?= 3

.PHONY: install demo test fuzz check format servers torture soak bench bench-full docs clients clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[demo]" --group dev
	touch $@

demo: $(STAMP)
	$(BIN)/seamfs demo

# Without a server that the suite wants, its tests are skipped and say so; SEAMFS_REQUIRE_REAL=1 makes that a failure.
test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# The property tests of the pure parts with 10,000 examples each, new ones in every run. The suite's own time limit is
# for one test.
fuzz: $(STAMP)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(WORKERS) --timeout 7200 -m hypothesis tests/fs_core tests/tool_runtime tests/progressive

# Agents in processes that are killed, on three stores whose connections fail, for a minute each, and the judgement over
# what they were told; TORTURE_ARGS="--store s3 --duration-s 180 --json FILE" changes that. See docs/reliability.md.
torture: $(STAMP)
	$(BIN)/python -m tests.torture $(TORTURE_ARGS)

# Sessions come and go for half an hour on every store, each in a process whose memory, descriptors and threads must stay
# level; SOAK_ARGS="--store s3 --duration-s 600 --json FILE" changes that.
soak: $(STAMP)
	$(BIN)/python -m tests.torture.soak $(SOAK_ARGS)

# Pages, edits, stores and searches against the peers, in some ten minutes; the goals come first in what is printed.
# BENCH_ARGS="--only pagination,editing --json FILE" changes that. A peer that is missing is shown with its install line.
bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks --quick $(BENCH_ARGS)

# The whole matrix; BENCH_ARGS="--huge --readme" measures files of 1 GB too and puts tables and plots into the README.
bench-full: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks --full $(BENCH_ARGS)

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	-npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(VENV) @modelcontextprotocol/server-filesystem@2026.8.31
	touch $@

# Two agents from npm in one workspace, a script for a model behind each: what the model is shown, and that the one
# recovers whom the other has overtaken. The two take 740 MB on disk, once.
clients: $(CLIENTS_STAMP)
	$(BIN)/python -m pytest --timeout 300 tests/seamfs/clients/two_clients.py

$(CLIENTS_STAMP): $(STAMP)
	npm install --silent --no-audit --no-fund --prefix $(VENV)/clients @anthropic-ai/claude-code@2.1.332 opencode-ai@1.18.33
	touch $@

# The site of README, docs and benchmarks, in docs/build/index.html; a broken link fails it.
docs: $(DOCS_STAMP)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs -b html -d docs/build/.doctrees . docs/build

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# OpenSSH's server for the tests, which run their own copy of it on loopback. Needs root and Debian's package manager.
servers:
	@if [ -x /usr/sbin/sshd ] || command -v sshd >/dev/null; then echo "sshd: installed"; \
	else apt-get update -qq && SYSTEMD_OFFLINE=1 apt-get install -y -qq --no-install-recommends openssh-server; fi

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis docs/build

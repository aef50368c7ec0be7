# Needs make and Python 3.11 or newer. Everything else is installed into .venv, which any target creates or repairs.

.DEFAULT_GOAL := help
.NOTPARALLEL:
benches := $(addprefix bench-,engine recall state absence answers stages ablation scale memory year models events access tools passthrough ads telegram web knowledge neighbours simulation)
.PHONY: help run anthropic test test-bench test-live check chaos chaos-tasks chaos-telegram chaos-webhooks chaos-failover chaos-upgrade demo-ads emulate fuzz strangers bench $(benches) \
	docs mutants lock clean model-server ui wrk FORCE

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
PG_BIN ?= $(shell for d in /usr/lib/postgresql/*/bin; do \
	[ "$$(basename "$${d%/bin}")" -ge 15 ] 2>/dev/null && [ -x "$$d/initdb" ] && echo "$$d" && break; done)

# What another version of Postgres may change: SQL, and the flows that depend on it.
on_installed := tests/sql $(addprefix tests/assistants/ads/,test_schema.py test_query_plans.py) $(foreach name,requests roles,tests/flow/test_$(name).py) $(addprefix --ignore tests/sql/,test_vectors.py test_embedding_backlog.py test_schema_page.py test_query_types.py)
pytest := PYTHONDONTWRITEBYTECODE= .venv/bin/pytest -n 4 --dist loadfile --no-loadscope-reorder
pip := .venv/bin/python -m pip -qq --disable-pip-version-check --no-input
named = $(foreach name,CHATS CORRECTIONS EVENTS FAILOVERS FORMER TASKS MODEL JUDGE ROLES QUESTIONS EXCHANGES WINDOW RECORD REPLAY SEED COUNT RUNS USERS ATTEMPTS,$(if $($(name)),--$(shell echo $(name) | tr A-Z a-z) "$($(name))"))
extra = awk '/^[a-z0-9]/ { on = /^($(1))(\[|==)/ } on' requirements-dev.lock > .venv/extra.txt && \
	$(pip) install --no-deps --require-hashes -r .venv/extra.txt

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z$$][^=]*:.*## / { sub(/^\$$\(benches\)/, "bench-NAME", $$1); printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "make bench-NAME: $(benches:bench-%=%)"

run: .venv/runtime ## Start everything: database, migrations, HTTP server, orchestrator (Ctrl-C stops it)
	@.venv/bin/maas up

anthropic: .venv/anthropic ## Install the SDK of MAAS_MODEL=anthropic:...
test: .venv/dev model-server .venv-frameworks/made ## Run the tests, and those of SQL again on an installed Postgres (PG_BIN=DIR)
	@$(pytest)
	@$(if $(PG_BIN),$(pytest) $(on_installed) --pg-bin "$(PG_BIN)",echo "Skipped: the SQL tests on an installed Postgres 15 or newer (none found; PG_BIN=DIR names one)")

test-bench: .venv/dev ## Run the tests of whole benchmarks
	@.venv/bin/pytest tests/flow/test_bench.py -m bench
test-live: .venv/dev ## Run the provider tests against the real services whose key is in the environment
	@[ -n "$$OPENAI_API_KEY$$GEMINI_API_KEY$$ANTHROPIC_API_KEY" ] || { \
		echo "Set a key: OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY" >&2; exit 1; }
	@.venv/bin/pytest tests/contract -m live

check: .venv/dev model-server ## Check lint, formatting, types, the direction of imports, and the built files of the web interface and the JavaScript client
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo
	@ui/check.sh && clients/typescript/check.sh

chaos: .venv/dev model-server ## Break everything under load and count what is lost: [SEED=N] [RUNS=N] [USERS=N]
	@mkdir -p out && .venv/bin/python -m tests.chaos --out out/chaos.json $(named)
chaos-failover: .venv-patroni/made
chaos-failover chaos-tasks chaos-telegram chaos-upgrade chaos-webhooks: chaos-%: .venv/dev model-server ## Take the leader away from three Postgres servers; kill processes while tasks are executed, people write in Telegram, or events are sent; upgrade under load: [SEED=N RUNS=N USERS=N FAILOVERS=N] [TASKS=N] [CHATS=N] [EVENTS=N] [FORMER=COMMIT]
	@mkdir -p out && .venv/bin/python -m tests.chaos.$* --out out/$*.json $(named)
demo-ads: .venv/dev ## Show the advertising tools on an invented business; with a key of a model, chat with it
	@.venv/bin/python -m tests.demo
emulate: .venv/dev ## Play the scenarios of learning_agent/emulator: [MODEL=P:M] [JUDGE=P:M] [RECORD=FILE] [REPLAY=FILE] [ONLY=NAMES]
	@.venv/bin/python -m learning_agent.emulator run $(ONLY) --out out/emulator $(named)

fuzz: .venv/dev ## Send malformed and hostile requests for ten minutes: [SEED=N] [FUZZ_SECONDS=600]
	@mkdir -p out && .venv/bin/python -m tests.fuzz --out out/fuzz.json --seconds $(or $(FUZZ_SECONDS),600) $(if $(SEED),--seed $(SEED))
strangers: .venv/dev ## Try 100,000 times to read another user's data: [SEED=N] [ATTEMPTS=N]
	@mkdir -p out && .venv/bin/python -m tests.fuzz.strangers --out out/strangers.json $(named)
mutants: .venv/dev .venv-mutants/made ## Change six core modules a little and count what the tests notice: [COUNT=60] [SEED=N]
	@mkdir -p out && .venv/bin/python -m tests.mutants --out out/mutants.json $(named)
docs: .venv-docs/made ## Build the documents as a site into out/docs; a broken link fails
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build

bench: .venv/dev ## Measure the engine within a minute
	@mkdir -p out && .venv/bin/python -m bench.engine --quick --out out/engine.json

bench-engine: .venv-peers/made wrk
$(benches): bench-%: .venv/dev ## Measure one subject in full: [DATA=DIR] [KEEP=DIR] [EMBEDDING=MODEL] [OUT=FILE]; recall: [CORRECTIONS=FILE]; answers, stages: [MODEL=P:M] [JUDGE=P:M]
	@mkdir -p out && .venv/bin/python -m bench.$* --out "$(or $(OUT),out/$*.json)" \
		$(if $(DATA),--data "$(DATA)") $(if $(KEEP),--keep "$(KEEP)") $(if $(EMBEDDING),--embedding "$(EMBEDDING)") $(named)

# setuptools is locked, because maas itself is installed without build isolation. The dev lock holds anthropic, too.
compile := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)

lock: .venv/made ## Write the lock files anew from pyproject.toml (ARGS=--upgrade takes the newest versions)
	@$(pip) install uv
	@echo setuptools | $(compile) pyproject.toml - --output-file requirements.lock
	@$(compile) --extra dev --extra anthropic -c requirements.lock pyproject.toml --output-file requirements-dev.lock
	@$(compile) --extra peers -c requirements.lock pyproject.toml --output-file requirements-peers.lock
	@set -e; for group in docs frameworks mutants patroni; do $(compile) --group $$group --output-file requirements-$$group.lock; done

clean: ## Remove what make created; your data (.maas) and settings (.env) stay
	@rm -rf .venv .venv-peers .venv-docs .venv-frameworks .venv-mutants .venv-patroni out build *.egg-info clients/python/build clients/python/*.egg-info tests/contract/node_modules ui/node_modules .pytest_cache .mypy_cache .ruff_cache
	@rm -rf .import_linter_cache .hypothesis && find . -name .git -prune -o -name .maas -prune -o -name __pycache__ -exec rm -rf {} +

# The stamp holds the folder that .venv was made in: one that was moved, half made or half filled is made again.
.venv/made: FORCE
	@[ "$$(cat $@ 2>/dev/null)" = "$$(pwd -P)" ] && [ ! -e .venv/unfinished ] && .venv/bin/python -c '' 2>/dev/null || { \
	[ -n "$(PYTHON)" ] || { echo "MaaS needs Python 3.11 or newer with its venv module (Debian, Ubuntu: apt install python3-venv)," \
		"or name a Python: make PYTHON=/path/to/python ..." >&2; exit 1; }; \
	rm -rf .venv && "$(PYTHON)" -m venv .venv && pwd -P > $@; }

.venv/runtime .venv/dev: .venv/%: .venv/made requirements.lock requirements-dev.lock pyproject.toml
	@touch .venv/unfinished
	@echo "Installing requirements$(if $(filter dev,$*),-dev).lock into .venv, once; this takes one to five minutes"
	@$(pip) install --no-compile --require-hashes -r requirements$(if $(filter dev,$*),-dev).lock
	@$(pip) install --no-deps --no-build-isolation -e . && rm .venv/unfinished && touch .venv/runtime $@

.venv/anthropic: .venv/runtime ; @echo "Installing the SDK of Anthropic into .venv" && $(call extra,anthropic|docstring-parser) && touch $@

# The HTTP load is made by wrk; where it cannot be had, the benchmark makes the load in Python and says so.
wrk:
	@command -v wrk >/dev/null || [ "$$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null || { echo "Installing wrk"; \
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends wrk; } >/dev/null 2>&1 || true

# What the engine is compared with, what builds the documents, clients that tests run, what changes modules, and Patroni have environments
# of their own; Patroni's has a Python that the user of Postgres may enter, which root's own may not be.
.venv-peers/made .venv-docs/made .venv-frameworks/made .venv-mutants/made .venv-patroni/made: .venv-%/made: .venv/made requirements-%.lock
	@echo "Installing requirements-$*.lock into .venv-$*" && rm -rf .venv-$* && $(or $(and $(filter patroni,$*),$(wildcard /usr/bin/python3)),.venv/bin/python) -m venv --without-pip .venv-$*
	@if $(pip) --python .venv-$*/bin/python install --no-compile --require-hashes -r requirements-$*.lock; \
	then touch $@; else rm -rf .venv-$*/* && touch .venv-$*/left-out; echo "Left out: requirements-$*.lock could not be installed"; fi

# Protocol servers (models, tools), clients and a browser that tests use, and what builds the web interface.
model-server: ; @tests/install.sh
ui: .venv/runtime model-server ## Build the web interface from ui/ into maas/http/ui, and the JavaScript client
	@cd ui && npm run --silent types && npm run --silent build -- --logLevel warn && cd ../clients/typescript && npm run --silent types && npm run --silent build

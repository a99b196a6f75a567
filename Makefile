# `make demo` shows what this is; `make test` runs the tests; `make check` is what CI runs.
PYTHON ?= python3
# Another supported version, for `make test-other`: the newest on the path, unless one is named.
OTHER_PYTHON ?= $(shell main=$$($(PYTHON) -c '$(MINOR)'); \
  for python in python3.14 python3.13 python3.12 python3.11; do \
    minor=$$($$python -c '$(MINOR)' 2>/dev/null) && [ "$$minor" != "$$main" ] && \
      echo $$python && break; \
  done)
MINOR := import sys; print(*sys.version_info[:2])
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SUITES := $(VENV)/.suites
# The tests of what depends on the version of Python.
VERSIONED := domain lifecycle sandboxed exports metrics adapters/stores adapters/sandboxes

.PHONY: demo test check test-other test-versioned lint types imports census mutants schema lock bench clean

demo: $(READY)
	@$(BIN)/python examples/solve/tour.py
	@$(BIN)/python examples/helpful_currents/demo.py
	@$(BIN)/python examples/edges/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not campaign"

# Everything, campaigns included, and a part on another Python; a test that is skipped fails. It
# needs a browser, and the benchmark data in the folder that AUDITCODER_DATA names.
check: lint types imports $(SUITES)
	AUDITCODER_NO_SKIPS=1 $(BIN)/python -m pytest -n auto --dist loadgroup
	@$(MAKE) --no-print-directory test-other

test-other:        ## run the tests that depend on the version of Python on another version
	@if [ -n "$(OTHER_PYTHON)" ]; then \
	  $(MAKE) --no-print-directory test-versioned PYTHON=$(OTHER_PYTHON) VENV=.venv-other; \
	else \
	  echo "Only one version of Python was tested: none of 3.11 to 3.14 is on the path besides it." \
	    "Install another, or name it with OTHER_PYTHON=..." >&2; \
	fi

test-versioned: $(READY)
	AUDITCODER_NO_SKIPS=1 $(BIN)/python -m pytest -n auto --dist loadgroup -m "not campaign and not system_interpreter" \
	  $(VERSIONED:%=tests/%)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

census:            ## count modules, names and lines against their limits
	@$(PYTHON) tools/census.py

mutants: $(READY)  ## remove each condition from the laws; a test must fail
	$(BIN)/python tools/law_mutants.py

schema: $(READY)   ## write the published JSON Schema anew
	$(BIN)/python -m auditcoder schema > docs/reference/trace-4.schema.json

bench: $(READY)
	$(BIN)/python benchmarks/trace.py
	$(BIN)/python benchmarks/sandbox.py
	$(BIN)/python benchmarks/model.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/audit.py

lock:              ## resolve the pinned versions anew (needs uv)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --group dev pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --group suites -c requirements.lock -o requirements-suites.lock

$(READY): requirements.lock pyproject.toml src/auditcoder_bench/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "AuditCoder needs Python 3.11 or newer; set PYTHON=python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation \
	  --editable . --editable src/auditcoder_bench
	@touch $@

$(SUITES): $(READY) requirements-suites.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-suites.lock
	@touch $@

clean:
	rm -rf $(VENV) .venv-other .mypy_cache .ruff_cache .pytest_cache .hypothesis

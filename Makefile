# make demo        BERT from raw text to a served model on CPython's documentation, into demo_output/
# make test        tests of the library and one run of each task (tests/conftest.py defines the tiers)
# make test-quick  tests that start no process
# make test-all    all tests, also those of kills, invalid files, Cloud Storage, Beam, and several processes
# make soak        hundreds of kills: about an hour; make soak SHARE=0.05 runs a twentieth
# make lint        ruff: its rules and its format
# make bench       compares this project with its peers and writes docs/benchmarks.md and docs/peers.png, in less than half
#                  an hour on two cores; make bench PART="serving litert" runs only these
# make clean       deletes everything that make created

# The first of these that runs creates the environment; PYTHON=/path/to/python names another one.
PYTHON ?= python3.13 python3.12 python3.11 python3
VENV ?= .venv
BIN := $(VENV)/bin
# Without --no-compile, pip compiles all modules of TensorFlow; Python compiles those that are imported.
PIP := $(BIN)/pip install -qq --disable-pip-version-check --no-compile -c constraints.txt
SETUP_DONE := $(VENV)/setup-done
TEST_SETUP_DONE := $(VENV)/test-setup-done

.PHONY: setup demo test-setup test test-quick test-all soak lint bench clean

setup: $(SETUP_DONE)

$(SETUP_DONE): pyproject.toml requirements.txt constraints.txt
	@set -e; start=$$(date +%s); \
	check='import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; \
	for python in $(PYTHON) none; do $$python -c "$$check" 2>/dev/null && break || true; done; \
	if [ $$python = none ]; then \
	  found=$$(for name in $(PYTHON); do $$name --version 2>/dev/null | sed "s|^|$$name is |"; done); \
	  echo "Python 3.11, 3.12, or 3.13 with its module ensurepip is required; found:" $${found:-no $(PYTHON)} >&2; \
	  echo "  Debian 12, Ubuntu 24.04, or later: sudo apt install python3 python3-venv" >&2; \
	  echo "  macOS: brew install python@3.13" >&2; \
	  echo "  any other location: make PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	echo "setup: creating $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV); \
	echo "setup: installing the packages of requirements.txt, which takes a minute or two"; \
	$(PIP) -r requirements.txt; \
	$(PIP) --no-deps --no-build-isolation -e .; \
	echo "setup: finished after $$(($$(date +%s) - start)) seconds"
	@touch $@

test-setup: $(TEST_SETUP_DONE)

$(TEST_SETUP_DONE): $(SETUP_DONE)
	@echo "setup: installing what the tests need, such as pytest and Apache Beam"
	@$(PIP) -c requirements.txt --no-build-isolation -e '.[dev]'
	@touch $@

demo: setup
	$(BIN)/python -m run.demo --output_dir=demo_output

PYTEST := $(BIN)/python -m pytest -n auto --dist=loadscope --no-loadscope-reorder --max-worker-restart=0

test: test-setup
	$(PYTEST) -m "not extra_large"

test-quick: test-setup
	$(PYTEST) -m "not large and not extra_large"

test-all: test-setup
	$(PYTEST)

SHARE := 1

soak: test-setup
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python -m tests.robustness.soak --share=$(SHARE)

lint: test-setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

BENCHMARKS := bfloat16 encoder litert packing pretraining_data sentence_splitting serving tokenization training_step \
  vocabulary
PART := $(BENCHMARKS)

bench: export TF_CPP_MIN_LOG_LEVEL := 3
bench: setup
	@number=0; for benchmark in $(PART); do \
	  number=$$((number + 1)); start=$$(date +%s); \
	  echo "== $$number/$(words $(PART)) $$benchmark"; \
	  $(BIN)/python -m benchmarks.$$benchmark || exit 1; \
	  echo "== $$benchmark took $$(($$(date +%s) - start)) seconds"; \
	done
	$(BIN)/python -m benchmarks.page

clean:
	rm -rf .venv* demo_output build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

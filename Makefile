# make demo        BERT from raw text to a served model on CPython's documentation, into demo_output/
# make test        tests of the library and one run of each task (tests/conftest.py defines the tiers)
# make test-quick  tests that start no process
# make test-all    all tests, also those of kills, invalid files, Cloud Storage, Beam, and several processes
# make soak        hundreds of kills: about an hour; make soak SHARE=0.05 runs a twentieth
# make lint        ruff: its rules and its format
# make bench       compares this project with its peers and writes docs/benchmarks.md and docs/peers.png, in about half
#                  an hour on two cores; make bench PART="serving litert" runs only these
# make clean       deletes everything that make created

# The first of these that runs creates the environment. PYTHON=/path/to/python names another Python, and TENSORFLOW=2.21
# another TensorFlow; give it another directory: make setup TENSORFLOW=2.21 VENV=.venv-2.21
PYTHON ?= python3.13 python3.12 python3.11 python3
VENV ?= .venv
TENSORFLOW ?= 2.20
BIN := $(VENV)/bin
PINS := $(VENV)/pins.txt
# Without --no-compile, pip compiles all modules of TensorFlow; setup compiles those that scripts import.
PIP := $(BIN)/pip install -qq --disable-pip-version-check --no-compile -c $(PINS)
SETUP_DONE := $(VENV)/setup-done
TEST_SETUP_DONE := $(VENV)/test-setup-done

ifeq ($(TENSORFLOW),2.20)
EXCEPTIONS :=
INSTALL = $(PIP) -r requirements.txt
INSTALL_TESTS = $(PIP) --no-build-isolation -e '.[dev]'
else
# tf-models-official requires TensorFlow 2.20, so pip cannot install this project together with its dependencies.
EXCEPTIONS := constraints-$(TENSORFLOW).txt
INSTALL = $(PIP) $$(sed -n '/^tf-models-official/d; s/==.*//p' requirements.txt) && $(PIP) --no-deps tf-models-official
INSTALL_TESTS = $(PIP) $$($(BIN)/python -c "import tomllib; \
  extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']; \
  print(*extras['serving'], *extras['test'])")
endif

.PHONY: setup demo test-setup test test-quick test-all soak lint bench clean

setup: $(SETUP_DONE)

$(SETUP_DONE): pyproject.toml requirements.txt constraints.txt $(EXCEPTIONS)
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
	echo "setup: creating $(VENV) with $$($$python --version) and TensorFlow $(TENSORFLOW)"; \
	$$python -m venv --clear $(VENV); \
	awk -F= '/^[^#]/ {if (!($$1 in known) || $$1 == last) print; known[$$1]; last = $$1}' \
	  $(EXCEPTIONS) requirements.txt constraints.txt > $(PINS); \
	echo "setup: installing the packages of requirements.txt, which takes a minute or two"; \
	$(INSTALL); \
	$(PIP) --no-deps --no-build-isolation -e .; \
	echo "setup: compiling what the scripts import"; \
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m run.demo.warm_up; \
	echo "setup: finished after $$(($$(date +%s) - start)) seconds"
	@touch $@

test-setup: $(TEST_SETUP_DONE)

$(TEST_SETUP_DONE): $(SETUP_DONE)
	@echo "setup: installing what the tests need, such as pytest and Apache Beam"
	@$(INSTALL_TESTS)
	@touch $@

demo: setup
	$(BIN)/python -m run.demo --output_dir=demo_output

PYTEST := $(BIN)/python -m pytest -n auto --dist=loadscope --no-loadscope-reorder --max-worker-restart=4

test: test-setup
	$(PYTEST) -m "not extra_large"

test-quick: test-setup
	$(PYTEST)

test-all: test-setup
	$(PYTEST) -m ""

SHARE := 1

soak: test-setup
	$(BIN)/python -m tests.robustness.soak --share=$(SHARE)

lint: test-setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

BENCHMARKS := encoder litert packing pretraining_data sentence_splitting serving tokenization training_step vocabulary
PART := $(BENCHMARKS)

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

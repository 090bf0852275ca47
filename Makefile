# make demo        BERT from raw text to a served model on CPython's documentation, into demo_output/
# make test        tests of the library and one run of each task (tests/conftest.py defines the tiers)
# make test-quick  tests that start no process
# make test-all    all tests, also those of kills, invalid files, Cloud Storage, Beam, and several processes
# make soak        hundreds of kills and requests to a served model: about an hour; make soak SHARE=0.05 runs a twentieth
# make lint        ruff
# make bench       compares this project with its peers and writes docs/benchmarks.md and docs/peers.png, in less than half
#                  an hour on two cores; make bench PART="serving litert" runs only these
# make clean       deletes everything that make created

PYTHON ?= python3.11
BIN := .venv/bin
PIP := $(BIN)/pip install -qq --disable-pip-version-check
SETUP_DONE := .venv/setup-done

.PHONY: setup demo test test-quick test-all soak lint bench clean

setup: $(SETUP_DONE)

$(SETUP_DONE): pyproject.toml requirements.txt constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 is needed, and '$(PYTHON)' is" \
	    "$$($(PYTHON) --version 2>/dev/null || echo not there): try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@set -e; start=$$(date +%s); \
	echo "setup 1/3: creating .venv"; \
	$(PYTHON) -m venv --clear .venv; \
	echo "setup 2/3: installing the packages of requirements.txt, which takes a minute or two"; \
	$(PIP) -r requirements.txt -c constraints.txt; \
	$(PIP) --no-deps --no-build-isolation -e .; \
	echo "setup 3/3: compiling the functions of data_prep"; \
	directory=$$(mktemp -d); \
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python -m data_prep.create_pretraining_data \
	  --input_file=tests/reference/text/corpus.txt --vocab_file=tests/reference/text/vocab.txt \
	  --output_file=$$directory/first.tfrecord > $$directory/log 2>&1 || { cat $$directory/log >&2; exit 1; }; \
	rm -r $$directory; \
	echo "setup finished after $$(($$(date +%s) - start)) seconds"
	@touch $@

demo: setup
	$(BIN)/python -m run.demo --output_dir=demo_output

PYTEST := $(BIN)/python -m pytest -n auto --dist=loadscope --no-loadscope-reorder

test: setup
	$(PYTEST) -m "not extra_large"

test-quick: setup
	$(PYTEST) -m "not large and not extra_large"

test-all: setup
	$(PYTEST)

SHARE := 1

soak: setup
	TF_CPP_MIN_LOG_LEVEL=3 $(BIN)/python -m tests.robustness.soak --share=$(SHARE)

lint: setup
	$(BIN)/ruff check .

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
	rm -rf .venv demo_output build *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

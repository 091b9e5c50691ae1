# `make demo` and `make test` set up everything they need; see README.md.
SHELL  := bash
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: example-thot compare-thot example-hiero example-speech demo test test-all checks lint types docs \
	warm unit unit-all coverage bench experiments fuzz kenlm kernels clean
.DELETE_ON_ERROR:

# Tests start many processes, each of which would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## tune on the bundled lists: table of weights and BLEU, picture of the error surface
	@$(BIN)/tunesmith demo --out demo-out

$(VENV)/.thot: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plot,formats,thot,sil-machine]"
	touch $@ $(VENV)/.demo

example-thot: $(VENV)/.thot  ## train a small phrase-based decoder, tune it, translate with it
	$(BIN)/python examples/thot/train.py
	$(BIN)/python examples/thot/tune.py

compare-thot: $(VENV)/.thot  ## the same model tuned by sil-machine's own tuner (after example-thot)
	test -e examples/thot/model/filtered/smt.cfg || $(BIN)/python examples/thot/train.py
	$(BIN)/python examples/thot/compare.py

TEXT  := examples/catalogs
HIERO := examples/hiero
example-hiero: $(VENV)/.thot  ## train a hierarchical model, tune it on forests, translate with it
	$(BIN)/tunesmith train --source $(TEXT)/train.de.gz --target $(TEXT)/train.en.gz \
		--filter $(TEXT)/tune.de --filter $(TEXT)/dev.de --filter $(TEXT)/test.de \
		--out $(HIERO)/model
	$(BIN)/python $(HIERO)/perplexity.py
	$(BIN)/tunesmith tune --decoder hiero --model $(HIERO)/model --decoder-pop-limit 30 \
		--source $(TEXT)/tune.de --references $(TEXT)/tune.en \
		--dev-source $(TEXT)/dev.de --dev-references $(TEXT)/dev.en \
		--test-source $(TEXT)/test.de --test-references $(TEXT)/test.en \
		--tuner mira --epochs 5 --out $(HIERO)/tuned.json --verbose
	$(BIN)/tunesmith decode --model $(HIERO)/model --weights $(HIERO)/tuned.json \
		--input $(TEXT)/test.de --out $(HIERO)/test.out
	$(BIN)/tunesmith evaluate --hypotheses $(HIERO)/test.out --references $(TEXT)/test.en
	@paste -d '\n' $(TEXT)/test.de $(HIERO)/test.out /dev/null | head -9

$(VENV)/.speech: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plot]" 'pocketsphinx==5.1.1'
	touch $@ $(VENV)/.demo

SPEECH := examples/speech
HEARD  := $(SPEECH)/data
example-speech: $(VENV)/.speech  ## speak, recognise, tune for the word error rate (needs espeak-ng)
	$(BIN)/python $(SPEECH)/recognise.py --out $(HEARD)
	$(BIN)/tunesmith tune --tuner plane --metric wer --normalise score \
		--start $(HEARD)/lists.json --feature words \
		--candidates $(HEARD)/tune.tsv --format nemo:per-source=20 \
		--scores lm=$(HEARD)/tune.lm.txt --references $(HEARD)/tune.ref \
		--test-candidates $(HEARD)/test.tsv --test-scores lm=$(HEARD)/test.lm.txt \
		--test-references $(HEARD)/test.ref --out $(HEARD)/lists.tuned.json
	$(BIN)/tunesmith tune --tuner mert --metric wer --normalise acoustic \
		--start $(HEARD)/lattices.json --feature words \
		--forests $(HEARD)/tune.lat.gz --references $(HEARD)/tune.ref \
		--test-forests $(HEARD)/test.lat.gz --test-references $(HEARD)/test.ref \
		--out $(HEARD)/lattices.tuned.json
	$(BIN)/python $(SPEECH)/compare.py --data $(HEARD)

# How long a part took, and how long processors worked on it.
TIMED = @TIMEFORMAT='$@: %1R s, processors %1U + %1S s'; time
# Compiling kernels takes longest: what runs beside it gives way.
YIELDING = $(TIMED) nice
# What parts print that run beside each other is not mixed; make 3.81, of macOS, cannot do that.
SYNC := $(if $(filter 3.%,$(MAKE_VERSION)),,--output-sync=target)
BESIDE = +@$(MAKE) --no-print-directory --jobs 2 $(SYNC)
PYTEST = $(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 10

test: checks  ## what every commit must pass, in minutes: lint, types, docs, the tests that find most
	+@$(MAKE) --no-print-directory --assume-old=warm unit

test-all: checks  ## everything that must hold: also the tests that take long
	+@$(MAKE) --no-print-directory --assume-old=warm unit-all

checks: $(VENV)/.dev
	$(BESIDE) warm types docs lint

lint: $(VENV)/.dev  ## code by ruff, prose of pages and help by a vocabulary of our own
	$(YIELDING) $(SHELL) -c '$(BIN)/ruff check . && $(BIN)/ruff format --check . && \
		$(BIN)/python -m pytest -q -k plain_english tests/test_words.py'

types: $(VENV)/.dev
	$(YIELDING) $(BIN)/mypy

docs: $(VENV)/.dev
	$(YIELDING) $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

# Tests have compiled kernels of their own, which stay from one run to the next.
warm unit unit-all coverage: export TUNESMITH_CACHE_DIR ?= $(CURDIR)/.kernels

warm: $(VENV)/.dev  ## compile kernels ahead, so that no process of the tests has to
	$(TIMED) $(BIN)/tunesmith doctor --warm

unit: warm
	$(TIMED) $(PYTEST) -m 'not long' --hypothesis-profile quick

# make test-all EXAMPLES=thorough tries three times as many examples of each property.
EXAMPLES ?= all
unit-all: warm
	$(TIMED) $(PYTEST) --hypothesis-profile $(EXAMPLES)

# Compiled kernels are not seen line by line, so those tests run once more interpreted.
INTERPRETED = $(addprefix tests/,data hiero inference metrics search io/text/test_numbers.py io/text/test_utf8.py kernels/test_sorting.py)
coverage: warm  ## which lines and branches the tests run, interpreted kernels included
	$(PYTEST) --hypothesis-profile quick --cov --cov-report=
	NUMBA_DISABLE_JIT=1 TUNESMITH_SHARED_DATA= $(PYTEST) --hypothesis-profile quick \
		-W ignore::RuntimeWarning --cov --cov-append --cov-report= $(INTERPRETED)
	$(BIN)/coverage report --skip-covered --sort cover

bench: $(VENV)/.dev  ## speed, as ratios against named alternatives (needs TUNESMITH_SHARED_DATA)
	$(BIN)/python benchmarks/first_run.py
	$(BIN)/python benchmarks/read.py
	$(BIN)/python benchmarks/mert.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/gradient.py
	$(BIN)/python benchmarks/tune.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/speech.py
	$(BIN)/python benchmarks/extreme.py
	$(BIN)/python benchmarks/plane.py
	$(BIN)/python benchmarks/batch_mira.py
	$(BIN)/python benchmarks/committee.py
	$(BIN)/python benchmarks/loop.py
	$(BIN)/python benchmarks/forest.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/parallel.py
	$(BIN)/python benchmarks/report.py

# make experiments                                  what is done and missing; renders all pages
# make experiments DO='--run --minutes 60'          runs what is missing (needs TUNESMITH_SHARED_DATA)
# make experiments DO='--run --protocol full --pages lp-mert'
DO ?= --render
experiments: $(VENV)/.dev  ## the papers' experiments: what is done, what is missing, how long it takes
	$(BIN)/python experiments/everything.py $(DO)

SECONDS ?= 600
SEED    ?= 0
WORKERS ?= $(shell nproc)
fuzz: $(VENV)/.dev  ## damaged files, random command lines, faults, kills: make fuzz SECONDS=3600 SEED=1
	$(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED) --workers $(WORKERS) \
		--report fuzz-out/report.md

kenlm: $(VENV)/.dev  ## compile KenLM, which tests compare with; they do without where that fails
	$(BIN)/python -c 'import kenlm' 2> /dev/null || \
		timeout 600 $(BIN)/python -m pip install --quiet 'kenlm==0.3.0' || \
		echo 'kenlm is not compiled: its tests are skipped'

kernels:  ## forget the compiled kernels of the tests
	rm -rf .kernels

clean: kernels
	rm -rf $(VENV) build dist docs/_build demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis

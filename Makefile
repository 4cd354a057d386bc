# A thin front: every target is one or two commands that can also be typed. See `make help`.

JOBS ?= $(shell nproc)
# One more: tests wait for processes, disks and events.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
PYTHON := .venv/bin/python
SANITIZERS := asan-ubsan tsan

# Runs the tests of a preset, and compares what they skip with tests/skips.txt.
run_tests = @ctest --preset $(1) -j $(TEST_JOBS) --output-junit $(CURDIR)/build/tests_$(1).xml \
  --test-output-size-passed 1000000; found=$$?; \
  tools/check_skips $(1) build/tests_$(1).xml && exit $$found

# Configuring says nothing unless it fails.
configure = @said=$$(cmake --preset $(1) 2>&1) || { printf '%s\n' "$$said"; exit 1; }

.DEFAULT_GOAL := build
.PHONY: help docs fuzz promela setup setup-development build development python demo test \
  test-development test-nightly test-avx2 test-avx512-core test-sse2 test-onednn test-thread-mode $(SANITIZERS:%=test-%) stress bench bench-long \
  lint format release clean soak valgrind build-coverage coverage mutate nightly

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## install what building and the demo need (Debian packages, .venv, oneDNN)
	@tools/setup

setup-development: ## the same for tests and checks
	@tools/setup --development

build: setup ## the library, the provider and the command, in build/
	$(call configure,release)
	@cmake --build --preset release -j $(JOBS)

development: setup-development ## these with tests, benchmarks and examples, in build/development
	$(call configure,development)
	@cmake --build --preset development -j $(JOBS)

# On a new machine the first text comes before oneDNN is built.
demo: ## read three lines of text from a picture, and show the cache table: by the engine native, then by onednn
	@tools/setup --without-onednn
	@tools/install_python
	@$(PYTHON) examples/read_text.py --engine native
	@tools/setup
	@tools/install_python
	@echo && $(PYTHON) examples/read_text.py --engine onednn

test: test-development test-avx2 test-avx512-core test-sse2 test-onednn test-thread-mode $(SANITIZERS:%=test-%) ## all tests, once more by parts with other instruction sets, a cache for each thread, and under the sanitizers

fuzz: setup-development python ## libFuzzer on what reads strangers' bytes, random graphs and chains: SECONDS=60 for each
	$(call configure,fuzz)
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz $(or $(SECONDS),60)

promela: setup-development ## Spin on all models of tests/promela; writes searched.txt
	@cd tests && LK_PROMELA=record ../$(PYTHON) -m pytest -q -p no:cacheprovider promela/test_models.py

valgrind: development ## some tests under Valgrind: reads of memory that was never written
	@tools/valgrind

# Both drive the libraries of this build from Python too, by way of the package in .venv.
build-coverage: setup-development python
	$(call configure,coverage)
	@cmake --build --preset coverage -j $(JOBS)

coverage: build-coverage ## lines that the tests reach, by folder, and a report; fails where they are too few
	@$(PYTHON) tools/coverage --jobs $(JOBS)

mutate: build-coverage ## change the code at random and count what the tests notice: COUNT=200 SEED=1
	@$(PYTHON) tools/mutate --jobs $(JOBS) --count $(or $(COUNT),200) --seed $(or $(SEED),1)

stress: development ## the stress test for 10 minutes; `make test` runs it for 20 seconds
	@ctest --preset stress --verbose

soak: development ## sessions at full load for an hour and a million requests; `make test` has 12 seconds
	@ctest --preset soak --verbose

test-nightly: development ## tests of which `make test` runs less: orders in which processes end, huge shares of work
	@ctest --preset nightly

nightly: ## what is too long for each change, some hours: all of Spin's searches, stress, soak, orders of exit, fuzzing, Valgrind, coverage, mutants
	@$(MAKE) promela stress soak test-nightly valgrind coverage mutate
	@$(MAKE) fuzz SECONDS=600

bench: development python ## the benchmarks, with their ratios
	@benchmarks/run

bench-long: development python ## the same with more repeats and 300 random shapes
	@benchmarks/run --long

lint: development python ## format, clang-tidy, include directions, exported symbols, shell scripts, docs
	@tools/lint

docs: development python ## the site of the docs, in build/docs/; opens it where there is a display
	@$(PYTHON) tools/build_docs --open

release: development python ## what a release is given away as, in dist/: wheel, sdist, archive for C, docs, checksums; tried in an empty environment and prefix
	@tools/release --check

format: ## rewrite the C and C++ files in the one style
	@tools/lint --fix

clean: ## remove what the build made; set-up stays
	rm -rf build

# The Python package, installed in .venv from this folder.
python: setup
	@tools/install_python

test-development: development python
	$(call run_tests,development)

# What kernels do on a machine without AVX-512.
test-avx2: test-development
	$(call run_tests,avx2)

# What kernels do on a machine with AVX-512 and without VNNI, bf16 and VBMI.
test-avx512-core: test-development
	$(call run_tests,avx512-core)

# What kernels do on a machine without AVX2.
test-sse2: test-development
	$(call run_tests,sse2)

# What the engine onednn computes: tests that leave the engine to the environment run with it.
test-onednn: test-development
	$(call run_tests,onednn)

# What hosts get that choose per-thread mode: tests that leave the mode to the environment run with it.
test-thread-mode: test-development
	$(call run_tests,thread-mode)

$(SANITIZERS:%=test-%): test-%: setup-development
	$(call configure,$*)
	@cmake --build --preset $* -j $(JOBS)
	$(call run_tests,$*)

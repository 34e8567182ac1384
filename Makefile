# The short way in; the build itself is CMake (see CMakeLists.txt). `make help` lists the commands.
.NOTPARALLEL:
.PHONY: help demo check check-all check-long fuzz format format-check clean
.DEFAULT_GOAL := help

FUZZ_SECONDS ?= 10

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: ## install what is missing, build, check the linear Poisson problem
	@scripts/install-dependencies.sh build
	@scripts/build.sh build
	build/rpinn check poisson-linear
	@echo "That was build/rpinn; 'build/rpinn list' shows what else is there. Results are printed above."

check: ## install what is missing, build with gcc and clang, run every test, sanitizers, short fuzzing
	@scripts/install-dependencies.sh build test
	@scripts/format.sh --check
	@scripts/test.sh build-gcc -DCMAKE_C_COMPILER=gcc
	@scripts/test.sh build-clang -DCMAKE_C_COMPILER=clang
	@scripts/test.sh build-sanitize -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 \
	  -DRPINN_SANITIZE=address,undefined
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz
	@echo "make check: everything passed"

check-all: check ## the same and whatever needs heavy packages: our files in ArviZ, xarray and VTK
	@scripts/install-dependencies.sh python
	@scripts/python-tests.sh build-gcc

check-long: FUZZ_SECONDS = 600
check-long: check ## an evening: long tests, and ten minutes of fuzzing per target
	@RPINN_TEST_LABELS="-L long" scripts/test.sh build-gcc

fuzz: ## fuzz every target for FUZZ_SECONDS (default 10)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz

format: ## format all C sources
	@scripts/format.sh

format-check: ## say which C sources are not formatted
	@scripts/format.sh --check

clean: ## remove everything that was built
	rm -rf build build-*

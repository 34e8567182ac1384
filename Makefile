# The short way in; the build itself is CMake (see CMakeLists.txt). `make help` lists the commands.
.NOTPARALLEL:
.PHONY: help demo check check-all check-more check-long mutants fuzz docs bench bench-overhead bench-peers bench-optimizers python bench-python format format-check clean
.DEFAULT_GOAL := help

FUZZ_SECONDS ?= 10

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: ## install what is missing, build, run the linear Poisson problem, say where the report is
	@scripts/install-dependencies.sh build
	@scripts/build.sh build
	@rm -rf results/demo
	@build/rpinn run poisson-linear --out results/demo

# Scripts that run the program do so as gcc made it, and as clang made it with sanitizers; the examples of the documents as gcc made it.
check: ## install what is missing, build with gcc and clang, run every test, sanitizers, short fuzzing
	@scripts/install-dependencies.sh build test
	@scripts/format.sh --check
	@scripts/test.sh build-gcc -DCMAKE_C_COMPILER=gcc
	@RPINN_TEST_LABELS="-LE long|cli|docs" scripts/test.sh build-clang -DCMAKE_C_COMPILER=clang -DRPINN_CUDA=OFF
	@RPINN_TEST_LABELS="-LE long|docs" scripts/test.sh build-sanitize -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 \
	  -DRPINN_SANITIZE=address,undefined -DRPINN_CUDA=OFF
	@RPINN_TEST_LABELS="-L threads" scripts/test.sh build-thread -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_C_FLAGS=-O1 -DRPINN_SANITIZE=thread -DRPINN_CUDA=OFF
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz
	@echo "make check: everything passed"

check-all: check check-more ## make check and make check-more

check-more: ## after make check: the whole paper at the scale quick, reports in Chromium, our files in ArviZ, xarray and VTK, the Python package, job scripts in Slurm
	@scripts/install-dependencies.sh python browser
	@scripts/install-dependencies.sh slurm || echo "make check-more: without Slurm, job scripts are not tried"
	@tests/paper/quick.sh build-gcc
	@tests/browser/run.sh build-gcc
	@scripts/python-tests.sh build-gcc
	@scripts/python-package.sh build-gcc/rpinn
	@tests/slurm/run.sh build-gcc
	@echo "make check-more: everything passed"

python: ## build the Python package as a wheel with its libraries inside, and test it
	@scripts/install-dependencies.sh build python
	@scripts/build.sh build
	@RPINN_PYTHON_MORE="jax blackjax" scripts/python-package.sh build/rpinn

check-long: FUZZ_SECONDS = 600
check-long: check ## an evening: long tests, and ten minutes of fuzzing per target
	@RPINN_TEST_LABELS="-L long" scripts/test.sh build-gcc

mutants: ## put known faults into a copy of the tree and say which the tests find, see tests/mutants/README.md
	@tests/mutants/run.sh tests/mutants/*.tsv

fuzz: ## fuzz every target for FUZZ_SECONDS (default 10)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz

docs: ## write what is made from the sources: settings page, manual page, completions
	@scripts/build.sh build -DRPINN_TESTS=ON
	@mkdir -p man completion
	$(call generate,settings_page,docs/settings.md)
	$(call generate,manual_page,man/rpinn.1)
	$(call generate,completion bash,completion/rpinn.bash)
	$(call generate,completion zsh,completion/_rpinn)

# A generator that fails leaves the old file.
generate = build/tests/docs/$(1) > $(2).part && mv $(2).part $(2)

bench: ## measure speed against bare matrix products, see bench/README.md
	@scripts/build.sh build
	build/rpinn bench

bench-overhead: ## a whole run of 5000 members against its iterations alone; peak memory
	@scripts/build.sh build
	@python3 bench/overhead/overhead.py build/rpinn

bench-peers: ## Adam and Levenberg-Marquardt against JAX and NUTS against NumPyro, where they can be imported
	@bench/peers/run.sh

bench-optimizers: ## loss against time for Adam, L-BFGS and Levenberg-Marquardt: figure and table
	@bench/optimizers/run.sh

bench-python: ## a call of the energy from Python beside the same in C, after make python
	@scripts/build.sh build -DRPINN_BENCH_PROGRAMS=ON
	@build-python/package-$$($${RPINN_PYTHON:-python3} -c 'import sys; print(f"py{sys.version_info[0]}{sys.version_info[1]}")')/bin/python bench/python/overhead.py build/bench_energy_call

format: ## format all C sources
	@scripts/format.sh

format-check: ## say which C sources are not formatted
	@scripts/format.sh --check

clean: ## remove everything that was built
	rm -rf build build-*

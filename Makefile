# The front door. Each target installs what it lacks from Debian and builds what it needs, all of it
# below build/. CMake does the compiling; the lists of packages have their one place here.
PACKAGES_build = build-essential cmake lua5.4 liblua5.4-dev libopenblas-dev libfftw3-double3 \
                 libfftw3-single3 zlib1g-dev libpng-dev libedit-dev
PACKAGES_test = lua-busted pkg-config
PACKAGES_lint = lua-check clang clang-format git
PACKAGES_fuzz = clang libclang-rt-14-dev
PACKAGES_cross = gcc-aarch64-linux-gnu libc6-dev-arm64-cross
PACKAGES_rock = luarocks git

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
EPOCHS ?= 3
SECONDS ?= 60
LUA = lua5.4
PYTHON ?= /usr/bin/python3
export LUA_PATH = $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;
export LUA_CPATH = $(CURDIR)/build/?.so;;
unexport LUA_PATH_5_4 LUA_CPATH_5_4

.DEFAULT_GOAL = build
.PHONY: build demo test test-all bench lint fuzz cross env docs parity parity-report rock help clean

build/.need-%: Makefile src/tools/need.sh
	@src/tools/need.sh $(PACKAGES_$*)
	@mkdir -p build && touch $@

# $(call compile,preset,folder,options): configures the first time and builds.
compile = @test -f $(2)/CMakeCache.txt || cmake --preset $(1) >build/configure-$(1).log 2>&1 || \
	  { cat build/configure-$(1).log; rm -f $(2)/CMakeCache.txt; exit 1; }; \
	cmake --build $(2) -j $(JOBS) $(3) -- --no-print-directory

build: build/.need-build ## the library, the Lua module, the lucerna command
	$(call compile,release,build)

# Warnings are errors in it.
build-asan: build/.need-build
	$(call compile,asan,build/asan,--target all c_tests)

build-asan-all: build/.need-build
	@cmake --preset asan -DLUCERNA_SANITIZE_ALL=ON >build/configure-asan.log
	$(call compile,asan,build/asan,--target all c_tests)

build-tsan: build/.need-build
	$(call compile,tsan,build/tsan,--target all lua_runner)

build-tests: build
	$(call compile,release,build,--target c_tests)
.PHONY: build-asan build-asan-all build-tsan build-tests

# Trains the LeNet of examples/mnist.lua on the bundled digits.
demo: build ## trains a LeNet on the bundled digits (EPOCHS=3)
	@$(LUA) examples/mnist.lua --epochs $(EPOCHS)

# The suites, and short forms of the runs that make them fail: constant garbage collection,
# sanitizers, refused allocations.
test: build-tests build-asan build/.need-test ## all tests; the long runs in a short form
	@$(LUA) tests/run.lua

# The same, nothing shortened, and what threads share.
test-all: build-tests build-asan-all build-tsan build/.need-test ## all tests in full
	@$(LUA) tests/run.lua --all

# Ours beside PyTorch (when python3-torch is there), in turn. FILTER=name runs some, ROUNDS=n times
# (5), PYTHON=python beside another PyTorch. FILTER=operators: nearly every operator and layer.
bench: build ## the benchmarks beside PyTorch (FILTER=, ROUNDS=5, PYTHON=)
	@$(LUA) tests/bench/run.lua $(if $(FILTER),'$(subst ','\'',$(FILTER))')

lint: build-asan build/.need-lint ## warnings as errors, formats, the house rules
	@$(LUA) tests/lint.lua

# Fuzzes each reader of src/io for SECONDS; READERS="csv png" some of them.
fuzz: build build/.need-fuzz ## libFuzzer on the readers of files (SECONDS=60, READERS=)
	@LUA=$(LUA) tests/fuzz/run.sh $(SECONDS) $(READERS)

# Compiles for aarch64, where every kernel is plain C.
cross: build/.need-build build/.need-cross ## compiles for aarch64
	@tests/cross.sh

# For a plain lua5.4: eval "$$(make env)"
env: ## prints what lets a plain lua5.4 use the build
	@$(MAKE) --no-print-directory build >&2
	@echo "export LUA_PATH='$(LUA_PATH)'"
	@echo "export LUA_CPATH='$(LUA_CPATH)'"

# Builds and installs the rock into an empty tree and uses it from another folder.
rock: build/.need-build build/.need-rock ## installs the rock into an empty tree and uses it
	@tests/rock.sh

# What of PyTorch is here, by group; fails for a name without a recorded case.
parity-report: build ## how much of PyTorch is here, by group
	@LUA_PATH="$(CURDIR)/tests/lua/?.lua;$(LUA_PATH)" $(LUA) tests/parity/report.lua

# What goes between PyTorch and us, with PyTorch itself (Debian: python3-torch).
parity: build ## exchanges checkpoints and tensors with PyTorch itself
	@for check in tests/parity/check_*.py; do $(PYTHON) $$check || exit 1; done

docs: build ## the reference and types for editors, in build/docs
	@$(LUA) src/tools/docs.lua

# Every target with what stands after its ##.
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

clean: ## removes build/
	rm -rf build build.luarocks

# The front door. Each target installs what it lacks from Debian and builds what it needs, all of it
# below build/. CMake does the compiling; the lists of packages have their one place here.
PACKAGES_build = build-essential cmake lua5.4 liblua5.4-dev libopenblas-dev libfftw3-double3 \
                 libfftw3-single3 zlib1g-dev libpng-dev libedit-dev
PACKAGES_test = lua-busted
PACKAGES_lint = lua-check clang-format git
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
.PHONY: build demo test test-all bench lint fuzz cross env docs parity parity-report rock clean

build/.need-%: Makefile src/tools/need.sh
	@src/tools/need.sh $(PACKAGES_$*)
	@mkdir -p build && touch $@

# $(call compile,preset,folder,options): configures the first time and builds.
compile = @test -f $(2)/CMakeCache.txt || cmake --preset $(1) >build/configure-$(1).log 2>&1 || \
	  { cat build/configure-$(1).log; rm -f $(2)/CMakeCache.txt; exit 1; }; \
	cmake --build $(2) -j $(JOBS) $(3) -- --no-print-directory

build: build/.need-build
	$(call compile,release,build)

# Warnings are errors in it.
build-asan: build/.need-build
	$(call compile,asan,build/asan,--target all c_tests)

build-tests: build
	$(call compile,release,build,--target c_tests)
.PHONY: build-asan build-tests

# Trains the LeNet of examples/mnist.lua on the bundled digits.
demo: build
	@$(LUA) examples/mnist.lua --epochs $(EPOCHS)

# The suites, and short forms of the runs that make them fail: constant garbage collection,
# sanitizers, refused allocations.
test: build-tests build-asan build/.need-test
	@$(LUA) tests/run.lua

# The same, nothing shortened.
test-all: build-tests build-asan build/.need-test
	@$(LUA) tests/run.lua --all

# Ours beside PyTorch (when python3-torch is there), in turn. FILTER=name runs some, ROUNDS=n times
# (5), PYTHON=python beside another PyTorch. FILTER=operators: nearly every operator and layer.
bench: build
	@$(LUA) tests/bench/run.lua $(FILTER)

lint: build-asan build/.need-lint
	@$(LUA) tests/lint.lua

# Fuzzes each reader of src/io for SECONDS; READERS="csv png" some of them.
fuzz: build build/.need-fuzz
	@LUA=$(LUA) tests/fuzz/run.sh $(SECONDS) $(READERS)

# Compiles for aarch64, where every kernel is plain C.
cross: build/.need-build build/.need-cross
	@tests/cross.sh

# For a plain lua5.4: eval "$$(make env)"
env:
	@$(MAKE) --no-print-directory build >&2
	@echo "export LUA_PATH='$(LUA_PATH)'"
	@echo "export LUA_CPATH='$(LUA_CPATH)'"

# Builds and installs the rock into an empty tree and uses it from another folder.
rock: build/.need-build build/.need-rock
	@tests/rock.sh

# What of PyTorch is here, by group; fails for a name without a recorded case.
parity-report: build
	@LUA_PATH="$(CURDIR)/tests/lua/?.lua;$(LUA_PATH)" $(LUA) tests/parity/report.lua

# What goes between PyTorch and us, with PyTorch itself (Debian: python3-torch).
parity: build
	@for check in tests/parity/check_*.py; do $(PYTHON) $$check || exit 1; done

docs: build
	@$(LUA) src/tools/docs.lua

clean:
	rm -rf build build.luarocks

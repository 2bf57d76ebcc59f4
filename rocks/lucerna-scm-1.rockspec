-- The rock, made from a checkout: luarocks --lua-version=5.4 make rocks/lucerna-scm-1.rockspec
-- CMake builds and installs; nothing is fetched. liblua is not linked into the module. OpenBLAS
-- (lucerna.linalg) and FFTW (lucerna.fft; GPL) are loaded at run time, when a function first needs
-- them: Debian's libopenblas0, libfftw3-double3 and libfftw3-single3.
rockspec_format = "3.0"
package = "lucerna"
version = "scm-1"
source = { url = "." }
description = {
  summary = "PyTorch's nn.Module system for stock Lua 5.4",
  detailed = "Tensors, automatic differentiation, modules, optimizers and data loading: a C11 core "
    .. "and a thin Lua binding whose metatables register parameters and submodules on assignment.",
  license = "MIT",
  labels = { "machine-learning", "tensor", "autograd" },
}
supported_platforms = { "unix" }
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = { ZLIB = { header = "zlib.h" } }
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)",
    BINDIR = "$(BINDIR)",
    LUCERNA_TESTS = "OFF",
    LUCERNA_INSTALL_C = "OFF",
  },
  copy_directories = {},
}
test = { type = "command", command = "make test" }

#!/bin/sh
# Installs the rock from a clean copy of the checkout into an empty tree, with no network, and uses
# the result from another folder.
set -e
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/tree" "$work/elsewhere"
git ls-files -z | grep -zv '^examples/data/' | xargs -0 tar cf - | tar xf - -C "$work/src"
mkdir -p "$root/build/log"
cd "$work/src"
if ! http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 \
  CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) luarocks --lua-version=5.4 make --tree "$work/tree" \
  rocks/lucerna-scm-1.rockspec >"$root/build/log/rock.log" 2>&1; then
  cat "$root/build/log/rock.log"
  exit 1
fi
cd "$work/elsewhere"
LUA_PATH="$work/tree/share/lua/5.4/?.lua;$work/tree/share/lua/5.4/?/init.lua" \
  LUA_CPATH="$work/tree/lib/lua/5.4/?.so" lua5.4 -e '
  local lucerna = require "lucerna"
  local nn = lucerna.nn
  local y = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))(lucerna.rand(1, 4))
  assert(y:size(2) == 2)
  y:sum():backward()
  print("rock: installed and used", lucerna._VERSION)'

if [ -x "$work/tree/bin/lucerna" ]; then
  test "$(env -u LUA_PATH -u LUA_CPATH "$work/tree/bin/lucerna" -e '
    print(require("lucerna").ones(2):sum():item())')" = 2.0
fi

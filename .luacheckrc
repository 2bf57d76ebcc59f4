-- luacheck's settings: Lua 5.4, 100 columns; specs also have busted's globals.
std = "lua54"
max_line_length = 100
self = false
exclude_files = { "build", "tests/parity/data" }
files["**/*_spec.lua"] = { std = "lua54+busted" }

-- Writes build/docs/: lucerna.lua, types for editors, and the reference, a page for each family of
-- names. Everything comes from what the library itself knows of its names.

local reference = dofile "src/tools/reference.lua"
local stubs = dofile "src/tools/stubs.lua"

os.execute("rm -rf build/docs && mkdir -p build/docs")
stubs.write("build/docs/lucerna.lua")
reference.write("build/docs")
print("build/docs/lucerna.lua (types for editors), build/docs/index.md (the reference)")

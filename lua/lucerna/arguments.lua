-- Arguments of functions written in Lua, by the rules of the whole API: positional ones in order,
-- then a table of keyword arguments; unknown and repeated names are errors that say so.

local core = require "lucerna.core"

--- arguments(who, names, ...) returns the values in the order of names, as many as were given or
-- more, with nil in the place of lucerna.none. Errors are raised at the line of the user's code. A
-- last table with string keys holds keyword arguments; so does an empty one that is given for the
-- parameter names.options or a later one, which take no tables.
return core._arguments

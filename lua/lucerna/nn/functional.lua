-- lucerna.nn.functional: the operators that the table marks as such; all of them are written in C.

return require("lucerna.core").functional

-- lucerna.fft: the operators that the table names so.

return require("lucerna.core").fft

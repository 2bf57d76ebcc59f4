-- Examples of initializers; their texts are the comments in lucerna.nn.init.
local entries = { title = "Initializers" }

local CALLS = {
  "uniform_(w, -1, 1)", "normal_(w, 0, 0.02)", "constant_(w, 0.5)", "ones_(w)", "zeros_(w)",
  "eye_(w)", "xavier_uniform_(w)", "xavier_normal_(w, {gain = 2})",
  "kaiming_uniform_(w, {nonlinearity = 'relu'})", "kaiming_normal_(w, {mode = 'fan_out'})",
  "trunc_normal_(w, {std = 0.02})", "orthogonal_(w)", "sparse_(w, 0.5)",
}
for i, call in ipairs(CALLS) do
  local text = "> local w = nn.Linear(4, 3).weight\n> nn.init." .. call
  entries[i] = { "nn.init." .. call:match("^[%w_]+"), text }
end
table.insert(entries, { "nn.init.dirac_", "> nn.init.dirac_(nn.Conv2d(3, 3, 3).weight)" })
table.insert(entries, { "nn.init.calculate_gain",
  "> assert(nn.init.calculate_gain('tanh') == 5 / 3)" })

return entries

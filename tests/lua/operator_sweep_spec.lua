-- Every operator on all its dtypes, with nothing along a dimension, with 0-d tensors, and with
-- memory in other orders: sweep.lua says how, tests/parity/gen_sweep.py what PyTorch answers.
local parity = require "parity"
local sweep = require "sweep"

-- Where we answer otherwise on purpose, by function and kind of tensors ("*": any): why.
local OTHERWISE = {
  [".cholesky"] = {["nothing last"] = "PyTorch calls anything without elements square"},
  cholesky = {["nothing last"] = "the same"},
  cholesky_inverse = {complex64 = "LAPACK takes a factor's diagonal for real"},
  [".cholesky_inverse"] = {complex64 = "the same"},
  ["linalg.cond"] = {["nothing first"] = "the same", ["nothing last"] = "the same"},
  ["linalg.matrix_rank"] = {["nothing first"] = "the same", ["nothing last"] = "the same"},
  ["linalg.pinv"] = {["nothing first"] = "the same", ["nothing last"] = "the same"},
  ["linalg.matrix_norm"] = {["nothing first"] = "PyTorch 1.13 refuses the norm of no rows",
    ["nothing last"] = "and of no columns"},
  ["linalg.norm"] = {["nothing first"] = "the same", ["nothing last"] = "the same"},
  ["F.batch_norm"] = {["nothing first"] = "PyTorch leaves statistics unchecked without elements",
    ["nothing last"] = "no channels are no failure"},
  ["F.conv3d"] = {["nothing last"] = "the padding is an input like any"},
  ["F.conv_tbc"] = {["nothing first"] = "a kernel longer than the input, as in conv1d"},
  ["F.cosine_similarity"] = {float16 = "eps is 0 in float16: the similarity of zeros is NaN"},
  ["F.normalize"] = {float16 = "the same"},
  ["F.embedding_bag"] = {["nothing last"] = "bags of nothing are no failure"},
  ["F.hinge_embedding_loss"] = {["*"] = "the margin is a real number, 1.0"},
  ["F.pixel_unshuffle"] = {["nothing first"] = "PyTorch 1.13 gives the input's shape back",
    ["nothing last"] = "the same"},
  ["F.triplet_margin_loss"] = {uint8 = "equal distances of some hundreds, but for the last bit"},
  ["F.softsign"] = {uint8 = "PyTorch's 255 + 1 is 0"},
  all = {complex64 = "PyTorch 1.13 looks at the real part alone"},
  dot = {complex64 = "Debian's PyTorch gives 0"}, vdot = {complex64 = "the same"},
  clamp = {uint8 = "PyTorch wraps -1 to 255"},
  cummax = {single = "PyTorch takes any dim of a 0-d tensor"},
  cummin = {single = "the same"},
  diag = {["nothing first"] = "PyTorch 1.13 refuses the diagonal of an empty matrix"},
  index_add = {bool = "PyTorch leaves bool unchecked"},
  ["linalg.lstsq"] = {["nothing last"] = "what nothing explains remains"},
  ["linalg.tensorinv"] = {single = "a 0-d tensor is a matrix of one element"},
  repeat_interleave = {int32 = "positions are int64 here", single = "0-d counts as 1-d"},
  [".stft"] = {["nothing first"] = "PyTorch 1.13 cannot reflect what has no elements"},
  roll = {single = "0-d counts as 1-d"},
  trapezoid = {uint8 = "the sum of the ends wraps in PyTorch"},
}

for name in ("fft ifft rfft ihfft fftn ifftn rfftn irfftn hfftn ihfftn"):gmatch("%S+") do
  OTHERWISE["fft." .. name] = {["nothing first"] = "PyTorch 1.13 cannot pad what has no elements",
    ["nothing last"] = "the same", single = "of no dimensions it is the number itself"}
end

-- Gradients in half precision.
local HALF_OTHERWISE = {
  ["F.scaled_dot_product_attention"] = "the mask's gradient is a difference of equal numbers",
}

-- What is about memory.
local LAYOUT_OTHERWISE = {
  [".view"] = "needs memory in order", view_as_complex = "the same",
  as_strided = "reads memory as it lies",
  ["F.embedding"] = "max_norm writes the weight", ["F.embedding_bag"] = "the same",
}

-- What gen_sweep.py takes its calls from (it reads gen_nn.py, too).
local FILES = {"create", "index_ops", "pointwise", "reduce", "view", "views", "rest",
  "functional_conv", "functional_activation", "functional_loss", "functional_ctc",
  "functional_pool", "functional_distance", "functional_resize", "functional_grid",
  "functional_attention", "linalg", "special", "reductions"}

-- Rows without a call here.
local UNSWEPT = {
  T = "a field, checked against transpose", mT = "a field, checked against transpose",
  view_dtype = "needs memory in order", as_strided_scatter = "writes memory as it lies",
  empty_like = "its values are arbitrary", new_empty = "its values are arbitrary",
}
for name in ([[rand_like randn_like randint_like randint_like_low normal normal_std bernoulli
  bernoulli_p multinomial uniform_ normal_ log_normal_ cauchy_ exponential_ geometric_ bernoulli_
  random_ random_to_ random_from_ poisson binomial standard_gamma sample_dirichlet dropout dropout1d
  dropout2d dropout3d gumbel_softmax fractional_max_pool2d_with_indices fractional_max_pool3d
  fractional_max_pool3d_with_indices]]):gmatch("%S+") do
  UNSWEPT[name] = "draws"
end

-- Under autocast, where 1.13's lists are not those of 2.9, or what we compose is one piece there.
local AUTOCAST_OTHERWISE = {
  ["F.conv_transpose1d"] = "half precision since 2.0", ["F.conv_transpose2d"] = "the same",
  ["F.conv_transpose3d"] = "the same", ["F.prelu"] = "the same", ["linalg.vecdot"] = "the same",
  ["F.local_response_norm"] = "PyTorch goes through avg_pool3d",
  ["F.pad"] = "reflected values are what they were", ["linalg.norm"] = "as linalg.vector_norm",
  ["linalg.pinv"] = "PyTorch multiplies in half precision what it has factored in float32",
}

local function otherwise(case, variant)
  local why = OTHERWISE[case.fn]
  if variant:find("^autocast") then return AUTOCAST_OTHERWISE[case.fn] end
  return why and (why[variant] or why["*"])
end

local function variants(case)
  local wrong = {}
  for _, variant in ipairs(sweep.VARIANTS) do
    local want = case[variant]
    local what = want and not otherwise(case, variant) and sweep.fails(case, variant, want)
    if what then wrong[#wrong + 1] = variant .. ": " .. what end
  end
  return table.concat(wrong, "; ")
end

describe("with other tensors,", function()
  local calls = parity.load("sweep")

  for i, case in ipairs(calls) do
    it(("%s (%d)"):format(case.fn, i), function()
      assert.equal("", variants(case))
      if not LAYOUT_OTHERWISE[case.fn] then sweep.check_layouts(case) end
      sweep.check_in_place(case)
      if case.fn:sub(-1) ~= "_" then sweep.check_edge_gradients(case, otherwise) end
      local real = case.of == "float64" or case.of == "float32"
      if not real or case.fn:sub(-1) == "_" or HALF_OTHERWISE[case.fn] then return end
      for _, half in ipairs {"float16", "bfloat16"} do
        if case[half] then sweep.half_gradients(case, half) end
      end
    end)
  end

  -- A newer operator's recorded calls are at least tried with memory in other orders; run
  -- tests/parity/gen_sweep.py to have it above.
  it("so are operators that have no call above", function()
    local seen = {}
    for _, case in ipairs(calls) do seen[sweep.row(case)] = true end
    for name in pairs(UNSWEPT) do assert(not seen[name], name .. " has a call") end
    for _, file in ipairs(FILES) do
      for _, case in ipairs(parity.load(file)) do
        local row = case.fn and not case.error and not case.seed and sweep.row(case)
        if row and not seen[row] and not UNSWEPT[row] then sweep.check_layouts(case) end
      end
    end
  end)
end)

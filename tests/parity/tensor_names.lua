-- The tensor library as PyTorch documents it: names of torch and of Tensor, which stand in one
-- space here (place ""), in-place forms, metamethods, torch.fft and torch.special. What the fields
-- of a group mean is said in names.lua; besides, `spelled` names the metamethod or method that
-- stands for one of Python's, and `absent` says why a name is not here.

local OPERATORS = {"^create$", "^index", "^pointwise$", "^random$", "^reduce$", "^view", "^rest$",
  "^linalg$", "^nn_", "^members$", "^complex", "^special", "^reductions$", "^fft", "^windows$",
  "^buffer$", "^composites$"}

return {
  {title = "tensors: creation", place = "", files = OPERATORS,
   absent = {from_numpy = "no NumPy: frombuffer takes strings and userdata"},
   names = [[
     tensor as_tensor from_numpy frombuffer asarray zeros ones empty full eye arange linspace
     logspace range zeros_like ones_like empty_like full_like empty_strided complex polar
     tril_indices triu_indices meshgrid cartesian_prod combinations vander hann_window
     hamming_window blackman_window bartlett_window kaiser_window diag_embed block_diag]],
  },
  {title = "tensors: new_*", place = "", files = OPERATORS,
   names = [[
     new_tensor new_zeros new_ones new_empty new_full clone detach detach_]],
  },
  {title = "tensors: random", place = "", files = OPERATORS,
   names = [[
     manual_seed seed initial_seed get_rng_state set_rng_state Generator rand randn randint
     randperm rand_like randn_like randint_like normal bernoulli multinomial poisson uniform_
     normal_ bernoulli_ random_ exponential_ geometric_ cauchy_ log_normal_]],
  },
  {title = "tensors: indexing", place = "", files = OPERATORS,
   names = [[
     index_select masked_select gather scatter scatter_ scatter_add scatter_add_ scatter_reduce
     index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_
     masked_fill masked_fill_ masked_scatter masked_scatter_ take take_along_dim put_ where
     nonzero argwhere select narrow index_reduce select_scatter slice_scatter diagonal_scatter
     fill_diagonal_ bucketize searchsorted as_strided_scatter
     unravel_index]],
  },
  {title = "tensors: view/shape", place = "", files = OPERATORS,
   names = [[
     view view_as reshape reshape_as flatten unflatten ravel squeeze squeeze_ unsqueeze unsqueeze_
     transpose transpose_ t T mT H swapaxes swapdims permute movedim moveaxis expand expand_as
     broadcast_to broadcast_tensors broadcast_shapes repeat repeat_interleave tile contiguous
     is_contiguous as_strided unfold diagonal diag diagflat tril triu flip fliplr flipud roll
     rot90 narrow_copy view_as_real view_as_complex real imag resize_ resize_as_ stride
     storage_offset sum_to_size size shape numel nelement dim ndim ndimension element_size nbytes
     data_ptr]],
  },
  {title = "tensors: join/split", place = "", files = OPERATORS,
   names = [[
     cat concat concatenate stack hstack vstack dstack column_stack row_stack split chunk
     tensor_split hsplit vsplit dsplit split_with_sizes unbind]],
  },
  {title = "tensors: pointwise-arith", place = "", files = OPERATORS,
   names = [[
     add sub subtract mul multiply div divide true_divide floor_divide remainder fmod neg negative
     positive abs absolute sign sgn signbit reciprocal square sqrt rsqrt pow float_power exp exp2
     expm1 log log2 log10 log1p logaddexp logaddexp2 ceil floor round trunc fix frac clamp
     clamp_min clamp_max clip lerp addcmul addcdiv hypot ldexp frexp copysign nextafter gcd lcm
     xlogy nan_to_num heaviside maximum minimum fmax fmin deg2rad rad2deg]],
  },
  {title = "tensors: pointwise-trig/special", place = "", files = OPERATORS,
   names = [[
     sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sinc erf erfc erfinv lgamma
     digamma polygamma mvlgamma igamma igammac i0 sigmoid logit relu]],
  },
  {title = "tensors: in-place forms", place = "", files = OPERATORS,
   names = [[
     add_ sub_ mul_ div_ pow_ neg_ abs_ exp_ log_ sqrt_ rsqrt_ clamp_ clamp_min_ clamp_max_ floor_
     ceil_ round_ trunc_ sigmoid_ tanh_ relu_ addcmul_ addcdiv_ lerp_ zero_ fill_ copy_ set_ t_
     tril_ triu_ cumsum_ requires_grad_ erfinv_ reciprocal_ square_ nan_to_num_]],
  },
  {title = "tensors: bitwise/logical", place = "", files = OPERATORS,
   names = [[
     bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
     logical_and logical_or logical_xor logical_not]],
  },
  {title = "tensors: comparison", place = "", files = OPERATORS,
   names = [[
     eq ne lt le gt ge equal allclose isclose isnan isinf isfinite isposinf isneginf isreal isin
     is_nonzero]],
  },
  {title = "tensors: reduction", place = "", files = OPERATORS,
   names = [[
     sum prod mean std var std_mean var_mean median nanmedian mode max min amax amin aminmax
     argmax argmin all any logsumexp norm nansum nanmean quantile nanquantile count_nonzero cumsum
     cumprod cummax cummin logcumsumexp dist unique unique_consecutive bincount histc histogram
     histogramdd segment_reduce trapezoid diff gradient cov corrcoef]],
  },
  {title = "tensors: sort", place = "", files = OPERATORS,
   names = [[
     sort argsort topk kthvalue msort]],
  },
  {title = "tensors: linear algebra", place = "", files = OPERATORS,
   names = [[
     matmul mm bmm mv dot vdot inner outer ger addmm addmv addbmm baddbmm addr chain_matmul einsum
     tensordot kron cross trace det logdet slogdet inverse pinverse qr svd cholesky cholesky_solve
     cholesky_inverse triangular_solve lu lu_solve matrix_exp matrix_power cdist renorm
     svd_lowrank pca_lowrank geqrf orgqr]],
  },
  {title = "tensors: dtype/device", place = "", files = OPERATORS,
   absent = {numpy = "no NumPy: x:tolist(), x:data_ptr()"},
   names = [[
     to type type_as float double half bfloat16 cfloat cdouble int long short char byte bool cpu
     cuda item tolist numpy dtype device layout is_floating_point is_complex is_signed
     get_default_dtype set_default_dtype promote_types result_type can_cast finfo iinfo pin_memory
     is_pinned get_device]],
  },
  {title = "tensors: autograd", place = "", files = OPERATORS,
   names = [[
     requires_grad grad grad_fn is_leaf backward retain_grad retains_grad register_hook
     register_post_accumulate_grad_hook detach data output_nr no_grad enable_grad set_grad_enabled
     is_grad_enabled inference_mode]],
  },
  {title = "tensors: misc", place = "", files = OPERATORS,
   unrecorded = {save = "files of both are read: checkpoint_spec", load = "the same"},
   spelled = {
     __repr__ = "__tostring", __len__ = "__len", __iter__ = "__pairs", __getitem__ = "__index",
     __setitem__ = "__newindex", __add__ = "__add", __radd__ = "__add", __sub__ = "__sub",
     __rsub__ = "__sub", __mul__ = "__mul", __rmul__ = "__mul", __truediv__ = "__div",
     __rtruediv__ = "__div", __pow__ = "__pow", __rpow__ = "__pow", __mod__ = "__mod",
     __floordiv__ = "__idiv", __neg__ = "__unm", __and__ = "__band", __or__ = "__bor",
     __xor__ = "__bxor", __invert__ = "__bnot",
   },
   absent = {
     is_storage = "storages are no values of Lua", share_memory_ = "no processes share tensors",
     __bool__ = "every tensor is true in Lua: x:is_nonzero()", __float__ = "x:item()",
     __int__ = "x:item()", __contains__ = "x:eq(v):any()", __matmul__ = "Lua has no @: x:matmul(y)",
     __eq__ = "== asks if it is the same tensor: x:eq(y)", __ne__ = "x:ne(y)",
     __lt__ = "comparisons give one boolean in Lua: x:lt(y)", __le__ = "x:le(y)",
     __gt__ = "x:gt(y)", __ge__ = "x:ge(y)",
   },
   names = [[
     is_tensor is_storage save load set_printoptions __repr__ __len__ __iter__ __getitem__
     __setitem__ __bool__ __float__ __int__ __contains__ __matmul__ __add__ __radd__ __sub__
     __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __mod__ __floordiv__
     __neg__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__
     share_memory_ apply_ map_ stft istft]],
  },
  {title = "torch.fft", place = "fft", files = {"^fft"},
   names = [[
     fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2
     hfftn ihfftn fftfreq rfftfreq fftshift ifftshift]],
  },
  {title = "torch.special", place = "special", files = {"^special"},
   names = [[
     erf erfc erfinv erfcx expit logit expm1 log1p xlogy xlog1py entr gammaln digamma polygamma
     multigammaln gammainc gammaincc i0 i0e i1 i1e ndtr ndtri log_ndtr sinc softmax log_softmax
     logsumexp zeta exp2 psi round airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1
     modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
     scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
     chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
     shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
     shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
     laguerre_polynomial_l legendre_polynomial_p]],
  },
}

-- What PyTorch documents, by group: the names that the parity report counts. A group says where its
-- names are (place), in which files of data/ their cases are (files: patterns), which names PyTorch
-- does not document (ours), what a case is called when not by its name (cases), and why a name has
-- no case (unrecorded). The names are those of 2.9 and what is newer and here.

return {
  {title = "torch.nn: classes", place = "nn",
   files = {"^layers", "^rnn", "^modules$", "^programs$", "attention", "transformer"},
   unrecorded = {LinearCrossEntropyOptions = "a table of options, newer than what records",
     DataParallel = "a call is its module's; its text is among those of repr.lua"},
   names = [[
     Module Sequential ModuleList ModuleDict ParameterList ParameterDict
     Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d
     LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d Unfold Fold
     MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d
     FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d AdaptiveMaxPool1d
     AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d
     ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
     ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d
     CircularPad1d CircularPad2d CircularPad3d
     ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid MultiheadAttention PReLU
     ReLU ReLU6 RReLU SELU CELU GELU Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink
     Threshold GLU Softmin Softmax Softmax2d LogSoftmax AdaptiveLogSoftmaxWithLoss
     BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
     SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d
     LazyInstanceNorm2d LazyInstanceNorm3d LayerNorm RMSNorm GroupNorm LocalResponseNorm
     CrossMapLRN2d
     RNNBase RNN LSTM GRU RNNCell LSTMCell GRUCell
     Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer
     TransformerDecoderLayer
     Identity Linear Bilinear LazyLinear Dropout Dropout1d Dropout2d Dropout3d AlphaDropout
     FeatureAlphaDropout Embedding EmbeddingBag CosineSimilarity PairwiseDistance
     L1Loss MSELoss SmoothL1Loss HuberLoss CrossEntropyLoss NLLLoss LinearCrossEntropyLoss
     LinearCrossEntropyOptions CTCLoss PoissonNLLLoss GaussianNLLLoss KLDivLoss BCELoss
     BCEWithLogitsLoss MarginRankingLoss HingeEmbeddingLoss MultiLabelMarginLoss SoftMarginLoss
     MultiLabelSoftMarginLoss CosineEmbeddingLoss MultiMarginLoss TripletMarginLoss
     TripletMarginWithDistanceLoss
     PixelShuffle PixelUnshuffle Upsample UpsamplingNearest2d UpsamplingBilinear2d ChannelShuffle
     Flatten Unflatten DataParallel]],
   ours = [[
     Container NLLLoss2d RNNCellBase parallel
     NonDynamicallyQuantizableLinear parameter Parameter Buffer
     UninitializedParameter UninitializedBuffer LazyModuleMixin class delattr isinstance property
     unregistered factory_kwargs
     register_module_backward_hook register_module_buffer_registration_hook
     register_module_forward_hook register_module_forward_pre_hook
     register_module_full_backward_hook register_module_full_backward_pre_hook
     register_module_module_registration_hook register_module_parameter_registration_hook]],
  },
  {title = "torch.nn.functional", place = "nn.functional",
   files = {"^functional_", "^nn_", "^pointwise$", "^rest$", "^programs$", "attention"},
   names = [[
     conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc unfold
     fold avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d
     max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices max_unpool1d
     max_unpool2d max_unpool3d lp_pool1d lp_pool2d lp_pool3d adaptive_max_pool1d
     adaptive_max_pool2d adaptive_max_pool3d adaptive_max_pool1d_with_indices
     adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices adaptive_avg_pool1d
     adaptive_avg_pool2d adaptive_avg_pool3d fractional_max_pool2d fractional_max_pool3d
     fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
     scaled_dot_product_attention multi_head_attention_forward threshold threshold_ relu relu_
     hardtanh hardtanh_ hardswish relu6 elu elu_ selu selu_ celu celu_ leaky_relu leaky_relu_
     prelu rrelu rrelu_ glu gelu logsigmoid hardshrink tanhshrink softsign softplus softmin
     softmax softshrink gumbel_softmax log_softmax tanh sigmoid hardsigmoid silu mish
     batch_norm group_norm instance_norm layer_norm local_response_norm rms_norm normalize
     linear bilinear dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout
     embedding embedding_bag one_hot pairwise_distance cosine_similarity pdist
     binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss
     cosine_embedding_loss cross_entropy ctc_loss gaussian_nll_loss hinge_embedding_loss
     kl_div l1_loss mse_loss margin_ranking_loss multilabel_margin_loss
     multilabel_soft_margin_loss multi_margin_loss nll_loss huber_loss smooth_l1_loss
     soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss pixel_shuffle
     pixel_unshuffle channel_shuffle native_channel_shuffle pad interpolate upsample
     upsample_nearest upsample_bilinear grid_sample affine_grid linear_cross_entropy]],
   ours = [[
     hardsigmoid_ hardswish_ mish_ relu6_ sigmoid_ silu_ tanh_]],
  },
  {title = "torch.nn.init", place = "nn.init", files = {"^init$", "^programs$"},
   cases = {calculate_gain = "gains"},
   names = [[
     calculate_gain uniform_ normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_
     xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ sparse_]],
  },
  {title = "torch.nn.utils", place = "nn.utils", files = {"^utils$", "^programs$"},
   names = [[
     clip_grad_norm_ clip_grad_norm clip_grad_value_ get_total_norm clip_grads_with_norm_
     parameters_to_vector vector_to_parameters fuse_conv_bn_eval fuse_conv_bn_weights
     fuse_linear_bn_eval fuse_linear_bn_weights convert_conv2d_weight_memory_format
     convert_conv3d_weight_memory_format weight_norm remove_weight_norm spectral_norm
     remove_spectral_norm skip_init]],
   ours = "SpectralNorm WeightNorm",
  },
  {title = "torch.nn.utils.rnn", place = "nn.utils.rnn", files = {"^utils$", "^rnn$", "^programs$"},
   names = [[
     PackedSequence pack_padded_sequence pad_packed_sequence pad_sequence pack_sequence
     unpack_sequence unpad_sequence invert_permutation]],
  },
  {title = "torch.nn.utils.parametrizations", place = "nn.utils.parametrizations",
   files = {"^utils$", "^programs$"}, names = "orthogonal weight_norm spectral_norm",
  },
  {title = "torch.nn.utils.parametrize", place = "nn.utils.parametrize",
   files = {"^utils$", "^programs$"},
   names = [[
     register_parametrization remove_parametrizations cached is_parametrized ParametrizationList
     transfer_parametrizations_and_params type_before_parametrizations]],
  },
  {title = "torch.nn.utils.prune", place = "nn.utils.prune", files = {"^utils$", "^programs$"},
   names = [[
     BasePruningMethod PruningContainer Identity RandomUnstructured L1Unstructured RandomStructured
     LnStructured CustomFromMask identity random_unstructured l1_unstructured random_structured
     ln_structured global_unstructured custom_from_mask remove is_pruned]],
   ours = "class",
  },
  {title = "torch.nn.utils.stateless", place = "nn.utils.stateless",
   files = {"^utils$", "^programs$"},
   names = "functional_call",
  },
  {title = "torch.func", place = "func", files = {"^func$", "^utils$"},
   names = [[
     functional_call grad grad_and_value vmap vjp jvp linearize jacrev jacfwd hessian
     stack_module_state replace_all_batch_norm_modules_ functionalize debug_unwrap]],
   absent = {functionalize = "removes writes for compilers; there is none here",
     debug_unwrap = "shows the insides of wrappers, which print themselves here"},
  },
  {title = "torch.autograd.functional", place = "autograd.functional", files = {"^func$"},
   names = "vjp jvp jacobian hessian vhp hvp",
  },
  {title = "torch.optim", place = "optim", files = {"^optim"}, cases = {LBFGS = "lbfgs"},
   names = [[
     Adadelta Adafactor Adagrad Adam AdamW SparseAdam Adamax ASGD LBFGS Muon NAdam RAdam RMSprop
     Rprop SGD]],
   ours = [[
     Optimizer class is_optimizer optimizer register_optimizer_step_post_hook
     register_optimizer_step_pre_hook]],
  },
  {title = "torch.optim.lr_scheduler", place = "optim.lr_scheduler",
   files = {"^schedulers$", "^programs$"},
   cases = {ReduceLROnPlateau = "plateaus"},
   names = [[
     LambdaLR MultiplicativeLR StepLR MultiStepLR ConstantLR LinearLR ExponentialLR PolynomialLR
     CosineAnnealingLR ChainedScheduler SequentialLR ReduceLROnPlateau CyclicLR OneCycleLR
     CosineAnnealingWarmRestarts]],
   ours = "LRScheduler",
  },
  {title = "torch.optim.swa_utils", place = "optim.swa_utils",
   files = {"^schedulers$", "^programs$"},
   cases = {AveragedModel = "averages"},
   names = [[
     AveragedModel SWALR update_bn get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn
     get_swa_multi_avg_fn]],
  },
  {title = "torch.distributions", place = "distributions", files = {"^distributions$"},
   unrecorded = {
     Distribution = "the base of the others", ExponentialFamily = "of some of them",
     kl_divergence = "each pair has its case", AbsTransform = "its values are HalfNormal's",
     LowerCholeskyTransform = "checked against itself", SoftmaxTransform = "softmax",
     PositiveDefiniteTransform = "checked against itself", StackTransform = "the same",
     Transform = "the base of the others", identity_transform = "nothing happens",
     register_kl = "adds formulas", biject_to = "gives transforms", transform_to = "the same",
   },
   names = [[
     Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Distribution
     Exponential ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel
     HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy LKJCholesky Laplace LogNormal
     LogisticNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal
     NegativeBinomial Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto
     RelaxedBernoulli RelaxedOneHotCategorical StudentT Poisson Uniform VonMises Weibull Wishart
     TransformedDistribution biject_to kl_divergence register_kl transform_to
     AffineTransform CatTransform ComposeTransform CorrCholeskyTransform
     CumulativeDistributionTransform ExpTransform IndependentTransform PowerTransform
     ReshapeTransform SigmoidTransform SoftplusTransform StickBreakingTransform TanhTransform
     AbsTransform LowerCholeskyTransform PositiveDefiniteTransform SoftmaxTransform StackTransform
     Transform identity_transform]],
   ours = "class",
  },
  {title = "torch.utils.data", place = "data", files = {"^data$"},
   cases = {DataLoader = "shuffled", random_split = "split", Subset = "split",
     SequentialSampler = "samplers", RandomSampler = "samplers", SubsetRandomSampler = "samplers",
     WeightedRandomSampler = "samplers", BatchSampler = "samplers",
     DistributedSampler = "samplers"},
   unrecorded = {Dataset = "a class to derive from", IterableDataset = "the same",
     Sampler = "the same", TensorDataset = "its rows", ConcatDataset = "its items",
     ChainDataset = "the same", StackDataset = "the same, and newer than what records",
     default_collate = "stack, and tensors of numbers"},
   absent = {default_convert = "tensors and numbers are what they are",
     get_worker_info = "batches are made by no workers"},
   names = [[
     Dataset IterableDataset TensorDataset ConcatDataset ChainDataset StackDataset Subset DataLoader
     Sampler SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler
     DistributedSampler random_split default_collate default_convert get_worker_info]],
   ours = [[
     MNIST FashionMNIST KMNIST read_idx read_csv write_csv read_image save_image make_grid
     decode_png encode_png write_png]],
  },
  {title = "torch.utils.checkpoint", place = "utils.checkpoint", files = {"^programs$"},
   unrecorded = {checkpoint = "what the call gives without it", checkpoint_sequential = "the same",
     set_checkpoint_early_stop = "what runs again, in recompute_spec.lua"},
   names = "checkpoint checkpoint_sequential set_checkpoint_early_stop",
  },
  {title = "torch.linalg", place = "linalg", files = {"^linalg$"},
   names = [[
     cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv
     inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul
     matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex
     solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm]],
  },
}

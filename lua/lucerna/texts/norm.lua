-- Normalization.
return { title = "Normalization",
{"nn.BatchNorm1d nn.BatchNorm2d nn.BatchNorm3d nn.LazyBatchNorm1d nn.LazyBatchNorm2d \
nn.LazyBatchNorm3d F.batch_norm", [=[
y = (x - mean) / √(var + eps) · weight + bias, channel by channel (dimension 2). 1d: [N, C] or
[N, C, L]; 2d: [N, C, H, W]; 3d: [N, C, D, H, W]. In training the batch's mean and biased variance,
which go into the running ones (the unbiased variance) with momentum, or as their plain mean when
momentum is lucerna.none; in eval the running ones. F.batch_norm has training = false. With bias =
false nothing is added.
State: weight, bias, running_mean, running_var [C], num_batches_tracked. Refused: another rank; one
value per channel in training. Ioffe and Szegedy, arXiv:1502.03167.
> local y = nn.BatchNorm2d(3)(lucerna.randn(2, 3, 4, 4))]=]},
{"nn.SyncBatchNorm", [=[
BatchNorm of any rank whose statistics are those of all processes; there is one process here, so
that it computes what BatchNorm does. SyncBatchNorm.convert_sync_batchnorm(module) replaces every
BatchNorm in a module.
> local net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))]=]},
{"nn.InstanceNorm1d nn.InstanceNorm2d nn.InstanceNorm3d nn.LazyInstanceNorm1d \
nn.LazyInstanceNorm2d nn.LazyInstanceNorm3d F.instance_norm", [=[
Each channel of each item normalized by its own mean and biased variance. [N, C, *] or [C, *]. No
weight and no running statistics unless affine or track_running_stats (the lazy forms have both).
Needs more than one element in *. Ulyanov et al., arXiv:1607.08022.
> local y = nn.InstanceNorm2d(3)(lucerna.randn(2, 3, 4, 4))]=]},
{"nn.LayerNorm F.layer_norm layer_norm", [=[
(x - mean) / √(var + eps) · weight + bias over the last #normalized_shape dimensions, the
variance biased. State: weight, bias of normalized_shape. Ba et al., arXiv:1607.06450.
> local y = nn.LayerNorm(10)(lucerna.randn(2, 5, 10))]=]},
{"nn.RMSNorm F.rms_norm rms_norm", [=[
x / √(mean(x²) + eps) · weight over the last #normalized_shape dimensions; eps is the dtype's
if not given. State: weight. Zhang and Sennrich, arXiv:1910.07467.
> local y = nn.RMSNorm(10)(lucerna.randn(2, 10))]=]},
{"nn.GroupNorm F.group_norm group_norm", [=[
Each of num_groups groups of channels of each item normalized by its mean and biased variance.
[N, C, *]; groups must divide C. State: weight, bias [C]. Wu and He, arXiv:1803.08494.
> local y = nn.GroupNorm(2, 6)(lucerna.randn(2, 6, 4, 4))]=]},
{"nn.LocalResponseNorm F.local_response_norm", [=[
x / (k + alpha · m)^beta, m the mean of squares over `size` channels around. [N, C, *].
> local y = nn.LocalResponseNorm(2)(lucerna.randn(2, 4, 5, 5))]=]},
{"nn.CrossMapLRN2d", [=[
> local y = nn.CrossMapLRN2d(3)(lucerna.randn(2, 8, 5, 5))]=]},
}

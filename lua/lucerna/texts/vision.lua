-- Shuffling, resizing, sampling, flattening.
return { title = "Images and shapes",
{"nn.PixelShuffle F.pixel_shuffle pixel_shuffle", [=[
Channels into pixels: [*, C·r², H, W] -> [*, C, H·r, W·r]. Shi et al., arXiv:1609.05158.
> local y = nn.PixelShuffle(2)(lucerna.randn(1, 8, 3, 3))    -- [1, 2, 6, 6]]=]},
{"nn.PixelUnshuffle F.pixel_unshuffle pixel_unshuffle", [=[
Pixels into channels: [*, C, H·r, W·r] -> [*, C·r², H, W].
> local y = nn.PixelUnshuffle(2)(lucerna.randn(1, 2, 6, 6))    -- [1, 8, 3, 3]]=]},
{"nn.ChannelShuffle F.channel_shuffle F.native_channel_shuffle channel_shuffle", [=[
Channels [groups, C / groups] turned to [C / groups, groups]: [N, C, *]. Zhang et al.,
arXiv:1707.01083.
> local y = nn.ChannelShuffle(2)(lucerna.randn(1, 4, 2, 2))]=]},
{"nn.Upsample nn.UpsamplingNearest2d nn.UpsamplingBilinear2d F.interpolate F.upsample \
F.upsample_nearest F.upsample_bilinear", [=[
Resizes the dimensions after [N, C] to size, or by scale_factor (one of the two; ⌊L·scale⌋).
mode: 'nearest', 'nearest-exact', 'area' (any), 'linear' (3 dimensions), 'bilinear', 'bicubic' (4),
'trilinear' (5); align_corners for those of the linear kind and bicubic. UpsamplingBilinear2d and
F.upsample_bilinear align corners. antialias: bilinear and bicubic.
> local y = nn.Upsample{scale_factor = 2}(lucerna.randn(1, 1, 2, 2))    -- [1, 1, 4, 4]
> local z = F.interpolate(y, {size = {5, 7}, mode = "bilinear"})]=]},
{"F.grid_sample", [=[
Samples input [N, C, H, W] at grid [N, H', W', 2] of (x, y) in [-1, 1] -> [N, C, H', W']; 5
dimensions with (x, y, z) too. mode 'bilinear', 'nearest', 'bicubic'; padding_mode 'zeros',
'border', 'reflection'. align_corners: ±1 are the centres of the corner pixels, not their edges.
> local grid = F.affine_grid(lucerna.tensor{{{1.0, 0, 0}, {0, 1, 0}}}, {1, 1, 4, 4})
> local y = F.grid_sample(lucerna.randn(1, 1, 3, 3), grid)    -- [1, 1, 4, 4]]=]},
{"F.affine_grid", [=[
The grid of an affine map for grid_sample: theta [N, 2, 3], size {N, C, H, W} -> [N, H, W, 2]; theta
[N, 3, 4], size {N, C, D, H, W} -> [N, D, H, W, 3].
> local grid = F.affine_grid(lucerna.tensor{{{1.0, 0, 0}, {0, 1, 0}}}, {1, 1, 4, 4})]=]},
{"nn.Flatten flatten", [=[
The dimensions start_dim to end_dim as one. The layer starts at 2 (keeping the batch), the function
at 1.
> local y = nn.Flatten()(lucerna.randn(2, 3, 4))    -- [2, 12]]=]},
{"nn.Unflatten unflatten", [=[
Dimension dim as several, of the sizes unflattened_size; one may be -1.
> local y = nn.Unflatten(2, {3, 4})(lucerna.randn(2, 12))    -- [2, 3, 4]]=]},
}

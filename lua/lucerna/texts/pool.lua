-- Pooling.
return { title = "Pooling",
{"nn.MaxPool1d nn.MaxPool2d nn.MaxPool3d F.max_pool1d F.max_pool2d F.max_pool3d \
F.max_pool1d_with_indices F.max_pool2d_with_indices F.max_pool3d_with_indices", [=[
The largest value of each window; NaN wins. [N, C, *L] (or [C, *L]) -> [N, C, *M], each M = ⌊(L +
2·padding - dilation·(k - 1) - 1) / stride⌋ + 1 (⌈…⌉ with ceil_mode); stride is k if not
given.
With return_indices also the positions in the plane, flat and from 1. padding is at most k / 2.
> local y = nn.MaxPool2d(2)(lucerna.randn(1, 3, 8, 8))    -- [1, 3, 4, 4]
> local z, positions = F.max_pool1d(lucerna.randn(1, 1, 6), 2, {return_indices = true})]=]},
{"nn.MaxUnpool1d nn.MaxUnpool2d nn.MaxUnpool3d F.max_unpool1d F.max_unpool2d F.max_unpool3d", [=[
Puts the values of a max pool back at their positions, zeros elsewhere. forward(input, indices,
output_size): [N, C, *M] -> [N, C, *L], L = (M - 1)·stride - 2·padding + k, or output_size (less
than a stride away).
> local y, positions = nn.MaxPool1d(2, {return_indices = true})(lucerna.randn(1, 1, 6))
> local x = nn.MaxUnpool1d(2)(y, positions)    -- [1, 1, 6]]=]},
{"nn.AvgPool1d nn.AvgPool2d nn.AvgPool3d F.avg_pool1d F.avg_pool2d F.avg_pool3d", [=[
The mean of each window. [N, C, *L] (or [C, *L]) -> [N, C, *M], M = ⌊(L + 2·padding - k) /
stride⌋ + 1.
count_include_pad = false divides by what lies inside; divisor_override (2d, 3d) by that.
> local y = nn.AvgPool2d(2)(lucerna.randn(1, 3, 8, 8))    -- [1, 3, 4, 4]]=]},
{"nn.LPPool1d nn.LPPool2d nn.LPPool3d F.lp_pool1d F.lp_pool2d F.lp_pool3d", [=[
(Σ x^p)^(1/p) over each window, p = norm_type. Shapes as AvgPool's.
> local y = nn.LPPool1d(2, 3)(lucerna.rand(1, 2, 9))    -- [1, 2, 3]]=]},
{"nn.AdaptiveAvgPool1d nn.AdaptiveAvgPool2d nn.AdaptiveAvgPool3d F.adaptive_avg_pool1d \
F.adaptive_avg_pool2d F.adaptive_avg_pool3d", [=[
Means of windows chosen so that the output has output_size: window i (from 0) is [⌊iL/M⌋,
⌈(i + 1)L/M⌉). lucerna.none in output_size keeps that dimension.
> local y = nn.AdaptiveAvgPool2d{1, 1}(lucerna.randn(2, 8, 7, 5))    -- [2, 8, 1, 1]]=]},
{"nn.AdaptiveMaxPool1d nn.AdaptiveMaxPool2d nn.AdaptiveMaxPool3d F.adaptive_max_pool1d \
F.adaptive_max_pool2d F.adaptive_max_pool3d F.adaptive_max_pool1d_with_indices \
F.adaptive_max_pool2d_with_indices F.adaptive_max_pool3d_with_indices", [=[
The largest values of the windows of AdaptiveAvgPool; with return_indices their positions too.
> local y = nn.AdaptiveMaxPool1d(3)(lucerna.randn(1, 2, 8))    -- [1, 2, 3]]=]},
{"nn.FractionalMaxPool2d nn.FractionalMaxPool3d F.fractional_max_pool2d F.fractional_max_pool3d \
F.fractional_max_pool2d_with_indices F.fractional_max_pool3d_with_indices", [=[
Max pooling of windows whose places are drawn at random, so that any output size can be asked for:
output_size, or output_ratio (between 0 and 1) of the input. Graham, arXiv:1412.6071.
> local y = nn.FractionalMaxPool2d(2, {output_ratio = 0.7})(lucerna.randn(1, 2, 9, 9))]=]},
}

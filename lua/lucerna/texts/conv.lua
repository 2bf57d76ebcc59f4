-- Convolutions and windows.
return { title = "Convolutions",
{"nn.Conv1d nn.Conv2d nn.Conv3d nn.LazyConv1d nn.LazyConv2d nn.LazyConv3d F.conv1d F.conv2d \
F.conv3d", [=[
Cross-correlation: y[n, o] = b[o] + Σ_c w[o, c] ⋆ x[n, c].
[N, C_in, *L] (or [C_in, *L]) -> [N, C_out, *M], each M = ⌊(L + 2·padding - dilation·(k - 1) -
1) / stride⌋ + 1. padding also takes 'valid' (none) and 'same' (M = L, for stride 1).
State: weight [C_out, C_in / groups, *k], bias [C_out]; both start as U(±1/√(C_in / groups ·
Πk)).
Refused: channels that groups do not divide, 'same' with a stride, an input with other channels.
Lazy forms take in_channels from their first input.
> local y = nn.Conv2d(1, 20, 5)(lucerna.randn(2, 1, 28, 28))    -- [2, 20, 24, 24]
> local z = F.conv1d(lucerna.randn(1, 2, 9), lucerna.randn(4, 2, 3), {padding = 1})]=]},
{"nn.ConvTranspose1d nn.ConvTranspose2d nn.ConvTranspose3d nn.LazyConvTranspose1d \
nn.LazyConvTranspose2d nn.LazyConvTranspose3d F.conv_transpose1d F.conv_transpose2d \
F.conv_transpose3d", [=[
The gradient of a convolution by its input, as a layer: each input value adds a scaled kernel.
[N, C_in, *L] -> [N, C_out, *M], each M = (L - 1)·stride - 2·padding + dilation·(k - 1) +
output_padding + 1. forward takes output_size, which picks output_padding.
State: weight [C_in, C_out / groups, *k], bias [C_out]. output_padding must be smaller than stride
or dilation. Only padding_mode 'zeros'.
> local up = nn.ConvTranspose2d(16, 8, 3, {stride = 2})
> local y = up(lucerna.randn(1, 16, 4, 4))    -- [1, 8, 9, 9]]=]},
{"F.conv_tbc", [=[
conv1d of [T, N, C_in] with weight [k, C_in, C_out] and bias [C_out] -> [T', N, C_out].
> local y = F.conv_tbc(lucerna.randn(9, 2, 3), lucerna.randn(3, 3, 4), lucerna.zeros(4))]=]},
{"nn.Unfold F.unfold", [=[
The windows of an image as columns: [N, C, H, W] (or [C, H, W]) -> [N, C·kh·kw, L], L windows in
row order, rows channel by channel.
> local columns = nn.Unfold({2, 3})(lucerna.randn(1, 3, 4, 5))    -- [1, 18, 9]]=]},
{"nn.Fold F.fold", [=[
Adds columns up into an image, overlaps summed; Unfold's adjoint: [N, C·kh·kw, L] -> [N, C, H, W],
output_size = {H, W}.
> local image = nn.Fold({4, 5}, {2, 3})(lucerna.ones(1, 18, 9))    -- [1, 3, 4, 5]]=]},
{"nn.grad.conv1d_input nn.grad.conv2d_input nn.grad.conv3d_input", [=[
> local nngrad = nn.grad
> local g = nngrad.conv1d_input({1, 2, 5}, lucerna.ones(3, 2, 3), lucerna.ones(1, 3, 3))]=]},
{"nn.grad.conv1d_weight nn.grad.conv2d_weight nn.grad.conv3d_weight", [=[
> local g = nn.grad.conv1d_weight(lucerna.ones(1, 2, 5), {3, 2, 3}, lucerna.ones(1, 3, 3))]=]},
}

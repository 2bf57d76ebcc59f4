-- Activations and softmaxes; each works on tensors of any shape, element by element, unless it says
-- otherwise.
return { title = "Activations",
{"nn.ReLU F.relu relu", [=[
max(0, x); the gradient at 0 is 0.
> local y = nn.ReLU()(lucerna.randn(3))]=]},
{"nn.ReLU6 F.relu6", [=[
min(max(0, x), 6).
> local y = nn.ReLU6()(lucerna.randn(3) * 8)]=]},
{"nn.ELU F.elu", [=[
x for x > 0, else alpha (e^x - 1). Clevert et al., arXiv:1511.07289.
> local y = nn.ELU()(lucerna.randn(3))]=]},
{"nn.SELU F.selu", [=[
1.0507 · (x for x > 0, else 1.67326 (e^x - 1)). Klambauer et al., arXiv:1706.02515.
> local y = nn.SELU()(lucerna.randn(3))]=]},
{"nn.CELU F.celu", [=[
max(0, x) + min(0, alpha (e^(x / alpha) - 1)). Barron, arXiv:1704.07483.
> local y = nn.CELU(2)(lucerna.randn(3))]=]},
{"nn.GELU F.gelu", [=[
x Φ(x), Φ the normal distribution; approximate = 'tanh': x/2 (1 + tanh(√(2/π) (x + 0.044715
x³))).
Hendrycks and Gimpel, arXiv:1606.08415.
> local y = nn.GELU("tanh")(lucerna.randn(3))]=]},
{"nn.SiLU F.silu", [=[
x σ(x), also called swish.
> local y = nn.SiLU()(lucerna.randn(3))]=]},
{"nn.Mish F.mish", [=[
x tanh(softplus(x)). Misra, arXiv:1908.08681.
> local y = nn.Mish()(lucerna.randn(3))]=]},
{"nn.LeakyReLU F.leaky_relu", [=[
x for x > 0, else negative_slope · x; the gradient at 0 is the slope.
> local y = nn.LeakyReLU(0.2)(lucerna.randn(3))]=]},
{"nn.PReLU F.prelu", [=[
max(0, x) + w min(0, x) with a learned w: one for all, or one for each of the num_parameters
channels (dimension 2). State: weight [num_parameters]. He et al., arXiv:1502.01852.
> local y = nn.PReLU(3)(lucerna.randn(2, 3, 4))]=]},
{"nn.RReLU F.rrelu", [=[
leaky_relu with a slope drawn from U(lower, upper) for each element in training, and their mean
otherwise. Xu et al., arXiv:1505.00853.
> local y = nn.RReLU()(lucerna.randn(3))]=]},
{"nn.Sigmoid F.sigmoid sigmoid", [=[
σ(x) = 1 / (1 + e^-x).
> local y = nn.Sigmoid()(lucerna.randn(3))]=]},
{"nn.LogSigmoid F.logsigmoid", [=[
log σ(x), exact for large |x|.
> local y = nn.LogSigmoid()(lucerna.randn(3))]=]},
{"nn.Tanh F.tanh tanh", [=[
(e^x - e^-x) / (e^x + e^-x).
> local y = nn.Tanh()(lucerna.randn(3))]=]},
{"nn.Tanhshrink F.tanhshrink", [=[
x - tanh x.
> local y = nn.Tanhshrink()(lucerna.randn(3))]=]},
{"nn.Softsign F.softsign", [=[
x / (1 + |x|).
> local y = nn.Softsign()(lucerna.randn(3))]=]},
{"nn.Softplus F.softplus", [=[
log(1 + e^(beta x)) / beta; x itself where beta x > threshold.
> local y = nn.Softplus()(lucerna.randn(3))]=]},
{"nn.Hardtanh F.hardtanh", [=[
min(max(min_val, x), max_val); the gradient at both ends is 0. max_val must not be smaller.
> local y = nn.Hardtanh(-2, 2)(lucerna.randn(3))]=]},
{"nn.Hardsigmoid F.hardsigmoid", [=[
min(max(0, x + 3), 6) / 6.
> local y = nn.Hardsigmoid()(lucerna.randn(3))]=]},
{"nn.Hardswish F.hardswish", [=[
x min(max(0, x + 3), 6) / 6. Howard et al., arXiv:1905.02244.
> local y = nn.Hardswish()(lucerna.randn(3))]=]},
{"nn.Hardshrink F.hardshrink", [=[
x where |x| > lambd, else 0.
> local y = nn.Hardshrink()(lucerna.randn(3))]=]},
{"nn.Softshrink F.softshrink", [=[
x moved towards 0 by lambd, 0 where |x| <= lambd. lambd must not be negative.
> local y = nn.Softshrink()(lucerna.randn(3))]=]},
{"nn.Threshold F.threshold", [=[
x where x > threshold, else value.
> local y = nn.Threshold(0.1, 20)(lucerna.randn(3))]=]},
{"nn.GLU F.glu", [=[
a σ(b), a and b the halves of x along dim: [*, 2n, *] -> [*, n, *]. An odd size is refused. Dauphin
et al., arXiv:1612.08083.
> local y = nn.GLU()(lucerna.randn(4, 6))    -- [4, 3]]=]},
{"nn.Softmax F.softmax softmax", [=[
e^x_i / Σ_j e^x_j along dim; not given, dim is 1 for 0, 1 and 3 dimensions and 2 otherwise. dtype
converts first.
> local p = nn.Softmax(2)(lucerna.randn(2, 3))]=]},
{"nn.Softmin F.softmin", [=[
softmax(-x).
> local p = nn.Softmin(2)(lucerna.randn(2, 3))]=]},
{"nn.LogSoftmax F.log_softmax log_softmax", [=[
log softmax(x), computed as x - logsumexp(x).
> local p = nn.LogSoftmax(2)(lucerna.randn(2, 3))]=]},
{"nn.Softmax2d", [=[
softmax over the channels: [N, C, H, W] or [C, H, W].
> local p = nn.Softmax2d()(lucerna.randn(2, 3, 4, 4))]=]},
{"F.gumbel_softmax", [=[
softmax((logits + g) / tau) with g of the Gumbel distribution, a sample from the categorical one
that has gradients; hard = true gives one-hot rows whose gradient is the soft one's. Jang et al.,
arXiv:1611.01144.
> local p = F.gumbel_softmax(lucerna.randn(4, 5), {tau = 0.5, hard = true})]=]},
{"nn.AdaptiveLogSoftmaxWithLoss", [=[
> local m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, {5, 10})
> local logp, loss = m(lucerna.randn(4, 8), lucerna.tensor{1, 7, 20, 3})]=]},
}

-- Losses. reduction: 'mean', 'sum' or 'none'.
return { title = "Losses",
{"nn.L1Loss F.l1_loss", [=[
|x - y|. input and target of one shape; 'mean' over all elements.
> local loss = nn.L1Loss()(lucerna.randn(3), lucerna.zeros(3))]=]},
{"nn.MSELoss F.mse_loss", [=[
(x - y)². input and target of one shape; F.mse_loss takes a weight.
> local loss = nn.MSELoss()(lucerna.randn(3), lucerna.zeros(3))]=]},
{"nn.SmoothL1Loss F.smooth_l1_loss", [=[
With d = |x - y|: d² / (2 beta) for d < beta, else d - beta / 2. Girshick, arXiv:1504.08083.
> local loss = nn.SmoothL1Loss()(lucerna.randn(3), lucerna.zeros(3))]=]},
{"nn.HuberLoss F.huber_loss", [=[
With d = |x - y|: d² / 2 for d <= delta, else delta (d - delta / 2).
> local loss = nn.HuberLoss{delta = 2}(lucerna.randn(3), lucerna.zeros(3))]=]},
{"nn.CrossEntropyLoss F.cross_entropy", [=[
-log softmax(input)[target], times weight[target]. input [N, C, *] (or [C]); target of classes from
1 [N, *], or of probabilities [N, C, *]. 'mean' divides by the sum of the weights of what is not
ignore_index. label_smoothing mixes the target with 1/C. Refused: a class out of range.
> local loss = nn.CrossEntropyLoss()(lucerna.randn(3, 5), lucerna.tensor{1, 5, 2})]=]},
{"nn.NLLLoss nn.NLLLoss2d F.nll_loss", [=[
-input[target] times weight[target], input being log-probabilities. Shapes and 'mean' as
CrossEntropyLoss's.
> local logp = lucerna.randn(3, 5):log_softmax(2)
> local loss = nn.NLLLoss()(logp, lucerna.tensor{1, 5, 2})]=]},
{"nn.LinearCrossEntropyLoss", [=[
> local m = nn.LinearCrossEntropyLoss(8, 5)
> local loss = m(lucerna.randn(3, 8), lucerna.tensor{1, 5, 2})]=]},
{"nn.LinearCrossEntropyOptions", [=[
> local options = nn.LinearCrossEntropyOptions{chunking_method = "auto"}]=]},
{"F.linear_cross_entropy", [=[
> local loss = F.linear_cross_entropy(lucerna.randn(3, 8), lucerna.randn(5, 8),
>   lucerna.tensor{1, 5, 2})]=]},
{"nn.CTCLoss F.ctc_loss", [=[
-log of the probability of a target over all its alignments with T frames. forward(log_probs [T, N,
C], targets [N, S] or flat, input_lengths [N], target_lengths [N]); blank is a class, from 1. 'mean'
divides each by its target's length, then averages. zero_infinity: impossible targets count 0.
Graves et al., ICML 2006.
> local logp = lucerna.randn(8, 2, 5):log_softmax(3)
> local targets = lucerna.tensor{{2, 3, 4}, {5, 2, 2}}
> local loss = nn.CTCLoss()(logp, targets, lucerna.tensor{8, 8}, lucerna.tensor{3, 2})]=]},
{"nn.BCELoss F.binary_cross_entropy", [=[
-(y log x + (1 - y) log(1 - x)) · weight, logarithms not below -100. x in [0, 1]; one shape.
> local loss = nn.BCELoss()(lucerna.rand(3), lucerna.tensor{1.0, 0.0, 1.0})]=]},
{"nn.BCEWithLogitsLoss F.binary_cross_entropy_with_logits", [=[
BCELoss of σ(x), exact for large |x|; pos_weight multiplies the term of y. One shape.
> local loss = nn.BCEWithLogitsLoss()(lucerna.randn(3), lucerna.tensor{1.0, 0.0, 1.0})]=]},
{"nn.KLDivLoss F.kl_div", [=[
y (log y - x), x log-probabilities and y probabilities (log_target: their logarithms, e^y (y - x)).
reduction also 'batchmean', the divergence itself.
> local x, y = lucerna.randn(3, 5):log_softmax(2), lucerna.rand(3, 5):softmax(2)
> local loss = nn.KLDivLoss{reduction = "batchmean"}(x, y)]=]},
{"nn.PoissonNLLLoss F.poisson_nll_loss", [=[
e^x - y x, or x - y log(x + eps) without log_input; full adds Stirling's y log y - y + log(2πy)/2
where y > 1.
> local loss = nn.PoissonNLLLoss()(lucerna.randn(3), lucerna.tensor{1.0, 0.0, 4.0})]=]},
{"nn.GaussianNLLLoss F.gaussian_nll_loss", [=[
(log var + (x - y)² / var) / 2, var not below eps; full adds log(2π)/2. var of x's shape, or with
1 or nothing for the last dimension. Nix and Weigend, 1994.
> local loss = nn.GaussianNLLLoss()(lucerna.randn(3), lucerna.zeros(3), lucerna.ones(3))]=]},
{"nn.MarginRankingLoss F.margin_ranking_loss", [=[
max(0, -y (x1 - x2) + margin), y being 1 or -1: should x1 rank higher? All of one rank.
> local x, y = lucerna.randn(3), lucerna.tensor{1.0, -1.0, 1.0}
> local loss = nn.MarginRankingLoss()(x, lucerna.randn(3), y)]=]},
{"nn.HingeEmbeddingLoss F.hinge_embedding_loss", [=[
x for y = 1, max(0, margin - x) for y = -1.
> local loss = nn.HingeEmbeddingLoss()(lucerna.randn(2), lucerna.tensor{1.0, -1.0})]=]},
{"nn.SoftMarginLoss F.soft_margin_loss", [=[
log(1 + e^(-y x)), y being 1 or -1.
> local loss = nn.SoftMarginLoss()(lucerna.randn(2), lucerna.tensor{1.0, -1.0})]=]},
{"nn.MultiMarginLoss F.multi_margin_loss", [=[
Σ_{j ≠ y} max(0, margin - x_y + x_j)^p · weight[y] / C. input [N, C] or [C], target of classes
from 1 [N]; p is 1 or 2.
> local loss = nn.MultiMarginLoss()(lucerna.randn(2, 4), lucerna.tensor{1, 4})]=]},
{"nn.MultiLabelMarginLoss F.multilabel_margin_loss", [=[
Σ over targets j and others i of max(0, 1 - (x_j - x_i)) / C. input [N, C] or [C]; target of the
same shape: classes from 1, ended by the first -1.
> local loss = nn.MultiLabelMarginLoss()(lucerna.randn(4), lucerna.tensor{4, 1, -1, 2})]=]},
{"nn.MultiLabelSoftMarginLoss F.multilabel_soft_margin_loss", [=[
The mean over classes of BCEWithLogitsLoss, times weight [C]. input and target [N, C].
> local y = lucerna.tensor{{1.0, 0.0, 1.0}}
> local loss = nn.MultiLabelSoftMarginLoss()(lucerna.randn(1, 3), y)]=]},
{"nn.CosineEmbeddingLoss F.cosine_embedding_loss", [=[
1 - cos(x1, x2) for y = 1, max(0, cos - margin) for y = -1. x1, x2 [N, D] or [D], y [N] or [].
> local x, y = lucerna.randn(2, 4), lucerna.tensor{1, -1}
> local loss = nn.CosineEmbeddingLoss()(x, lucerna.randn(2, 4), y)]=]},
{"nn.TripletMarginLoss F.triplet_margin_loss", [=[
max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm over the last dimension;
swap takes d(positive, negative) where it is smaller. [N, D] or [D] each.
> local a, p, n = lucerna.randn(2, 4), lucerna.randn(2, 4), lucerna.randn(2, 4)
> local loss = nn.TripletMarginLoss()(a, p, n)]=]},
{"nn.TripletMarginWithDistanceLoss F.triplet_margin_with_distance_loss", [=[
> local a, p, n = lucerna.randn(2, 4), lucerna.randn(2, 4), lucerna.randn(2, 4)
> local function distance(x, y) return 1 - F.cosine_similarity(x, y, {dim = 2}) end
> local loss = nn.TripletMarginWithDistanceLoss{distance_function = distance}(a, p, n)]=]},
}

-- Linear layers, dropout, distances.
return { title = "Linear layers, dropout, distances",
{"nn.Linear nn.LazyLinear nn.NonDynamicallyQuantizableLinear F.linear", [=[
y = x W^T + b. [*, in_features] -> [*, out_features].
State: weight [out_features, in_features], bias [out_features]; both start as U(±1/√in_features).
The lazy form takes in_features from its first input.
> local y = nn.Linear(20, 30)(lucerna.randn(128, 20))    -- [128, 30]]=]},
{"nn.Bilinear F.bilinear", [=[
y_k = x1^T W_k x2 + b_k. [*, in1], [*, in2] -> [*, out].
State: weight [out, in1, in2], bias [out], both U(±1/√in1).
> local y = nn.Bilinear(2, 3, 4)(lucerna.ones(5, 2), lucerna.ones(5, 3))    -- [5, 4]]=]},
{"nn.Identity", [=[
Returns its input; takes and ignores any arguments when made.
> local x = nn.Identity(54, {unused = true})(lucerna.ones(2))]=]},
{"nn.Dropout F.dropout", [=[
In training, zeros each element with probability p and divides the others by 1 - p; in eval, the
input itself. Any shape. F.dropout has training = true by default. p outside of [0, 1] is refused.
Srivastava et al., JMLR 15 (2014).
> local y = nn.Dropout(0.2)(lucerna.ones(4, 4))]=]},
{"nn.Dropout1d nn.Dropout2d nn.Dropout3d F.dropout1d F.dropout2d F.dropout3d", [=[
Dropout of whole channels: [N, C, *] or [C, *], with 1, 2 or 3 dimensions in *. Each channel of each
item is kept or zeroed as a whole. Tompson et al., arXiv:1411.4280.
> local y = nn.Dropout2d(0.5)(lucerna.ones(2, 3, 4, 4))]=]},
{"nn.AlphaDropout nn.FeatureAlphaDropout F.alpha_dropout F.feature_alpha_dropout", [=[
Dropout that goes with SELU: what is dropped becomes -1.7581 (SELU's lower limit), then all is
scaled and shifted so that mean 0 and variance 1 stay. The feature form drops whole channels. The
functions have training = false by default. Klambauer et al., arXiv:1706.02515.
> local y = nn.AlphaDropout(0.1)(lucerna.randn(4, 4))]=]},
{"nn.CosineSimilarity F.cosine_similarity", [=[
x1·x2 / (max(|x1|, eps) max(|x2|, eps)) along dim. The shapes broadcast; dim goes.
> local c = nn.CosineSimilarity(2)(lucerna.randn(3, 8), lucerna.randn(3, 8))    -- [3]]=]},
{"nn.PairwiseDistance F.pairwise_distance", [=[
|x1 - x2 + eps|_p over the last dimension. [*, D], [*, D] -> [*], with keepdim [*, 1].
> local d = nn.PairwiseDistance()(lucerna.zeros(3, 4), lucerna.ones(3, 4))    -- 2, 2, 2]=]},
{"F.pdist", [=[
The distances |x_i - x_j|_p of all pairs i < j of rows: [N, M] -> [N(N - 1)/2].
> local d = F.pdist(lucerna.randn(4, 3))    -- [6]]=]},
{"F.normalize", [=[
x / max(|x|_p, eps), the norm taken along dim.
> local u = F.normalize(lucerna.randn(3, 4), {dim = 2})]=]},
}

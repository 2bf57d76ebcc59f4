-- Examples of nn.utils; their texts are the comments in the files.
return { title = "Utilities of modules",
{"nn.utils.clip_grad_norm_ nn.utils.clip_grad_norm nn.utils.clip_grad_value_ \
nn.utils.get_total_norm nn.utils.clip_grads_with_norm_", [=[
> local net = nn.Linear(2, 1)
> net(lucerna.ones(4, 2)):sum():backward()
> local norm = nn.utils.clip_grad_norm_(net:parameters(), 1.0)]=]},
{"nn.utils.parameters_to_vector nn.utils.vector_to_parameters", [=[
> local net = nn.Linear(2, 1)
> local v = nn.utils.parameters_to_vector(net:parameters())    -- [3]
> nn.utils.vector_to_parameters(v * 2, net:parameters())]=]},
{"nn.utils.fuse_conv_bn_eval nn.utils.fuse_conv_bn_weights", [=[
> local conv, bn = nn.Conv2d(1, 2, 3):eval(), nn.BatchNorm2d(2):eval()
> local fused = nn.utils.fuse_conv_bn_eval(conv, bn)]=]},
{"nn.utils.fuse_linear_bn_eval nn.utils.fuse_linear_bn_weights", [=[
> local fused = nn.utils.fuse_linear_bn_eval(nn.Linear(3, 2):eval(), nn.BatchNorm1d(2):eval())]=]},
{"nn.utils.weight_norm nn.utils.remove_weight_norm nn.utils.WeightNorm", [=[
> local m = nn.utils.weight_norm(nn.Linear(3, 2))
> nn.utils.remove_weight_norm(m)]=]},
{"nn.utils.spectral_norm nn.utils.remove_spectral_norm nn.utils.SpectralNorm", [=[
> local m = nn.utils.spectral_norm(nn.Linear(3, 2))
> nn.utils.remove_spectral_norm(m)]=]},
{"nn.utils.skip_init", [=[
> local m = nn.utils.skip_init(nn.Linear, 3, 2)]=]},
{"nn.utils.rnn.pack_padded_sequence nn.utils.rnn.pad_packed_sequence nn.utils.rnn.PackedSequence",
[=[
> local rnn = nn.utils.rnn
> local packed = rnn.pack_padded_sequence(lucerna.randn(4, 2, 3), {4, 2})
> local out = nn.GRU(3, 5)(packed)
> local padded, lengths = rnn.pad_packed_sequence(out)    -- [4, 2, 5]]=]},
{"nn.utils.rnn.pad_sequence nn.utils.rnn.unpad_sequence", [=[
> local list = {lucerna.ones(2, 3), lucerna.ones(4, 3)}
> local padded = nn.utils.rnn.pad_sequence(list, {batch_first = true})    -- [2, 4, 3]]=]},
{"nn.utils.rnn.pack_sequence nn.utils.rnn.unpack_sequence", [=[
> local list = {lucerna.ones(4, 3), lucerna.ones(2, 3)}
> local packed = nn.utils.rnn.pack_sequence(list)
> local same = nn.utils.rnn.unpack_sequence(packed)]=]},
{"nn.utils.rnn.invert_permutation", [=[
> local p = nn.utils.rnn.invert_permutation(lucerna.tensor{3, 1, 2})    -- 2 3 1]=]},
{"nn.utils.prune.l1_unstructured nn.utils.prune.random_unstructured nn.utils.prune.identity \
nn.utils.prune.is_pruned nn.utils.prune.remove nn.utils.prune.L1Unstructured \
nn.utils.prune.RandomUnstructured nn.utils.prune.Identity", [=[
> local m = nn.utils.prune.l1_unstructured(nn.Linear(4, 3), "weight", 0.5)
> assert(nn.utils.prune.is_pruned(m))
> nn.utils.prune.remove(m, "weight")]=]},
{"nn.utils.prune.ln_structured nn.utils.prune.random_structured nn.utils.prune.LnStructured \
nn.utils.prune.RandomStructured", [=[
> local m = nn.utils.prune.ln_structured(nn.Linear(4, 3), "weight", 1, 2, 1)]=]},
{"nn.utils.prune.global_unstructured", [=[
> local a, b = nn.Linear(4, 3), nn.Linear(3, 2)
> local prune = nn.utils.prune
> local both = {{a, "weight"}, {b, "weight"}}
> prune.global_unstructured(both, prune.L1Unstructured, {amount = 0.2})]=]},
{"nn.utils.prune.custom_from_mask nn.utils.prune.CustomFromMask", [=[
> local mask = lucerna.tensor{{1.0, 0.0}, {0.0, 1.0}}
> local m = nn.utils.prune.custom_from_mask(nn.Linear(2, 2), "weight", mask)]=]},
{"nn.utils.prune.class nn.utils.prune.BasePruningMethod nn.utils.prune.PruningContainer", [=[
> local Negative = nn.utils.prune.class("Negative")
> Negative.PRUNING_TYPE = "unstructured"
> function Negative:compute_mask(t, mask) return mask * t:gt(0) end
> Negative.apply(nn.Linear(2, 2), "weight")]=]},
{"nn.utils.parametrize.register_parametrization nn.utils.parametrize.remove_parametrizations \
nn.utils.parametrize.is_parametrized nn.utils.parametrize.cached \
nn.utils.parametrize.transfer_parametrizations_and_params \
nn.utils.parametrize.type_before_parametrizations", [=[
> local Symmetric = nn.class("Symmetric")
> function Symmetric:forward(w) return w:triu() + w:triu(1):t() end
> local m, parametrize = nn.Linear(3, 3), nn.utils.parametrize
> parametrize.register_parametrization(m, "weight", Symmetric())
> assert(parametrize.is_parametrized(m, "weight"))
> parametrize.remove_parametrizations(m, "weight")]=]},
{"nn.utils.parametrize.ParametrizationList", [=[
The module m.parametrizations[name]: the original tensor (or original0, original1, …) and the
parametrizations in order; calling it computes the tensor.
> local m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
> local w = m.parametrizations.weight()]=]},
{"nn.utils.parametrizations.orthogonal nn.utils.parametrizations.weight_norm \
nn.utils.parametrizations.spectral_norm", [=[
> local m = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
> local w = m.weight    -- w w^T is the identity]=]},
{"nn.utils.stateless.functional_call func.functional_call", [=[
> local m = nn.Linear(2, 1)
> local y = lucerna.func.functional_call(m, {weight = lucerna.ones(1, 2)}, lucerna.ones(3, 2))]=]},
}

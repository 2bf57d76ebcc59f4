-- Written by tests/parity/gen_utils.py from PyTorch 1.13.0a0: do not edit.
local none = {none = true}
return {
{topic="clip_grad", name="clip_grad_norm_(parameters, 1)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 1), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={4.51386738}}, {shape={2,3}, dtype="float32", data={-0.221539468,-0.166154593,-0.110769734,-0.0553848669,0.0,0.0553848669}}, {shape={2}, dtype="float32", data={-0.221539468,-0.166154593}}, {shape={2,2}, dtype="float32", data={-0.664618373,-0.498463809,-0.332309186,-0.166154593}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 100)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 100), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={4.51386738}}, {shape={2,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25}}, {shape={2}, dtype="float32", data={-1.0,-0.75}}, {shape={2,2}, dtype="float32", data={-3.0,-2.25,-1.5,-0.75}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 1, 1)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 1, 1), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={12.0}}, {shape={2,3}, dtype="float32", data={-0.0833333284,-0.0624999963,-0.0416666642,-0.0208333321,0.0,0.0208333321}}, {shape={2}, dtype="float32", data={-0.0833333284,-0.0624999963}}, {shape={2,2}, dtype="float32", data={-0.249999985,-0.187499985,-0.124999993,-0.0624999963}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 2, 'inf')", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 2, 'inf'), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={3.0}}, {shape={2,3}, dtype="float32", data={-0.666666448,-0.499999821,-0.333333224,-0.166666612,0.0,0.166666612}}, {shape={2}, dtype="float32", data={-0.666666448,-0.499999821}}, {shape={2,2}, dtype="float32", data={-1.99999928,-1.49999952,-0.999999642,-0.499999821}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 1, 3)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 1, 3), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={3.56182694}}, {shape={2,3}, dtype="float32", data={-0.280754715,-0.210566044,-0.140377358,-0.0701886788,0.0,0.0701886788}}, {shape={2}, dtype="float32", data={-0.280754715,-0.210566044}}, {shape={2,2}, dtype="float32", data={-0.842264175,-0.631698132,-0.421132088,-0.210566044}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 0.5, 0.5)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 0.5, 0.5), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={115.820175}}, {shape={2,3}, dtype="float32", data={-0.0043170373,-0.00323777786,-0.00215851865,-0.00107925932,0.0,0.00107925932}}, {shape={2}, dtype="float32", data={-0.0043170373,-0.00323777786}}, {shape={2,2}, dtype="float32", data={-0.0129511114,-0.00971333403,-0.00647555571,-0.00323777786}}}},
{topic="clip_grad", name="clip_grad_norm_(parameters, 0)", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
return utils.clip_grad_norm_(m:parameters(), 0), m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={}, dtype="float32", data={4.51386738}}, {shape={2,3}, dtype="float32", data={-0.0,-0.0,-0.0,-0.0,0.0,0.0}}, {shape={2}, dtype="float32", data={-0.0,-0.0}}, {shape={2,2}, dtype="float32", data={-0.0,-0.0,-0.0,-0.0}}}},
{topic="clip_grad", name="clip_grad_value_", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, {bias = false}), nn.Linear(2, 1))
m[1].weight.grad, m[1].bias.grad, m[2].weight.grad = x(2, 3), x(2), x(2, 2) * 3
utils.clip_grad_value_(m:parameters(), 0.6)
return m[1].weight.grad, m[1].bias.grad, m[2].weight.grad]==],
 out={{shape={2,3}, dtype="float32", data={-0.600000024,-0.600000024,-0.5,-0.25,0.0,0.25}}, {shape={2}, dtype="float32", data={-0.600000024,-0.600000024}}, {shape={2,2}, dtype="float32", data={-0.600000024,-0.600000024,-0.600000024,-0.600000024}}}},
{topic="clip_grad", name="of nothing", lua=[==[return utils.clip_grad_norm_({}, 1)]==],
 out={{shape={}, dtype="float32", data={0.0}}}},
{topic="clip_grad", name="infinite", lua=[==[local p = nn.Parameter(x(2))
p.grad = lucerna.tensor{1.0, math.huge}
return utils.clip_grad_norm_(p, 1), p.grad]==],
 out={{shape={}, dtype="float32", data={math.huge}}, {shape={2}, dtype="float32", data={0.0,0/0}}}},
{topic="clip_grad", name="refuses the infinite", lua=[==[local p = nn.Parameter(x(2))
p.grad = lucerna.tensor{1.0, math.huge}
utils.clip_grad_norm_(p, 1, {error_if_nonfinite = true})]==],
 error=[==[
The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=false`]==]},
{topic="convert_parameters", name="there and back", lua=[==[
local m, other = nn.Linear(3, 2), nn.Linear(3, 2)
local v = utils.parameters_to_vector(m:parameters())
utils.vector_to_parameters(v * 2, other:parameters())
return v, other.weight, other.bias]==],
 out={{shape={8}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646}}, {shape={2,3}, dtype="float32", data={0.762683988,-0.863459826,0.941010952,0.738839805,0.970187306,-0.885319948}}, {shape={2}, dtype="float32", data={-0.775054574,0.549451292}}}},
{topic="fusion", name="nn.Conv2d(2, 3, 3)", lua=[==[local conv, bn, data = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), x(4, 2, 5, 5)
bn.weight.data:copy_(x(3) + 2)
bn.bias.data:copy_(x(3))
bn(conv(data))
local fused = utils.fuse_conv_bn_eval(conv:eval(), bn:eval())
return fused.weight, fused.bias, fused(data:narrow(1, 1, 1)), tostring(fused)]==],
 out={{shape={3,2,3,3}, dtype="float32", data={0.0475666039,-0.0538517274,0.0586883873,0.0460795052,0.0605080388,-0.0552150831,-0.0483381227,0.034267839,-0.0672244951,0.0711780712,0.0153290434,0.00930028223,-0.0615860261,0.0229497943,0.0309675578,0.0114256544,0.0692685246,0.0216275435,-0.129829541,0.123020031,0.0497117117,-0.0698470995,-0.134490967,0.0834661573,0.13914004,-0.119958244,0.00800159387,0.0525291115,-0.0691421032,-0.0320363604,-0.0977646485,-0.0692196116,-0.13348037,-0.00339327217,0.0868123248,0.071211569,0.0882836506,-0.0825363621,-0.0115632303,0.0914997309,0.0153888324,-0.0265015438,-0.0846374258,0.0437320918,0.071345441,0.075358443,0.0786744431,0.0183987319,0.066981636,-0.0236556251,0.0763212591,-0.00804057904,-0.0193799604,-0.0467153266}}, {shape={3}, dtype="float32", data={-1.50877964,-0.0935437083,-1.22255158}}, {shape={1,3,3,3}, dtype="float32", data={-0.387956142,-0.33472085,-0.281485438,-0.121779442,-0.0685440302,-0.0153087378,0.144397259,0.19763267,0.250868082,-1.15823817,-1.21955562,-1.28087282,-1.46482539,-1.52614284,-1.58746028,-1.77141237,-1.83272958,-1.89404702,0.00113999844,0.0818786621,0.162617087,0.404832959,0.485571384,0.566309929,0.808525562,0.889264107,0.970002651}}, [==[
Conv2d(2, 3, kernel_size=(3, 3), stride=(1, 1))]==]}},
{topic="fusion", name="nn.Conv2d(2, 4, 3, {groups = 2, bias = false})", lua=[==[local conv, bn, data = nn.Conv2d(2, 4, 3, {groups = 2, bias = false}), nn.BatchNorm2d(4), x(4, 2, 5, 5)
bn.weight.data:copy_(x(4) + 2)
bn.bias.data:copy_(x(4))
bn(conv(data))
local fused = utils.fuse_conv_bn_eval(conv:eval(), bn:eval())
return fused.weight, fused.bias, fused(data:narrow(1, 1, 1)), tostring(fused)]==],
 out={{shape={4,1,3,3}, dtype="float32", data={0.208156675,-0.23566106,0.256826818,0.201648965,0.26478982,-0.241627276,-0.211532936,0.149959818,-0.294181794,0.101079516,0.0217686761,0.0132072717,-0.0874579251,0.0325908549,0.0439768285,0.0162254982,0.0983677953,0.0307131354,-0.4098804,0.388382316,0.156943142,-0.220511883,-0.424596816,0.263508171,0.439274251,-0.378716052,0.0252615586,0.094930172,-0.124953024,-0.0578958392,-0.176679447,-0.125093102,-0.241224602,-0.00613229303,0.156886503,0.128692955}}, {shape={4}, dtype="float32", data={-1.11907053,-1.31383634,-0.0768111944,0.655108452}}, {shape={1,4,3,3}, dtype="float32", data={-1.92054141,-1.89594674,-1.87135196,-1.79756761,-1.77297294,-1.74837804,-1.67459393,-1.64999914,-1.62540448,-1.15252423,-1.08490634,-1.01728845,-0.814434707,-0.746816814,-0.679198921,-0.476345181,-0.408727229,-0.341109276,-1.06190121,-1.1019851,-1.14206898,-1.26232111,-1.30240464,-1.34248877,-1.4627403,-1.50282466,-1.54290807,-1.27873433,-1.36660171,-1.45446873,-1.71807003,-1.80593753,-1.89380431,-2.15740609,-2.24527335,-2.33314061}}, [==[
Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), groups=2)]==]}},
{topic="fusion", name="transposed weights without bias", lua=[==[return utils.fuse_conv_bn_weights(
x(2, 3, 2), nil, x(3), x(3) + 2, 1e-5, x(3), nil, true)]==],
 out={{shape={2,3,2}, dtype="float32", data={0.999994993,0.749996245,0.335408866,0.167704433,-0.0,-0.102061734,-0.499997497,-0.749996245,-0.670817733,-0.838522196,-0.612370372,-0.71443212}}, {shape={3}, dtype="float32", data={-0.999994993,-0.50311327,-0.204123467}}}},
{topic="fusion", name="linear", lua=[==[local layer, bn = nn.Linear(3, 4), nn.BatchNorm1d(4)
bn(layer(x(5, 3)))
local fused = utils.fuse_linear_bn_eval(layer:eval(), bn:eval())
return fused.weight, fused.bias, fused(x(2, 3))]==],
 out={{shape={4,3}, dtype="float32", data={0.396536916,-0.448932588,0.489253223,0.384340733,0.504686534,-0.460538954,-0.395571351,0.280428261,-0.550126553,0.575556397,0.12395291,0.075203456}}, {shape={4}, dtype="float32", data={-0.49715054,0.161263406,0.281837672,0.0375559404}}, {shape={2,4}, dtype="float32", data={-0.801614642,-0.371322751,0.742151141,-0.668566883,-0.473971456,-0.0499565154,0.243198872,-0.0875322893}}}},
{topic="fusion", name="in training", lua=[==[utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))]==],
 error=[==[
Fusion only for eval!]==]},
{topic="rnn", name="pack_padded_sequence: sorted", lua=[==[local p = rnn.pack_padded_sequence(x(4, 3, 2), {4, 3, 1})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={8,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,2.0,2.25,2.5,2.75,3.5,3.75}}, {shape={4}, dtype="int64", data={3,2,2,1}}, none, none}},
{topic="rnn", name="pack_padded_sequence: equal lengths", lua=[==[local p = rnn.pack_padded_sequence(x(2, 3, 2), {2, 2, 2})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={6,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={2}, dtype="int64", data={3,3}}, none, none}},
{topic="rnn", name="pack_padded_sequence: batch first", lua=[==[local p = rnn.pack_padded_sequence(x(3, 4, 2), {4, 3, 1}, true)
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={8,2}, dtype="float32", data={-1.0,-0.75,1.0,1.25,3.0,3.25,-0.5,-0.25,1.5,1.75,0.0,0.25,2.0,2.25,0.5,0.75}}, {shape={4}, dtype="int64", data={3,2,2,1}}, none, none}},
{topic="rnn", name="pack_padded_sequence: unsorted", lua=[==[local p = rnn.pack_padded_sequence(x(4, 3, 2), {1, 4, 3}, {enforce_sorted = false})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={8,2}, dtype="float32", data={-0.5,-0.25,0.0,0.25,-1.0,-0.75,1.0,1.25,1.5,1.75,2.5,2.75,3.0,3.25,4.0,4.25}}, {shape={4}, dtype="int64", data={3,2,2,1}}, {shape={3}, dtype="int64", data={2,3,1}}, {shape={3}, dtype="int64", data={3,1,2}}}},
{topic="rnn", name="pack_padded_sequence: unsorted, batch first, shorter", lua=[==[local p = rnn.pack_padded_sequence(x(4, 5, 1, 2), lucerna.tensor{1, 3, 3, 2}, true, false)
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={9,1,2}, dtype="float32", data={1.5,1.75,4.0,4.25,6.5,6.75,-1.0,-0.75,2.0,2.25,4.5,4.75,7.0,7.25,2.5,2.75,5.0,5.25}}, {shape={3}, dtype="int64", data={4,3,2}}, {shape={4}, dtype="int64", data={2,3,4,1}}, {shape={4}, dtype="int64", data={4,1,2,3}}}},
{topic="rnn", name="pack_padded_sequence: no features", lua=[==[local p = rnn.pack_padded_sequence(x(3, 2), {3, 2})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={5}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0}}, {shape={3}, dtype="int64", data={2,2,1}}, none, none}},
{topic="rnn", name="pack_padded_sequence: refuses unsorted lengths", lua=[==[local p = rnn.pack_padded_sequence(x(4, 2, 2), {3, 4})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 error=[==[
`lengths` array must be sorted in decreasing order when `enforce_sorted` is true. You can pass `enforce_sorted=false` to pack_padded_sequence and/or pack_sequence to sidestep this requirement]==]},
{topic="rnn", name="pack_padded_sequence: refuses a length of 0", lua=[==[local p = rnn.pack_padded_sequence(x(4, 2, 2), {3, 0})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 error=[==[
Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0]==]},
{topic="rnn", name="pack_padded_sequence: refuses a wrong number of lengths", lua=[==[local p = rnn.pack_padded_sequence(x(4, 2, 2), {3})
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 error=[==[
Expected `len(lengths)` to be equal to batch_size, but got 1 (batch_size=2)]==]},
{topic="rnn", name="pad_packed_sequence: plain, sorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {4, 3, 1}))
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,0.0,0.0,2.0,2.25,2.5,2.75,0.0,0.0,3.5,3.75,0.0,0.0,0.0,0.0}}, {shape={3}, dtype="int64", data={4,3,1}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,0.0,0.0,2.0,2.25,2.5,2.75,0.0,0.0,3.5,3.75,0.0,0.0,0.0,0.0}}}},
{topic="rnn", name="pad_packed_sequence: plain, unsorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {3, 1, 4}, false, false))
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,0.0,0.0,1.5,1.75,2.0,2.25,0.0,0.0,3.0,3.25,0.0,0.0,0.0,0.0,4.5,4.75}}, {shape={3}, dtype="int64", data={3,1,4}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,0.0,0.0,1.5,1.75,2.0,2.25,0.0,0.0,3.0,3.25,0.0,0.0,0.0,0.0,4.5,4.75}}}},
{topic="rnn", name="pad_packed_sequence: batch first, sorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {4, 3, 1}), {batch_first = true})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={3,4,2}, dtype="float32", data={-1.0,-0.75,0.5,0.75,2.0,2.25,3.5,3.75,-0.5,-0.25,1.0,1.25,2.5,2.75,0.0,0.0,0.0,0.25,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={3}, dtype="int64", data={4,3,1}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,1.0,1.25,3.0,3.25,-0.5,-0.25,1.5,1.75,0.0,0.0,0.0,0.25,2.0,2.25,0.0,0.0,0.5,0.75,0.0,0.0,0.0,0.0}}}},
{topic="rnn", name="pad_packed_sequence: batch first, unsorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {3, 1, 4}, false, false), {batch_first = true})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={3,4,2}, dtype="float32", data={-1.0,-0.75,0.5,0.75,2.0,2.25,0.0,0.0,-0.5,-0.25,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.25,1.5,1.75,3.0,3.25,4.5,4.75}}, {shape={3}, dtype="int64", data={3,1,4}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,1.0,1.25,3.0,3.25,-0.5,-0.25,0.0,0.0,3.5,3.75,0.0,0.25,0.0,0.0,4.0,4.25,0.0,0.0,0.0,0.0,4.5,4.75}}}},
{topic="rnn", name="pad_packed_sequence: padding and length, sorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {4, 3, 1}), {padding_value = -7, total_length = 6})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={6,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,-7.0,-7.0,2.0,2.25,2.5,2.75,-7.0,-7.0,3.5,3.75,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0}}, {shape={3}, dtype="int64", data={4,3,1}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,0.0,0.0,2.0,2.25,2.5,2.75,0.0,0.0,3.5,3.75,0.0,0.0,0.0,0.0}}}},
{topic="rnn", name="pad_packed_sequence: padding and length, unsorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {3, 1, 4}, false, false), {padding_value = -7, total_length = 6})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 out={{shape={6,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,-7.0,-7.0,1.5,1.75,2.0,2.25,-7.0,-7.0,3.0,3.25,-7.0,-7.0,-7.0,-7.0,4.5,4.75,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0,-7.0}}, {shape={3}, dtype="int64", data={3,1,4}}, {shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,0.0,0.0,1.5,1.75,2.0,2.25,0.0,0.0,3.0,3.25,0.0,0.0,0.0,0.0,4.5,4.75}}}},
{topic="rnn", name="pad_packed_sequence: refuses a short total, sorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {4, 3, 1}), {total_length = 2})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 error=[==[
Expected total_length to be at least the length of the longest sequence in input, but got total_length=2 and max sequence length being 4]==]},
{topic="rnn", name="pad_packed_sequence: refuses a short total, unsorted", lua=[==[local data = x(4, 3, 2):requires_grad_()
local y, n = rnn.pad_packed_sequence(rnn.pack_padded_sequence(data, {3, 1, 4}, false, false), {total_length = 2})
lucerna.sum(y * x(table.unpack(y:size()))):backward()
return y, n, data.grad]==],
 error=[==[
Expected total_length to be at least the length of the longest sequence in input, but got total_length=2 and max sequence length being 4]==]},
{topic="rnn", name="pad_sequence: plain", lua=[==[return rnn.pad_sequence({x(2, 2), x(4, 2), x(1, 2)})]==],
 out={{shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-1.0,-0.75,-1.0,-0.75,-0.5,-0.25,-0.5,-0.25,0.0,0.0,0.0,0.0,0.0,0.25,0.0,0.0,0.0,0.0,0.5,0.75,0.0,0.0}}}},
{topic="rnn", name="pad_sequence: batch first", lua=[==[return rnn.pad_sequence({x(2, 2), x(4, 2), x(1, 2)}, true)]==],
 out={{shape={3,4,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.0,0.0,0.0,-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,-1.0,-0.75,0.0,0.0,0.0,0.0,0.0,0.0}}}},
{topic="rnn", name="pad_sequence: padding value", lua=[==[return rnn.pad_sequence({x(2, 2), x(4, 2), x(1, 2)}, false, 9)]==],
 out={{shape={4,3,2}, dtype="float32", data={-1.0,-0.75,-1.0,-0.75,-1.0,-0.75,-0.5,-0.25,-0.5,-0.25,9.0,9.0,9.0,9.0,0.0,0.25,9.0,9.0,9.0,9.0,0.5,0.75,9.0,9.0}}}},
{topic="rnn", name="pad_sequence: refuses nothing", lua=[==[rnn.pad_sequence({})]==],
 error=[==[
received an empty list of sequences]==]},
{topic="rnn", name="pad_sequence: refuses a number", lua=[==[rnn.pad_sequence(3)]==],
 error=[==[
pad_sequence: Expected iterable for input sequences, but got arg of type: number]==]},
{topic="rnn", name="unpad_sequence", lua=[==[return table.unpack(rnn.unpad_sequence(x(3, 2, 2), {3, 1}))]==],
 out={{shape={3,2}, dtype="float32", data={-1.0,-0.75,0.0,0.25,1.0,1.25}}, {shape={1,2}, dtype="float32", data={-0.5,-0.25}}}},
{topic="rnn", name="unpad_sequence: batch first", lua=[==[return table.unpack(rnn.unpad_sequence(x(3, 2, 2), lucerna.tensor{2, 1, 2}, true))]==],
 out={{shape={2,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25}}, {shape={1,2}, dtype="float32", data={0.0,0.25}}, {shape={2,2}, dtype="float32", data={1.0,1.25,1.5,1.75}}}},
{topic="rnn", name="pack_sequence", lua=[==[local p = rnn.pack_sequence({x(2), x(4), x(1)}, false)
return p.data, p.batch_sizes, p.sorted_indices, p.unsorted_indices]==],
 out={{shape={7}, dtype="float32", data={-1.0,-1.0,-1.0,-0.75,-0.75,-0.5,-0.25}}, {shape={4}, dtype="int64", data={3,2,1,1}}, {shape={3}, dtype="int64", data={2,1,3}}, {shape={3}, dtype="int64", data={2,1,3}}}},
{topic="rnn", name="unpack_sequence", lua=[==[return table.unpack(rnn.unpack_sequence(rnn.pack_sequence({x(2), x(4), x(1)}, false)))]==],
 out={{shape={2}, dtype="float32", data={-1.0,-0.75}}, {shape={4}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25}}, {shape={1}, dtype="float32", data={-1.0}}}},
{topic="rnn", name="invert_permutation", lua=[==[return rnn.invert_permutation(lucerna.tensor{3, 1, 4, 2})]==],
 out={{shape={4}, dtype="int64", data={2,4,1,3}}}},
{topic="rnn", name="tostring", lua=[==[return tostring(rnn.pack_sequence{x(2), x(1)}),
tostring(rnn.pack_sequence{x(2), x(1)}:double())]==],
 out={[==[
PackedSequence(data=tensor([-1.0000, -1.0000, -0.7500]), batch_sizes=tensor([2, 1]), sorted_indices=None, unsorted_indices=None)]==], [==[
PackedSequence(data=tensor([-1.0000, -1.0000, -0.7500], dtype=torch.float64), batch_sizes=tensor([2, 1]), sorted_indices=None, unsorted_indices=None)]==]}}
}

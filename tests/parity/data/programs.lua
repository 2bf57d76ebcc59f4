-- Written by tests/parity/gen_programs.py from PyTorch 1.13.0a0: do not edit.
local none = {none = true}
return {
{topic="loss", name="linear_cross_entropy mean", lua=[==[
local a, w = x(4, 3):requires_grad_(), x(5, 3):requires_grad_()
local loss = F.linear_cross_entropy(a, w, lucerna.tensor{1, 5, 3, 2}, {weight = x(5) + 2, reduction = "mean", label_smoothing = 0.0})
local _ = loss:sum():backward()
return loss, a.grad, w.grad]==],
 out={{shape={}, dtype="float32", data={3.7377336}}, {shape={4,3}, dtype="float32", data={0.0294629503,0.0294629522,0.029462954,-0.521739185,-0.521739185,-0.521739185,0.347109914,0.347109914,0.347109914,0.483353794,0.483353794,0.483353794}}, {shape={5,3}, dtype="float32", data={0.0148735195,0.0242921542,0.0337107889,-0.314672261,-0.344733834,-0.374795377,-0.148731604,-0.193464234,-0.238196865,0.010360579,0.0396067947,0.0688530058,0.438169807,0.474299133,0.510428429}}}},
{topic="loss", name="linear_cross_entropy none", lua=[==[
local a, w = x(4, 3):requires_grad_(), x(5, 3):requires_grad_()
local loss = F.linear_cross_entropy(a, w, lucerna.tensor{1, 5, 3, 2}, {weight = x(5) + 2, reduction = "none", label_smoothing = 0.1, linear_bias = x(5)})
local _ = loss:sum():backward()
return loss, a.grad, w.grad]==],
 out={{shape={4}, dtype="float32", data={0.787069976,2.34616828,5.94887066,13.1750631}}, {shape={4,3}, dtype="float32", data={-0.020163741,-0.0201637745,-0.0201637968,-2.02534437,-2.02534413,-2.02534413,2.02349854,2.02349877,2.02349854,2.69256878,2.69256878,2.69256878}}, {shape={5,3}, dtype="float32", data={0.0334688388,0.0445091724,0.0555495135,-1.67849636,-1.86481333,-2.05113029,-0.812443614,-1.07009244,-1.32774138,-0.01211295,0.127787605,0.267688155,2.46958399,2.76260877,3.05563378}}}},
{topic="loss", name="LinearCrossEntropyLoss", lua=[==[
local m, a = nn.LinearCrossEntropyLoss(3, 5), x(4, 3):requires_grad_()
local loss = m(a, lucerna.tensor{1, 5, 3, 2})
local _ = loss:backward()
return loss, a.grad, m.linear.weight.grad, keys(m)]==],
 out={{shape={}, dtype="float32", data={1.78746748}}, {shape={4,3}, dtype="float32", data={-0.118955441,0.145001739,-0.139577419,0.135096118,-0.0179194026,-0.0638260394,0.141749889,-0.0471700542,0.145529628,-0.0206853822,-0.103377871,0.127540052}}, {shape={5,3}, dtype="float32", data={0.305109829,0.296305954,0.28750205,-0.269621462,-0.289435685,-0.309249908,-0.193906978,-0.21381864,-0.233730301,0.10947752,0.166997805,0.22451809,0.0489411801,0.0399506688,0.030960165}}, {list={[==[
linear.weight]==]}}}},
{topic="loss", name="triplet_margin_with_distance_loss", lua=[==[
local a, p, n = (x(3, 4) + 1):requires_grad_(), x(3, 4) * 0.5 + 0.5, x(3, 4) * -0.25 - 0.25
local loss = F.triplet_margin_with_distance_loss(a, p, n)
local _ = loss:sum():backward()
return loss, a.grad]==],
 out={{shape={}, dtype="float32", data={0.0994797572}}, {shape={3,4}, dtype="float32", data={4.27615873e-07,2.38418579e-07,5.96046448e-08,-1.49011612e-07,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}}},
{topic="loss", name="triplet_margin_with_distance_loss", lua=[==[
local a, p, n = (x(3, 4) + 1):requires_grad_(), x(3, 4) * 0.5 + 0.5, x(3, 4) * -0.25 - 0.25
local loss = F.triplet_margin_with_distance_loss(a, p, n, {margin = 3, swap = true, reduction = 'none'})
local _ = loss:sum():backward()
return loss, a.grad]==],
 out={{shape={3}, dtype="float32", data={2.76614642,2.2984395,1.8043046}}, {shape={3,4}, dtype="float32", data={2.13808244e-06,0.267262459,0.534522772,0.801783085,0.356348544,0.445435494,0.534522474,0.623609424,0.418166757,0.470437557,0.522708356,0.574979126}}}},
{topic="loss", name="triplet_margin_with_distance_loss", lua=[==[
local a, p, n = (x(3, 4) + 1):requires_grad_(), x(3, 4) * 0.5 + 0.5, x(3, 4) * -0.25 - 0.25
local loss = F.triplet_margin_with_distance_loss(a, p, n, {distance_function = function(a, b) return (a - b):abs():sum(2) end, reduction = 'sum'})
local _ = loss:sum():backward()
return loss, a.grad]==],
 out={{shape={}, dtype="float32", data={0.0}}, {shape={3,4}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}}},
{topic="loss", name="BCELoss ", lua=[==[
local p, y = x(2, 3):sigmoid():requires_grad_(), lucerna.tensor{{0, 1, 0.25}, {1, 0.5, 0}}
local loss = nn.BCELoss()(p, y)
local _ = loss:sum():backward()
return loss, p.grad]==],
 out={{shape={}, dtype="float32", data={0.732372582}}, {shape={2,3}, dtype="float32", data={0.227979898,-0.519500017,0.0904529467,-0.380670905,0.0,0.380670935}}}},
{topic="loss", name="BCELoss {weight = x(3) + 2, reduction = 'none'}", lua=[==[
local p, y = x(2, 3):sigmoid():requires_grad_(), lucerna.tensor{{0, 1, 0.25}, {1, 0.5, 0}}
local loss = nn.BCELoss({weight = x(3) + 2, reduction = 'none'})(p, y)
local _ = loss:sum():backward()
return loss, p.grad]==],
 out={{shape={2,3}, dtype="float32", data={0.313261658,1.42108893,0.898615599,0.825939417,0.866433978,1.23890924}}, {shape={2,3}, dtype="float32", data={1.36787939,-3.89625025,0.814076543,-2.28402543,0.0,3.4260385}}}},
{topic="loss", name="BCELoss {reduction = 'sum'}", lua=[==[
local p, y = x(2, 3):sigmoid():requires_grad_(), lucerna.tensor{{0, 1, 0.25}, {1, 0.5, 0}}
local loss = nn.BCELoss({reduction = 'sum'})(p, y)
local _ = loss:sum():backward()
return loss, p.grad]==],
 out={{shape={}, dtype="float32", data={4.39423561}}, {shape={2,3}, dtype="float32", data={1.36787939,-3.1170001,0.542717695,-2.28402543,0.0,2.28402567}}}},
{topic="loss", name="BCELoss at 0 and 1", lua=[==[
local p = lucerna.tensor{0.0, 1.0, 1.0, 0.0}:requires_grad_()
local loss = nn.BCELoss{reduction = "none"}(p, lucerna.tensor{1.0, 0.0, 1.0, 0.0})
return loss]==],
 out={{shape={4}, dtype="float32", data={100.0,100.0,-0.0,0.0}}}},
{topic="attention", name="multi_head_attention_forward", lua=[==[
local m = nn.MultiheadAttention(4, 2)
local q, k = x(3, 2, 4):requires_grad_(), (x(2, 2, 4) * 0.5):requires_grad_()
local y, weights = F.multi_head_attention_forward(q, k, k, 4, 2, m.in_proj_weight,
  m.in_proj_bias, nil, nil, false, 0, m.out_proj.weight, m.out_proj.bias)
local _ = (y * y):sum():backward()
return y, weights, q.grad, k.grad, m.in_proj_weight.grad, m.out_proj.bias.grad]==],
 out={{shape={3,2,4}, dtype="float32", data={-0.0573567711,0.216256887,-0.0415399484,-0.105723917,-0.14027831,0.295822203,-0.0333413184,-0.155845895,0.102970824,-0.022285277,-0.00223654252,-0.00117049285,-0.0296357274,0.134386808,-0.00829074997,-0.0839804709,0.154282719,-0.0918090567,0.00590125611,0.0316757783,-0.00929929502,0.112512082,-0.00876380131,-0.0714750364}}, {shape={2,3,2}, dtype="float32", data={0.375145912,0.624854088,0.690962911,0.309037149,0.818155527,0.181844488,0.544044018,0.455955982,0.774180532,0.225819394,0.846340179,0.153659895}}, {shape={3,2,4}, dtype="float32", data={-0.0346008949,-0.00897569582,-0.0148659451,-0.00999800954,-0.0621095039,-0.0160451271,-0.0273742639,-0.0176051892,0.00728781288,0.00183931098,0.00366211869,0.00184284861,-0.00600611651,-0.00156977179,-0.00245863991,-0.00179582147,0.00223078765,0.000537666201,0.00138382951,0.000433903624,-0.000408705178,-0.000127606487,4.82854884e-05,-0.000228980018}}, {shape={2,2,4}, dtype="float32", data={-0.22192426,-0.0260263849,0.0411711559,-0.0615266822,-0.00481691211,0.221391127,0.300514221,0.0718125477,-0.0156638306,0.102741577,0.15859741,0.00651801657,-0.0592170656,0.0213118549,0.165366203,-0.0062691737}}, {shape={12,4}, dtype="float32", data={-0.0046216459,-0.00563105522,-0.006640465,-0.00764987478,0.00280577037,0.00341857597,0.00403138204,0.0046441881,-0.0628917664,-0.0196661633,0.0235594288,0.0667850226,-0.0287932828,-0.00900361966,0.0107860416,0.030575702,0.00313233095,0.00313233095,0.00313233072,0.00313233072,-0.00316529209,-0.00316529186,-0.00316529186,-0.00316529186,-0.00512807816,-0.0051280749,-0.00512807537,-0.00512807211,0.040186692,0.040186692,0.0401866883,0.0401866883,0.279287755,0.400342524,0.521397293,0.642452061,-0.177279934,-0.267320544,-0.357361168,-0.447401792,-0.355258703,-0.430383474,-0.505508244,-0.580633044,-0.0260438789,0.00487762783,0.035799142,0.0667206571}}, {shape={4}, dtype="float32", data={0.0413668714,1.2897675,-0.176542222,-0.773039997}}}},
{topic="attention", name="multi_head_attention_forward", lua=[==[
local m = nn.MultiheadAttention(4, 2)
local q, k = x(3, 2, 4):requires_grad_(), (x(2, 2, 4) * 0.5):requires_grad_()
local y, weights = F.multi_head_attention_forward(q, k, k, 4, 2, m.in_proj_weight,
  m.in_proj_bias, nil, nil, false, 0, m.out_proj.weight, m.out_proj.bias, {average_attn_weights = false, training = false})
local _ = (y * y):sum():backward()
return y, weights, q.grad, k.grad, m.in_proj_weight.grad, m.out_proj.bias.grad]==],
 out={{shape={3,2,4}, dtype="float32", data={-0.0573567711,0.216256887,-0.0415399484,-0.105723917,-0.14027831,0.295822203,-0.0333413184,-0.155845895,0.102970824,-0.022285277,-0.00223654252,-0.00117049285,-0.0296357274,0.134386808,-0.00829074997,-0.0839804709,0.154282719,-0.0918090567,0.00590125611,0.0316757783,-0.00929929502,0.112512082,-0.00876380131,-0.0714750364}}, {shape={2,2,3,2}, dtype="float32", data={0.463200629,0.536799371,0.561525524,0.438474476,0.655245066,0.344754905,0.287091225,0.712908804,0.820400238,0.179599792,0.981065929,0.0189340804,0.512483835,0.487516135,0.609393954,0.390605986,0.698377907,0.301622123,0.57560426,0.4243958,0.938967168,0.061032813,0.994302392,0.00569767365}}, {shape={3,2,4}, dtype="float32", data={-0.0346008949,-0.00897569582,-0.0148659451,-0.00999800954,-0.0621095039,-0.0160451271,-0.0273742639,-0.0176051892,0.00728781288,0.00183931098,0.00366211869,0.00184284861,-0.00600611651,-0.00156977179,-0.00245863991,-0.00179582147,0.00223078765,0.000537666201,0.00138382951,0.000433903624,-0.000408705178,-0.000127606487,4.82854884e-05,-0.000228980018}}, {shape={2,2,4}, dtype="float32", data={-0.22192426,-0.0260263849,0.0411711559,-0.0615266822,-0.00481691211,0.221391127,0.300514221,0.0718125477,-0.0156638306,0.102741577,0.15859741,0.00651801657,-0.0592170656,0.0213118549,0.165366203,-0.0062691737}}, {shape={12,4}, dtype="float32", data={-0.0046216459,-0.00563105522,-0.006640465,-0.00764987478,0.00280577037,0.00341857597,0.00403138204,0.0046441881,-0.0628917664,-0.0196661633,0.0235594288,0.0667850226,-0.0287932828,-0.00900361966,0.0107860416,0.030575702,0.00313233095,0.00313233095,0.00313233072,0.00313233072,-0.00316529209,-0.00316529186,-0.00316529186,-0.00316529186,-0.00512807816,-0.0051280749,-0.00512807537,-0.00512807211,0.040186692,0.040186692,0.0401866883,0.0401866883,0.279287755,0.400342524,0.521397293,0.642452061,-0.177279934,-0.267320544,-0.357361168,-0.447401792,-0.355258703,-0.430383474,-0.505508244,-0.580633044,-0.0260438789,0.00487762783,0.035799142,0.0667206571}}, {shape={4}, dtype="float32", data={0.0413668714,1.2897675,-0.176542222,-0.773039997}}}},
{topic="containers", name="ParameterList", lua=[==[
local m = nn.ParameterList{nn.Parameter(x(2, 3)), nn.Parameter(x(3))}
m:append(nn.Parameter(x(2)))
local y = F.linear(x(4, 3), m[1], m[3])
local _ = y:sum():backward()
return tostring(m), keys(m), y, m[1].grad, m[3].grad, #m]==],
 out={[==[
ParameterList(
    (0): Parameter containing: [torch.float32 of size 2x3]
    (1): Parameter containing: [torch.float32 of size 3]
    (2): Parameter containing: [torch.float32 of size 2]
)]==], {list={[==[
0]==], [==[
1]==], [==[
2]==]}}, {shape={4,2}, dtype="float32", data={0.8125,-0.625,-0.875,-0.625,-2.5625,-0.625,-4.25,-0.625}}, {shape={2,3}, dtype="float32", data={0.5,1.5,2.5,0.5,1.5,2.5}}, {shape={2}, dtype="float32", data={4.0,4.0}}, 3}},
{topic="containers", name="ParameterDict", lua=[==[
local m = nn.ParameterDict{{"b", nn.Parameter(x(2))}, {"w", nn.Parameter(x(2, 3))}}
local y = F.linear(x(4, 3), m.w, m.b)
local _ = y:sum():backward()
return tostring(m), keys(m), y, m.w.grad, m.b.grad, #m]==],
 out={[==[
ParameterDict(
    (b): Parameter containing: [torch.FloatTensor of size 2]
    (w): Parameter containing: [torch.FloatTensor of size 2x3]
)]==], {list={[==[
b]==], [==[
w]==]}}, {shape={4,2}, dtype="float32", data={0.8125,-0.625,-0.875,-0.625,-2.5625,-0.625,-4.25,-0.625}}, {shape={2,3}, dtype="float32", data={0.5,1.5,2.5,0.5,1.5,2.5}}, {shape={2}, dtype="float32", data={4.0,4.0}}, 2}},
{topic="pooling", name="LPPool3d", lua=[==[
local a = (x(1, 1, 4, 4, 4) + 3):requires_grad_()
local y = nn.LPPool3d(3, 2)(a)
local _ = y:sum():backward()
return y, a.grad]==],
 out={{shape={1,1,2,2,2}, dtype="float32", data={10.8149128,11.6998768,14.4296036,15.3588467,25.9084244,26.8845387,29.8220711,30.8038464}}, {shape={1,1,4,4,4}, dtype="float32", data={0.0341990441,0.0432831682,0.0456580594,0.0552462526,0.076947853,0.0903068557,0.0894897953,0.102730632,0.0768442154,0.0867499113,0.085843578,0.0956467018,0.120069087,0.132376164,0.128235474,0.140158191,0.307791412,0.333975047,0.308648497,0.332847267,0.418938309,0.449396819,0.410922527,0.43877396,0.307376862,0.326888084,0.306281418,0.324562907,0.38902384,0.410936445,0.382586807,0.402987927,0.148976594,0.156518534,0.152536392,0.159886494,0.180261672,0.188548505,0.182974488,0.191016376,0.161914915,0.168731645,0.164668351,0.17132096,0.190025151,0.197404087,0.192069173,0.199248701,0.291994125,0.302515596,0.290891379,0.301008612,0.33519733,0.34646368,0.332397908,0.343206882,0.287848741,0.296914309,0.286918133,0.295678496,0.324954242,0.334582001,0.322749972,0.33203727}}}},
{topic="norm", name="SyncBatchNorm", lua=[==[
local m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))
m:eval()
local a = x(4, 3):requires_grad_()
local y = m(a)
local _ = y:sum():backward()
return tostring(m), keys(m), y, a.grad]==],
 out={[==[
Sequential(
  (0): SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
)]==], {list={[==[
0.weight]==], [==[
0.bias]==], [==[
0.running_mean]==], [==[
0.running_var]==], [==[
0.num_batches_tracked]==]}}, {shape={4,3}, dtype="float32", data={-0.999994993,-0.749996245,-0.499997497,-0.249998748,0.0,0.249998748,0.499997497,0.749996245,0.999994993,1.2499938,1.49999249,1.74999118}}, {shape={4,3}, dtype="float32", data={0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993,0.999994993}}}},
{topic="rnn", name="RNNBase", lua=[==[
local m = nn.RNNBase("LSTM", 3, 2, {bidirectional = true})
local shapes = {}
for _, each in ipairs(m.all_weights) do
  for _, w in ipairs(each) do shapes[#shapes + 1] = "[" .. table.concat(w.shape, ", ") .. "]" end
end
return tostring(m), keys(m), m.weight_ih_l0, m.bias_hh_l0_reverse, shapes]==],
 out={[==[
RNNBase(3, 2, bidirectional=True)]==], {list={[==[
weight_ih_l0]==], [==[
weight_hh_l0]==], [==[
bias_ih_l0]==], [==[
bias_hh_l0]==], [==[
weight_ih_l0_reverse]==], [==[
weight_hh_l0_reverse]==], [==[
bias_ih_l0_reverse]==], [==[
bias_hh_l0_reverse]==]}}, {shape={8,3}, dtype="float32", data={0.467046678,-0.528759003,0.576249123,0.452445149,0.594115973,-0.54214555,-0.474622071,0.336468816,-0.660063446,0.698882759,0.15051271,0.0913175493,-0.604700446,0.225339308,0.304064035,0.112186141,0.680133402,0.212356389,-0.627014339,0.594127655,0.240083709,-0.337327957,-0.649526775,0.403101474}}, {shape={8}, dtype="float32", data={-0.0670917109,-0.314017713,-0.494160652,0.1567792,0.0455034226,-0.10600733,-0.256327182,0.602678239}}, {list={[==[
[8, 3]]==], [==[
[8, 2]]==], [==[
[8]]==], [==[
[8]]==], [==[
[8, 3]]==], [==[
[8, 2]]==], [==[
[8]]==], [==[
[8]]==]}}}},
{topic="layer", name="CrossMapLRN2d 1", lua=[==[
return nn.CrossMapLRN2d(1, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.502973378,-0.404046714,-0.242450461,-0.133314908,0.0,0.133314908,0.242450461,0.37030822,0.438691348,0.539949238,0.570966005,0.641402543,0.647322357,0.692475557,0.733955264,0.73759234,0.548997939,0.535788476,0.569775343,0.553739905,0.580076814,0.562882423,0.583122969,0.565798283,0.581263661,0.564405262,0.576161087,0.560088515}}}},
{topic="layer", name="CrossMapLRN2d 2", lua=[==[
return nn.CrossMapLRN2d(2, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.544331074,-0.423794985,-0.266629815,-0.140496552,0.0,0.140496552,0.266629815,0.404046714,0.502973378,0.62288624,0.69067198,0.786209583,0.826261401,0.897377431,0.964103937,0.992700338,0.801399469,0.795492589,0.847575963,0.835280776,0.877123892,0.860869288,0.894114554,0.8756513,0.901851952,0.882383704,0.902895868,0.883218467}}}},
{topic="layer", name="CrossMapLRN2d 3", lua=[==[
return nn.CrossMapLRN2d(3, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.552015841,-0.429290354,-0.276007921,-0.142567784,0.0,0.13800396,0.261349887,0.382015228,0.468274474,0.554146588,0.602401376,0.654868305,0.834296405,0.889231682,0.803578973,0.819881022,0.729939461,0.726979554,0.659875154,0.648694515,0.656651556,0.644139647,0.647963583,0.63514328,0.636216521,0.623643458,0.839963853,0.822623789}}}},
{topic="layer", name="CrossMapLRN2d 4", lua=[==[
return nn.CrossMapLRN2d(4, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.561986208,-0.433318794,-0.280993104,-0.14403367,0.0,0.140496552,0.269364476,0.395938575,0.493744314,0.59038192,0.652942538,0.717808425,0.898525238,0.966367185,0.89974612,0.926500559,0.842503667,0.845278919,0.777137399,0.768173516,0.779978514,0.768410265,0.774934769,0.762178242,0.765067816,0.751970589,1.00162208,0.984123528}}}},
{topic="layer", name="CrossMapLRN2d 5", lua=[==[
return nn.CrossMapLRN2d(5, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.568173289,-0.43479073,-0.281605512,-0.142043322,0.0,0.134682238,0.253389508,0.367621571,0.455896616,0.53666687,0.683844924,0.752476275,0.917838275,0.980931044,0.776997805,0.796448708,0.749964952,0.753179669,0.710934281,0.705222964,0.667940915,0.657637656,0.657286942,0.646362901,0.786591649,0.772130668,0.965410173,0.947130978}}}},
{topic="layer", name="CrossMapLRN2d 7", lua=[==[
return nn.CrossMapLRN2d(7, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.571780741,-0.431581616,-0.278831065,-0.13835372,0.0,0.1288625,0.242450461,0.348242074,0.484900922,0.580403447,0.731084585,0.813544393,0.974779427,1.0472486,0.735879183,0.75651139,0.732424259,0.739338994,0.713216543,0.711650789,0.685753465,0.6791749,0.771472633,0.759077847,0.898786843,0.882657826,1.06005335,1.04032624}}}},
{topic="layer", name="CrossMapLRN2d 12", lua=[==[
return nn.CrossMapLRN2d(12, 0.5, 0.75, 2)(x(2, 7, 2, 1))]==],
 out={{shape={2,7,2,1}, dtype="float32", data={-0.553976774,-0.408958465,-0.262212902,-0.127439678,0.0,0.127439678,0.262212902,0.382319033,0.524425805,0.637198389,0.786638737,0.892077744,1.04885161,1.14695716,0.677880108,0.701407731,0.700232625,0.712847292,0.816938043,0.822516084,0.93364346,0.932184935,1.05034888,1.04185379,1.1670543,1.15152252,1.28375971,1.26119137}}}},
{topic="layer", name="CrossMapLRN2d of none", lua=[==[
return nn.CrossMapLRN2d(3)(x(0, 3, 2, 2))]==],
 out={{shape={0,3,2,2}, dtype="float32", data={}}}},
{topic="edges", name="nn.LogSigmoid()", lua=[==[
local m, a = nn.LogSigmoid(), x(2, 0, 3):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
LogSigmoid()]==], {shape={2,0,3}, dtype="float32", data={}}, {shape={2,0,3}, dtype="float32", data={}}}},
{topic="edges", name="nn.Softsign()", lua=[==[
local m, a = nn.Softsign(), x(1):reshape({}):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
Softsign()]==], {shape={}, dtype="float32", data={-0.5}}, {shape={}, dtype="float32", data={-0.25}}}},
{topic="edges", name="nn.Tanhshrink()", lua=[==[
local m, a = nn.Tanhshrink(), x(2, 1, 2):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
Tanhshrink()]==], {shape={2,1,2}, dtype="float32", data={-0.238405824,-0.114851058,-0.0378828347,-0.00508134067}}, {shape={2,1,2}, dtype="float32", data={-0.276562989,-0.0926650912,-0.0161799341,-0.00060961023}}}},
{topic="edges", name="nn.Threshold(0.2, -1, true)", lua=[==[
local m, a = nn.Threshold(0.2, -1, true), x(0, 2):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
Threshold(threshold=0.2, value=-1, inplace=True)]==], {shape={0,2}, dtype="float32", data={}}, {shape={0,2}, dtype="float32", data={}}}},
{topic="edges", name="nn.Threshold(-0.3, 5)", lua=[==[
local m, a = nn.Threshold(-0.3, 5), x(3, 3):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
Threshold(threshold=-0.3, value=5)]==], {shape={3,3}, dtype="float32", data={5.0,5.0,5.0,-0.25,0.0,0.25,0.5,0.75,1.0}}, {shape={3,3}, dtype="float32", data={0.0,0.0,0.0,-0.5,0.0,0.5,1.0,1.5,2.0}}}},
{topic="edges", name="nn.Softmax()", lua=[==[
local m, a = nn.Softmax(), x(2, 2, 3):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
Softmax(dim=None)]==], {shape={2,2,3}, dtype="float32", data={0.182425514,0.182425514,0.182425514,0.182425514,0.182425514,0.182425514,0.817574441,0.817574441,0.817574441,0.817574441,0.817574441,0.817574441}}, {shape={2,2,3}, dtype="float32", data={-0.189460412,-0.189460412,-0.189460412,-0.189460412,-0.189460412,-0.189460412,0.189460412,0.189460412,0.189460412,0.189460412,0.189460412,0.189460412}}}},
{topic="edges", name="nn.LogSoftmax(1)", lua=[==[
local m, a = nn.LogSoftmax(1), x(4):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m):gsub('dim=1', 'dim=0')), y, a.grad]==],
 out={[==[
LogSoftmax(dim=0)]==], {shape={4}, dtype="float32", data={-1.8000164,-1.5500164,-1.3000164,-1.0500164}}, {shape={4}, dtype="float32", data={-1.71563458,-0.680417717,0.506814599,1.88923812}}}},
{topic="edges", name="nn.AdaptiveAvgPool1d(4)", lua=[==[
local m, a = nn.AdaptiveAvgPool1d(4), x(2, 7):requires_grad_()
local y = m(a * 1)
local _ = (y * y):sum():backward()
return (tostring(m)), y, a.grad]==],
 out={[==[
AdaptiveAvgPool1d(output_size=4)]==], {shape={2,4}, dtype="float32", data={-0.875,-0.5,0.0,0.375,0.875,1.25,1.75,2.125}}, {shape={2,7}, dtype="float32", data={-0.875,-1.20833337,-0.333333343,-0.333333343,0.0,0.375,0.375,0.875,1.70833325,0.833333313,2.0,1.16666663,3.29166651,2.125}}}},
{topic="edges", name="MaxUnpool1d", lua=[==[
local a = x(1, 7):sin():requires_grad_()
local y, at = nn.MaxPool1d(2, {return_indices = true})(a)
local z = nn.MaxUnpool1d(2)(y, at, {output_size = {7}})
local _ = (z * z):sum():backward()
return z, a.grad]==],
 out={{shape={1,7}, dtype="float32", data={0.0,-0.681638777,0.0,-0.247403964,0.0,0.247403964,0.0}}, {shape={1,7}, dtype="float32", data={0.0,-1.36327755,0.0,-0.494807929,0.0,0.494807929,0.0}}}},
{topic="edges", name="MaxUnpool3d", lua=[==[
local a = x(2, 1, 4, 2, 4):sin():requires_grad_()
local y, at = nn.MaxPool3d({2, 1, 2}, {return_indices = true})(a)
local z = nn.MaxUnpool3d{2, 1, 2}(y, at)
local _ = (z * z):sum():backward()
return z, a.grad]==],
 out={{shape={2,1,4,2,4}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.681638777,0.0,0.948984623,0.997494996,0.0,0.909297407,0.0,0.0,0.0,0.141120002,0.0,-0.350783229,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,-0.0331792161,0.0,0.450044066,0.0,0.823080897,0.0,0.994598746,0.989358246,0.0,0.798487127,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.63161099,0.0,0.925982475,0.0,0.993641078,0.934895039,0.0}}, {shape={2,1,4,2,4}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.36327755,0.0,1.89796925,1.99498999,0.0,1.81859481,0.0,0.0,0.0,0.282240003,0.0,-0.701566458,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,-0.0663584322,0.0,0.900088131,0.0,1.64616179,0.0,1.98919749,1.97871649,0.0,1.59697425,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.26322198,0.0,1.85196495,0.0,1.98728216,1.86979008,0.0}}}},
{topic="init", name="constant_(t, -3)", lua=[==[
local t = x(0, 2)
return nn.init.constant_(t, -3), t]==],
 out={{shape={0,2}, dtype="float32", data={}}, {shape={0,2}, dtype="float32", data={}}}},
{topic="init", name="ones_(t)", lua=[==[
local t = x(1)
return nn.init.ones_(t), t]==],
 out={{shape={1}, dtype="float32", data={1.0}}, {shape={1}, dtype="float32", data={1.0}}}},
{topic="init", name="zeros_(t)", lua=[==[
local t = x(2, 0)
return nn.init.zeros_(t), t]==],
 out={{shape={2,0}, dtype="float32", data={}}, {shape={2,0}, dtype="float32", data={}}}},
{topic="init", name="eye_(t)", lua=[==[
local t = x(4, 2)
return nn.init.eye_(t), t]==],
 out={{shape={4,2}, dtype="float32", data={1.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0}}, {shape={4,2}, dtype="float32", data={1.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0}}}},
{topic="init", name="xavier_normal_(t, 2)", lua=[==[
local t = x(2, 3, 2)
return nn.init.xavier_normal_(t, 2), t]==],
 out={{shape={2,3,2}, dtype="float32", data={-0.435389936,-0.540074468,-0.499176443,0.597051859,-0.176573426,1.73767841,-1.2537204,-0.682051837,0.56457442,-0.804210961,-0.498905629,0.617797673}}, {shape={2,3,2}, dtype="float32", data={-0.435389936,-0.540074468,-0.499176443,0.597051859,-0.176573426,1.73767841,-1.2537204,-0.682051837,0.56457442,-0.804210961,-0.498905629,0.617797673}}}},
{topic="clip_grad", name="clip_grad_norm", lua=[==[
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2

return utils.clip_grad_norm(m:parameters(), 0.7), m.weight.grad, m.bias.grad]==],
 out={{shape={}, dtype="float32", data={2.86138082}}, {shape={2,3}, dtype="float32", data={-0.244637042,-0.183477789,-0.122318521,-0.0611592606,0.0,0.0611592606}}, {shape={2}, dtype="float32", data={-0.489274085,-0.366955578}}}},
{topic="clip_grad", name="get_total_norm 2", lua=[==[
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2

return utils.get_total_norm({m.weight.grad, m.bias.grad}, 2)]==],
 out={{shape={}, dtype="float32", data={2.86138082}}}},
{topic="clip_grad", name="get_total_norm 1", lua=[==[
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2

return utils.get_total_norm({m.weight.grad, m.bias.grad}, 1)]==],
 out={{shape={}, dtype="float32", data={6.25}}}},
{topic="clip_grad", name="get_total_norm math.huge", lua=[==[
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2

return utils.get_total_norm({m.weight.grad, m.bias.grad}, math.huge)]==],
 out={{shape={}, dtype="float32", data={2.0}}}},
{topic="clip_grad", name="clip_grads_with_norm_", lua=[==[
local m = nn.Linear(3, 2)
m.weight.grad, m.bias.grad = x(2, 3), x(2) * 2

local norm = utils.get_total_norm({m.weight.grad, m.bias.grad})
utils.clip_grads_with_norm_(m:parameters(), 0.7, norm)
return m.weight.grad, m.bias.grad]==],
 out={{shape={2,3}, dtype="float32", data={-0.244637042,-0.183477789,-0.122318521,-0.0611592606,0.0,0.0611592606}}, {shape={2}, dtype="float32", data={-0.489274085,-0.366955578}}}},
{topic="fusion", name="fuse_linear_bn_weights", lua=[==[
local weight, bias = utils.fuse_linear_bn_weights(x(2, 3), x(2), x(2) * 3, x(2) + 2, 1e-3,
  x(2) + 1.5, x(2) - 1)
return weight:detach(), bias:detach()]==],
 out={{shape={2,3}, dtype="float32", data={-0.499750197,-0.374812663,-0.249875098,-0.167638049,0.0,0.167638049}}, {shape={2}, dtype="float32", data={-1.00049961,-0.744171739}}}},
{topic="fusion", name="fuse_conv_bn_weights", lua=[==[
local weight, bias = utils.fuse_conv_bn_weights(x(2, 3, 2), nil, x(2) * 3, x(2) + 2, 1e-3,
  x(2) + 1.5, nil)
return weight:detach(), bias:detach()]==],
 out={{shape={2,3,2}, dtype="float32", data={-0.499750197,-0.374812663,-0.249875098,-0.124937549,0.0,0.124937549,0.335276097,0.502914131,0.670552194,0.838190258,1.00582826,1.17346632}}, {shape={2}, dtype="float32", data={1.49925065,1.50874233}}}},
{topic="fusion", name="fuse_linear_bn_eval", lua=[==[
local m, bn = nn.Linear(3, 2, {bias = false}), nn.BatchNorm1d(2, {eps = 0.1})
bn(m(x(4, 3)))
return utils.fuse_linear_bn_eval(m:eval(), bn:eval())(x(2, 3))]==],
 out={{shape={2,2}, dtype="float32", data={-0.308241099,-0.503068507,0.00427217782,-0.196605429}}}},
{topic="convert_parameters", name="there and back", lua=[==[
local m = nn.Sequential(nn.Linear(2, 1), nn.PReLU())
local v = utils.parameters_to_vector(m:parameters())
utils.vector_to_parameters(v * 2 + 1, m:parameters())
return v, m[1].weight, m[1].bias, m[2].weight]==],
 out={{shape={4}, dtype="float32", data={0.467046678,-0.528759003,0.576249123,0.25}}, {shape={1,2}, dtype="float32", data={1.93409336,-0.0575180054}}, {shape={1}, dtype="float32", data={2.15249825}}, {shape={1}, dtype="float32", data={1.5}}}},
{topic="skip_init", name="skip_init", lua=[==[
local m = utils.skip_init(nn.Linear, 3, 2)
return tostring(m), keys(m), m.weight.shape, lucerna.rand(2)]==],
 out={[==[
Linear(in_features=3, out_features=2, bias=True)]==], {list={[==[
weight]==], [==[
bias]==]}}, {list={2, 3}}, {shape={2}, dtype="float32", data={0.830251873,0.126110911}}}},
{topic="rnn", name="PackedSequence", lua=[==[
local p = rnn.PackedSequence(x(6, 2), lucerna.tensor{3, 2, 1})
local padded, lengths = rnn.pad_packed_sequence(p)
return p.data, p.batch_sizes, padded, lengths]==],
 out={{shape={6,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={3}, dtype="int64", data={3,2,1}}, {shape={3,3,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,0.0,0.0,1.5,1.75,0.0,0.0,0.0,0.0}}, {shape={3}, dtype="int64", data={3,2,1}}}},
{topic="parametrize", name="what is asked of modules", lua=[==[
local m, plain = nn.Linear(3, 2), nn.Linear(2, 2)
parametrize.register_parametrization(m, "weight", Scale(2))
local flags = {parametrize.is_parametrized(m), parametrize.is_parametrized(m, "bias"),
  parametrize.is_parametrized(m, "weight"), parametrize.is_parametrized(plain)}
for i, flag in ipairs(flags) do flags[i] = flag and "True" or "False" end
local list = m.parametrizations.weight -- a ParametrizationList
assert(nn.isinstance(list, parametrize.ParametrizationList))
local before = parametrize.type_before_parametrizations(m) == nn.Linear and "Linear"
return flags, m:_get_name(), before, tostring(list), keys(list)]==],
 out={{list={[==[
True]==], [==[
False]==], [==[
True]==], [==[
False]==]}}, [==[
ParametrizedLinear]==], [==[
Linear]==], [==[
ParametrizationList(
  (0): Scale()
)]==], {list={[==[
original]==], [==[
0.factor]==]}}}},
{topic="parametrize", name="one tensor's parametrizations moved", lua=[==[
local a, b = nn.Linear(3, 2), nn.Linear(3, 2)
parametrize.register_parametrization(a, "weight", Scale(2))
parametrize.register_parametrization(a, "weight", Scale(-1))
parametrize.transfer_parametrizations_and_params(a, b, "weight")
assert(nn.isinstance(b.parametrizations.weight, parametrize.ParametrizationList))
return parametrize.is_parametrized(b, "weight") and "True" or "False",
  #b.parametrizations.weight,
  parametrize.type_before_parametrizations(b) == nn.Linear and "Linear", b.weight, keys(b)]==],
 out={[==[
True]==], 2, [==[
Linear]==], {shape={2,3}, dtype="float32", data={-0.381341994,0.431729913,-0.470505476,-0.369419903,-0.485093653,0.442659974}}, {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.factor]==], [==[
parametrizations.weight.1.factor]==]}}}},
{topic="parametrize", name="cached", lua=[==[
local m = parametrize.register_parametrization(nn.Linear(3, 2), "weight", Scale(2))
local function flag(value) return value and "True" or "False" end
local first, same
parametrize.cached(function()
  first = m.weight
  same = rawequal(first, m.weight)
  ;(m(x(2, 3)) * m(x(2, 3))):sum():backward()
end)
return flag(same), flag(rawequal(m.weight, m.weight)), first,
  m.parametrizations.weight.original.grad]==],
 out={[==[
True]==], [==[
False]==], {shape={2,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={3.0865345,2.04097366,0.995412707,0.87703228,0.711553454,0.546074629}}}},
{topic="prune", name="Identity.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.Identity.apply(m, "weight")
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={1.0,1.0,1.0,1.0,1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="RandomUnstructured.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.RandomUnstructured.apply(m, "weight", 2)
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.381341994,-0.0,0.470505476,0.369419903,0.485093653,-0.0}}, {shape={2,3}, dtype="float32", data={1.0,0.0,1.0,1.0,1.0,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="L1Unstructured.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.L1Unstructured.apply(m, "weight", 0.5)
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.0,-0.0,0.470505476,0.0,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={0.0,0.0,1.0,0.0,1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="RandomStructured.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.RandomStructured.apply(m, "weight", 1, 2)
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="LnStructured.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.LnStructured.apply(m, "weight", 1, 2, 1)
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.0,-0.0,0.0,0.369419903,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={0.0,0.0,0.0,1.0,1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="CustomFromMask.apply", lua=[==[
local m = nn.Linear(3, 2)
prune.CustomFromMask.apply(m, "weight", lucerna.tensor{{1.0, 0.0, 1.0}, {0.0, 1.0, 1.0}})
return m.weight, m.weight_mask, keys(m)]==],
 out={{shape={2,3}, dtype="float32", data={0.381341994,-0.0,0.470505476,0.0,0.485093653,-0.442659974}}, {shape={2,3}, dtype="float32", data={1.0,0.0,1.0,0.0,1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="a method of one's own", lua=[==[
local Negative = prune.class("Negative", prune.BasePruningMethod)
Negative.PRUNING_TYPE = "unstructured"
function Negative:compute_mask(t, default_mask) return default_mask * t:gt(0) end

local m = nn.Linear(3, 2)
Negative.apply(m, "weight")
prune.l1_unstructured(m, "weight", 1)
return m.weight_mask]==],
 out={{shape={2,3}, dtype="float32", data={1.0,0.0,1.0,0.0,1.0,0.0}}}},
{topic="prune", name="PruningContainer", lua=[==[
local Negative = prune.class("Negative", prune.BasePruningMethod)
Negative.PRUNING_TYPE = "unstructured"
function Negative:compute_mask(t, default_mask) return default_mask * t:gt(0) end

local first, second = Negative(), prune.L1Unstructured(1)
first._tensor_name, second._tensor_name = "weight", "weight"
local container = prune.PruningContainer(first)
container:add_pruning_method(second)
return container:compute_mask(x(2, 3), lucerna.tensor{{1.0, 0.0, 1.0}, {0.0, 1.0, 1.0}}), #container]==],
 out={{shape={2,3}, dtype="float32", data={1.0,0.0,1.0,0.0,0.0,1.0}}, 2}},
{topic="swa_utils", name="get_ema_avg_fn", lua=[==[
return swa_utils.get_ema_avg_fn(0.9)(x(2, 3), x(2, 3) * 3 + 1, 4)]==],
 out={{shape={2,3}, dtype="float32", data={-1.10000002,-0.799999952,-0.5,-0.199999988,0.100000001,0.399999976}}}},
{topic="swa_utils", name="get_swa_avg_fn", lua=[==[
return swa_utils.get_swa_avg_fn()(x(2, 3), x(2, 3) * 3 + 1, lucerna.tensor(4))]==],
 out={{shape={2,3}, dtype="float32", data={-1.20000005,-0.850000024,-0.5,-0.150000006,0.200000003,0.550000012}}}},
{topic="swa_utils", name="get_ema_multi_avg_fn", lua=[==[
local as, bs = {x(2, 3), x(2, 3) * 3 + 1}, {x(2, 3) * 3 + 1, x(2, 3)}
swa_utils.get_ema_multi_avg_fn(0.9)(as, bs, 4)
return as[1], as[2]]==],
 out={{shape={2,3}, dtype="float32", data={-1.10000002,-0.799999952,-0.5,-0.199999988,0.100000001,0.399999976}}, {shape={2,3}, dtype="float32", data={-1.89999998,-1.20000005,-0.5,0.199999988,0.899999976,1.5999999}}}},
{topic="swa_utils", name="get_swa_multi_avg_fn", lua=[==[
local as, bs = {x(2, 3), x(2, 3) * 3 + 1}, {x(2, 3) * 3 + 1, x(2, 3)}
swa_utils.get_swa_multi_avg_fn()(as, bs, 4)
return as[1], as[2]]==],
 out={{shape={2,3}, dtype="float32", data={-1.20000005,-0.850000024,-0.5,-0.150000006,0.200000003,0.550000012}}, {shape={2,3}, dtype="float32", data={-1.79999995,-1.14999998,-0.5,0.150000006,0.800000012,1.45000005}}}},
{topic="swa_utils", name="update_bn", lua=[==[
local m = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, {momentum = lucerna.none})):eval()
swa_utils.update_bn({{x(4, 3), 1}, {x(2, 3) * 2, 2}}, m)
return m[2].running_mean, m[2].running_var, m[2].num_batches_tracked,
  m.training and "True" or "False"]==],
 out={{shape={2}, dtype="float32", data={-0.432863027,-0.10702683}}, {shape={2}, dtype="float32", data={0.182014346,0.174924076}}, {shape={}, dtype="int64", data={2}}, [==[
False]==]}},
{topic="lr_scheduler", name="ChainedScheduler", lua=[==[
local o, lr = lucerna.optim.SGD({nn.Parameter(x(1))}, {lr = 1.0}), lucerna.optim.lr_scheduler
local scheduler = lr.ChainedScheduler{lr.StepLR(o, 2, 0.5), lr.ExponentialLR(o, 0.9)}
local rates = {}
for i = 1, 5 do
  o:step()
  scheduler:step()
  rates[i] = scheduler:get_last_lr()[1]
end
return lucerna.tensor(rates)]==],
 out={{shape={5}, dtype="float32", data={0.899999976,0.405000001,0.364499986,0.164024994,0.147622496}}}}
}

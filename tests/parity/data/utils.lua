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
{topic="clone", name="tensors", lua=[==[local m = nn.Linear(2, 2)
local _ = m(x(1, 2)):sum():backward()
m.bias:requires_grad_(false)
m.scale = x(3):requires_grad_()
local _ = (m.scale * 2):sum():backward()
m.kept = m.scale.grad
m:register_buffer("all", x(6))
m:register_buffer("part", m.all:narrow(1, 2, 2), false)
m.raw = m.weight.data
m.turned = x(2, 3):t()
local c = m:clone()
local function flag(value) return value and "yes" or "no" end
c.all:fill_(9)
c.kept:fill_(4)
c.raw:fill_(3)
return c.weight.grad, flag(c.weight.requires_grad), flag(c.bias.requires_grad), c.scale,
  c.scale.grad, m.scale.grad, c.part, m.part, c.weight, c.turned:stride(), keys(c)]==],
 out={none, [==[
yes]==], [==[
no]==], {shape={3}, dtype="float32", data={-1.0,-0.75,-0.5}}, {shape={3}, dtype="float32", data={4.0,4.0,4.0}}, {shape={3}, dtype="float32", data={2.0,2.0,2.0}}, {shape={2}, dtype="float32", data={9.0,9.0}}, {shape={2}, dtype="float32", data={-0.75,-0.5}}, {shape={2,2}, dtype="float32", data={0.467046678,-0.528759003,0.576249123,0.452445149}}, {list={1, 3}}, {list={[==[
weight]==], [==[
bias]==], [==[
all]==]}}}},
{topic="clone", name="refuses what was computed", lua=[==[local m = nn.Linear(2, 2)
local _ = m(x(1, 2)):sum():backward()
m.bias:requires_grad_(false)
m.scale = x(3):requires_grad_()
local _ = (m.scale * 2):sum():backward()
m.kept = m.scale.grad
m:register_buffer("all", x(6))
m:register_buffer("part", m.all:narrow(1, 2, 2), false)
m.raw = m.weight.data
m.turned = x(2, 3):t()
m.list = {m.weight * 2}
m:clone()]==],
 error=[==[
Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment]==]},
{topic="clone", name="what is tied", lua=[==[
local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
m[3].weight = m[1].weight
m:append(m[1])
local c = m:clone()
c[1].weight.data:fill_(0.5)
local function flag(value) return value and "yes" or "no" end
return c(x(1, 2)), tostring(c), flag(c[3].weight == c[1].weight), flag(c[4] == c[1])]==],
 out={{shape={1,2}, dtype="float32", data={0.715031087,-0.421230435}}, [==[
Sequential(
  (0): Linear(in_features=2, out_features=2, bias=True)
  (1): ReLU()
  (2): Linear(in_features=2, out_features=2, bias=True)
  (3): Linear(in_features=2, out_features=2, bias=True)
)]==], [==[
yes]==], [==[
yes]==]}},
{topic="functional_call", name="a parameter", lua=[==[local m, w = nn.Linear(2, 2), x(2, 2):requires_grad_()
local y = functional_call(m, {weight = w * 2}, x(3, 2))
local _ = (y * y):sum():backward()
return y, w.grad, m.weight.grad, m.bias.grad]==],
 out={{shape={3,2}, dtype="float32", data={3.71911597,0.83285445,1.96911597,0.0828544497,0.219115973,-0.66714555}}, {shape={2,2}, dtype="float32", data={-18.8146954,-12.9073477,-3.49712658,-3.24856329}}, none, {shape={2}, dtype="float32", data={11.8146954,0.497126698}}}},
{topic="functional_call", name="buffers", lua=[==[local m = nn.Sequential(nn.BatchNorm1d(2))
local given = {["0.running_mean"] = lucerna.ones(2), ["0.num_batches_tracked"] = lucerna.tensor(4)}
local y = functional_call(m, given, x(3, 2))
return y, given["0.running_mean"], given["0.num_batches_tracked"], m[1].running_mean,
  m[1].running_var, m[1].num_batches_tracked]==],
 out={{shape={3,2}, dtype="float32", data={-1.22470808,-1.22470808,0.0,0.0,1.22470808,1.22470808}}, {shape={2}, dtype="float32", data={0.849999964,0.875}}, {shape={}, dtype="int64", data={5}}, {shape={2}, dtype="float32", data={0.0,0.0}}, {shape={2}, dtype="float32", data={0.924999952,0.924999952}}, {shape={}, dtype="int64", data={0}}}},
{topic="weight_norm", name="Linear", lua=[==[local m = utils.weight_norm(nn.Linear(3, 4))
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local g, v, before = m.weight_g.grad, m.weight_v.grad, keys(m)
utils.remove_weight_norm(m, "weight")
return y, g, v, before, keys(m), m(x(2, 3)), tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={4,1}, dtype="float32", data={0.591008067,0.455830574,0.855645359,1.46148157}}, {shape={4,3}, dtype="float32", data={1.50576854,1.52285898,0.176939666,0.44187203,0.198417097,0.58619982,-1.04208946,-1.37603724,0.0478816703,-0.184028342,0.607515812,0.407100618}}, {list={[==[
bias]==], [==[
weight_g]==], [==[
weight_v]==]}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="weight_norm", name="Linear over dim 2", lua=[==[local m = utils.weight_norm(nn.Linear(3, 4), 'weight', 2)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local g, v, before = m.weight_g.grad, m.weight_v.grad, keys(m)
utils.remove_weight_norm(m, "weight")
return y, g, v, before, keys(m), m(x(2, 3)), tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={1,3}, dtype="float32", data={2.55264282,-0.624135196,0.571294129}}, {shape={4,3}, dtype="float32", data={0.690490901,0.803325117,0.232554615,-0.417977601,0.914890587,0.61782676,-0.367210746,-0.809265375,-0.229467273,-0.440225601,1.01989329,0.541842639}}, {list={[==[
bias]==], [==[
weight_g]==], [==[
weight_v]==]}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="weight_norm", name="Linear over everything", lua=[==[local m = utils.weight_norm(nn.Linear(3, 4), {dim = lucerna.none})
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local g, v, before = m.weight_g.grad, m.weight_v.grad, keys(m)
utils.remove_weight_norm(m, "weight")
return y, g, v, before, keys(m), m(x(2, 3)), tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={}, dtype="float32", data={1.60317659}}, {shape={4,3}, dtype="float32", data={1.37467849,1.67127025,0.0151988864,0.244819969,-0.0603364706,0.822318912,-1.06249571,-1.36157084,0.0195024014,0.583584249,0.772830307,0.507398546}}, {list={[==[
bias]==], [==[
weight_g]==], [==[
weight_v]==]}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="weight_norm", name="bias", lua=[==[local m = utils.weight_norm(nn.Linear(3, 4), 'bias')
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local g, v, before = m.bias_g.grad, m.bias_v.grad, keys(m)
utils.remove_weight_norm(m, "bias")
return y, g, v, before, keys(m), m(x(2, 3)), tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={4}, dtype="float32", data={2.51595616,-0.693905234,1.81926847,-1.28181005}}, {shape={4}, dtype="float32", data={1.05385709e-07,-9.56733714e-09,3.77756635e-08,8.61687965e-09}}, {list={[==[
weight]==], [==[
bias_g]==], [==[
bias_v]==]}}, {list={[==[
weight]==], [==[
bias]==]}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="weight_norm", name="Conv2d", lua=[==[local m = utils.weight_norm(nn.Conv2d(2, 3, 2))
local y = m(x(1, 2, 4, 4))
local _ = (y * y):sum():backward()
local g, v, before = m.weight_g.grad, m.weight_v.grad, keys(m)
utils.remove_weight_norm(m, "weight")
return y, g, v, before, keys(m), m(x(1, 2, 4, 4)), tostring(m)]==],
 out={{shape={1,3,3,3}, dtype="float32", data={0.133246258,0.243346125,0.353446007,0.57364583,0.683745742,0.793845654,1.01404548,1.12414515,1.23424506,0.0953443348,0.135036677,0.17472899,0.254113674,0.293806016,0.333498359,0.412882984,0.452575326,0.492267668,-0.956607699,-0.892116129,-0.82762444,-0.698641062,-0.634149253,-0.569657564,-0.440674156,-0.376182586,-0.311690897}}, {shape={3,1,1,1}, dtype="float32", data={9.50292301,5.60772181,11.7206287}}, {shape={3,2,2,2}, dtype="float32", data={5.56905937,15.3043327,17.1463032,21.0509701,53.9491043,64.6235352,73.4026108,71.0561371,6.39251709,1.44333744,7.94035339,9.53565502,27.2910576,24.78269,28.3857727,30.5933838,-5.18785763,-4.17400503,-5.79520369,-18.7451324,-47.2083282,-45.2880325,-51.2678223,-62.8245049}}, {list={[==[
bias]==], [==[
weight_g]==], [==[
weight_v]==]}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={1,3,3,3}, dtype="float32", data={0.133246258,0.243346125,0.353446007,0.57364583,0.683745742,0.793845654,1.01404548,1.12414515,1.23424506,0.0953443348,0.135036677,0.17472899,0.254113674,0.293806016,0.333498359,0.412882984,0.452575326,0.492267668,-0.956607699,-0.892116129,-0.82762444,-0.698641062,-0.634149253,-0.569657564,-0.440674156,-0.376182586,-0.311690897}}, [==[
Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1))]==]}},
{topic="weight_norm", name="refuses a second", lua=[==[utils.weight_norm(utils.weight_norm(nn.Linear(1, 1)))]==],
 error=[==[
Cannot register two weight_norm hooks on the same parameter weight]==]},
{topic="weight_norm", name="refuses to remove none", lua=[==[utils.remove_weight_norm(nn.Linear(1, 1))]==],
 error=[==[
weight_norm of 'weight' not found in Linear(in_features=1, out_features=1, bias=True)]==]},
{topic="weight_norm", name="refuses a name that is not there", lua=[==[utils.weight_norm(nn.Linear(1, 1), 'wait')]==],
 error=[==[
'Linear' object has no attribute 'wait']==]},
{topic="parametrize", name="Symmetric", lua=[==[local m = register(nn.Linear(3, 3), 'weight', Symmetric())
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 3):triu() + x(3, 3):triu(1):t()
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Symmetric()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==]}}, {shape={3,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,-0.431729913,0.485093653,-0.442659974,0.470505476,-0.442659974,-0.538939536}}, {shape={2,3}, dtype="float32", data={0.277838081,0.41213277,0.205519736,0.592926264,0.120160602,-0.177800775}}, {list={{shape={3,3}, dtype="float32", data={-0.852139294,-1.30110288,-0.303514034,0.0,-0.61819917,-0.660332084,0.0,0.0,-0.294420123}}}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {shape={2,3}, dtype="float32", data={2.38313532,0.747893095,-0.112939529,0.695635378,0.372893125,0.449560463}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=3, bias=True)]==]}},
{topic="parametrize", name="a chain", lua=[==[local m = register(register(nn.Linear(3, 3), 'weight', Scale(2)), 'weight', Symmetric())
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Scale()
      (1): Symmetric()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.factor]==]}}, {shape={3,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,-0.431729913,0.485093653,-0.442659974,0.470505476,-0.442659974,-0.538939536}}, {shape={2,3}, dtype="float32", data={0.277838081,0.41213277,0.205519736,0.592926264,0.120160602,-0.177800775}}, {list={{shape={3,3}, dtype="float32", data={-1.70427859,-2.60220575,-0.607028067,0.0,-1.23639834,-1.32066417,0.0,0.0,-0.588840246}}}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {shape={2,3}, dtype="float32", data={2.38313532,0.747893095,-0.112939529,0.695635378,0.372893125,0.449560463}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.75,0.0,0.25,-0.5,0.25,1.0}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=3, bias=True)]==]}},
{topic="parametrize", name="several originals", lua=[==[local m = register(nn.Linear(3, 4), 'weight', Outer())
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(4, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=4, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Outer()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original0]==], [==[
parametrizations.weight.original1]==]}}, {shape={4,3}, dtype="float32", data={0.145421714,-0.164636746,0.179423496,0.140875325,-0.159489617,0.173814088,-0.147780433,0.167307124,-0.182333708,0.21760723,-0.246360362,0.268487066}}, {shape={2,4}, dtype="float32", data={-0.605391741,0.0758236051,0.361734211,-0.0754808933,-0.485235393,0.192223459,0.239628941,0.104319558}}, {list={{shape={4}, dtype="float32", data={0.33288148,-0.0358322375,-0.201146513,0.0488519482}}, {shape={3}, dtype="float32", data={0.84589088,0.579156756,0.312422603}}}}, {shape={4,3}, dtype="float32", data={1.0,0.75,0.5,0.25,0.1875,0.125,-0.5,-0.375,-0.25,-1.25,-0.9375,-0.625}}, {shape={2,4}, dtype="float32", data={-2.30623579,-0.26913625,1.15451729,2.3572247,-0.61873585,0.152738765,0.310767263,0.247849599}}, {shape={4,3}, dtype="float32", data={1.0,0.75,0.5,0.25,0.1875,0.125,-0.5,-0.375,-0.25,-1.25,-0.9375,-0.625}}, {shape={4,3}, dtype="float32", data={1.0,0.75,0.5,0.25,0.1875,0.125,-0.5,-0.375,-0.25,-1.25,-0.9375,-0.625}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="parametrize", name="weight and bias", lua=[==[local m = register(register(nn.Linear(3, 3), 'weight', Scale(2)), 'bias', Scale(3))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Scale()
    )
    (bias): ParametrizationList(
      (0): Scale()
    )
  )
)]==], {list={[==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.factor]==], [==[
parametrizations.bias.original]==], [==[
parametrizations.bias.0.factor]==]}}, {shape={3,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536}}, {shape={2,3}, dtype="float32", data={0.277838081,-0.389017016,0.525513291,0.592926264,-0.0801268592,0.0367074087}}, {list={{shape={3,3}, dtype="float32", data={-1.70427859,-0.833514214,0.0372501016,1.63619494,1.16705108,0.69790715,-2.13876057,-1.57653987,-1.01431918}}}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0}}, {shape={2,3}, dtype="float32", data={2.38313532,0.247893125,-1.48793948,0.695635378,0.247893125,0.199560463}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0}}, {shape={3,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0}}, {list={[==[
weight]==], [==[
parametrizations.bias.original]==], [==[
parametrizations.bias.0.factor]==]}}, [==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (bias): ParametrizationList(
      (0): Scale()
    )
  )
)]==]}},
{topic="parametrize", name="weight_norm", lua=[==[local m = ready.weight_norm(nn.Linear(3, 4))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(4, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=4, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _WeightNorm()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original0]==], [==[
parametrizations.weight.original1]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {list={{shape={4,1}, dtype="float32", data={0.591008067,0.455830574,0.855645359,1.46148157}}, {shape={4,3}, dtype="float32", data={1.50576854,1.52285898,0.176939666,0.44187203,0.198417097,0.58619982,-1.04208946,-1.37603724,0.0478816703,-0.184028342,0.607515812,0.407100618}}}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={2,4}, dtype="float32", data={1.31876421,0.30898875,-1.31423271,-3.1584003,-0.36873585,0.30898875,0.373267263,0.216599599}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="parametrize", name="weight_norm of a convolution over dim 2", lua=[==[local m = ready.weight_norm(nn.Conv2d(2, 3, 2), 'weight', 2)
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(1, 2, 4, 4))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 2, 2, 2)
local w2, y2 = m.weight, m(x(1, 2, 4, 4))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedConv2d(
  2, 3, kernel_size=(2, 2), stride=(1, 1)
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _WeightNorm()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original0]==], [==[
parametrizations.weight.original1]==]}}, {shape={3,2,2,2}, dtype="float32", data={0.233523339,-0.264379501,0.288124561,0.226222575,0.297057986,-0.271072775,-0.237311035,0.168234408,-0.330031723,0.349441379,0.0752563551,0.0456587747,-0.302350223,0.112669654,0.152032018,0.0560930707,0.340066701,0.106178194,-0.313507169,0.297063828,0.120041855,-0.168663979,-0.324763387,0.201550737}}, {shape={1,3,3,3}, dtype="float32", data={0.133246258,0.243346125,0.353446007,0.57364583,0.683745742,0.793845654,1.01404548,1.12414515,1.23424506,0.0953443348,0.135036677,0.17472899,0.254113674,0.293806016,0.333498359,0.412882984,0.452575326,0.492267668,-0.956607699,-0.892116129,-0.82762444,-0.698641062,-0.634149253,-0.569657564,-0.440674156,-0.376182586,-0.311690897}}, {list={{shape={1,2,1,1}, dtype="float32", data={12.5166264,9.56874943}}, {shape={3,2,2,2}, dtype="float32", data={5.44596577,15.4436913,16.9944286,20.9317245,54.142292,64.4472427,73.2482758,71.1655426,7.93389082,-0.188686848,7.58887768,9.32241154,28.3471451,24.3891449,27.8547363,30.3974533,-4.29153728,-3.8941493,-6.62152052,-17.9621544,-46.7505913,-45.9311752,-52.5061989,-62.0559578}}}}, {shape={3,2,2,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75,2.0,2.25,2.5,2.75,3.0,3.25,3.5,3.75,4.0,4.25,4.5,4.75}}, {shape={1,3,3,3}, dtype="float32", data={7.83598995,7.58598995,7.33598995,6.83598995,6.58598995,6.33598995,5.83598995,5.58598995,5.33598995,33.210331,36.960331,40.710331,48.210331,51.960331,55.710331,63.210331,66.9603271,70.7103271,59.5193214,67.2693253,75.0193253,90.5193253,98.2693253,106.019325,121.519325,129.269318,137.019318}}, {shape={3,2,2,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75,2.0,2.25,2.5,2.75,3.0,3.25,3.5,3.75,4.0,4.25,4.5,4.75}}, {shape={3,2,2,2}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75,2.0,2.25,2.5,2.75,3.0,3.25,3.5,3.75,4.0,4.25,4.5,4.75}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1))]==]}},
{topic="parametrize", name="weight_norm over everything", lua=[==[local m = ready.weight_norm(nn.Linear(3, 4), {dim = lucerna.none})
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(4, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=4, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _WeightNorm()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original0]==], [==[
parametrizations.weight.original1]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {list={{shape={}, dtype="float32", data={1.60317659}}, {shape={4,3}, dtype="float32", data={1.37467849,1.67127025,0.0151988864,0.244819969,-0.0603364706,0.822318912,-1.06249571,-1.36157084,0.0195024014,0.583584249,0.772830307,0.507398546}}}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={2,4}, dtype="float32", data={1.31876421,0.30898875,-1.31423271,-3.1584003,-0.36873585,0.30898875,0.373267263,0.216599599}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {shape={4,3}, dtype="float32", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="parametrize", name="spectral_norm", lua=[==[local m = ready.spectral_norm(nn.Linear(3, 4))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(4, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=4, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _SpectralNorm()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0._u]==], [==[
parametrizations.weight.0._v]==]}}, {shape={4,3}, dtype="float32", data={0.337724388,-0.382348984,0.416689426,0.327165931,0.42960903,-0.392028868,-0.343202204,0.243302748,-0.477296054,0.505366564,0.108836696,0.0660323054}}, {shape={2,4}, dtype="float32", data={-0.753043175,-0.269369483,0.647640467,-0.528410673,-0.473994583,0.00419007242,0.214743793,-0.0182339698}}, {list={{shape={4,3}, dtype="float32", data={1.13168371,1.56088448,-0.29471457,0.722901523,0.0209534168,0.692226112,-0.848806083,-1.39554071,0.239299923,0.822358489,0.867460668,0.237933427}}}}, {shape={4,3}, dtype="float32", data={2.46097088,1.84572816,1.23048544,0.61524272,-0.0,-0.61524272,-1.23048544,-1.84572816,-2.46097088,-3.0762136,-3.69145632,-4.3066988}}, {shape={2,4}, dtype="float32", data={-4.95424557,-0.123632595,4.09353447,8.08975506,-0.80135721,-0.123632595,-0.0593540967,-0.216021702}}, {shape={4,3}, dtype="float32", data={2.46097088,1.84572816,1.23048544,0.61524272,-0.0,-0.61524272,-1.23048544,-1.84572816,-2.46097088,-3.0762136,-3.69145632,-4.3066988}}, {shape={4,3}, dtype="float32", data={2.46097088,1.84572816,1.23048544,0.61524272,-0.0,-0.61524272,-1.23048544,-1.84572816,-2.46097088,-3.0762136,-3.69145632,-4.3066988}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="parametrize", name="spectral_norm of a convolution along dim 2", lua=[==[local m = ready.spectral_norm(nn.Conv2d(2, 3, 2), 'weight', 3, {dim = 2, eps = 1e-6})
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(1, 2, 4, 4))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 2, 2, 2)
local w2, y2 = m.weight, m(x(1, 2, 4, 4))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedConv2d(
  2, 3, kernel_size=(2, 2), stride=(1, 1)
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _SpectralNorm()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0._u]==], [==[
parametrizations.weight.0._v]==]}}, {shape={3,2,2,2}, dtype="float32", data={0.217459798,-0.246193439,0.268305123,0.210661247,0.276624054,-0.252426296,-0.220986947,0.156661943,-0.307329595,0.325404108,0.0700796396,0.0425180122,-0.281552255,0.104919367,0.141574085,0.0522345565,0.316674292,0.0988744423,-0.291941732,0.276629478,0.111784451,-0.157061964,-0.302423656,0.187686518}}, {shape={1,3,3,3}, dtype="float32", data={0.147192523,0.249718875,0.352245241,0.557298005,0.659824431,0.762350738,0.967403471,1.06992984,1.17245638,0.068860054,0.105821997,0.142783999,0.216707945,0.253669918,0.29063189,0.364555836,0.401517928,0.438479841,-0.889475882,-0.829420328,-0.769364834,-0.649253905,-0.589198411,-0.529143035,-0.409032106,-0.348976612,-0.288921207}}, {list={{shape={3,2,2,2}, dtype="float32", data={3.61435175,14.5151215,17.7597198,18.3617344,48.8051262,57.7804337,62.2202644,63.3341751,7.71628666,0.0784647465,5.39959431,7.36064816,23.5650005,17.9863644,22.8028851,24.5514011,-3.38705254,-1.88877428,-4.58990192,-15.8999195,-41.9989357,-41.439579,-45.2544365,-54.472084}}}}, {shape={3,2,2,2}, dtype="float32", data={-0.636102736,-0.477077037,-0.318051368,-0.159025684,0.0,0.159025684,0.318051368,0.477077037,0.636102736,0.795128405,0.954154074,1.1131798,1.27220547,1.43123114,1.59025681,1.74928248,1.90830815,2.06733394,2.22635961,2.38538527,2.54441094,2.70343661,2.86246228,3.02148795}}, {shape={1,3,3,3}, dtype="float32", data={5.1067605,4.94773483,4.78870916,4.47065783,4.31163168,4.15260601,3.83455467,3.675529,3.51650333,21.0197697,23.4051552,25.7905407,30.5613117,32.9466972,35.3320847,40.1028519,42.4882393,44.8736229,37.8674316,42.7972298,47.7270241,57.5866203,62.5164146,67.4462128,77.305809,82.2356033,87.1653976}}, {shape={3,2,2,2}, dtype="float32", data={-0.636102736,-0.477077037,-0.318051368,-0.159025684,0.0,0.159025684,0.318051368,0.477077037,0.636102736,0.795128405,0.954154074,1.1131798,1.27220547,1.43123114,1.59025681,1.74928248,1.90830815,2.06733394,2.22635961,2.38538527,2.54441094,2.70343661,2.86246228,3.02148795}}, {shape={3,2,2,2}, dtype="float32", data={-0.636102736,-0.477077037,-0.318051368,-0.159025684,0.0,0.159025684,0.318051368,0.477077037,0.636102736,0.795128405,0.954154074,1.1131798,1.27220547,1.43123114,1.59025681,1.74928248,1.90830815,2.06733394,2.22635961,2.38538527,2.54441094,2.70343661,2.86246228,3.02148795}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1))]==]}},
{topic="parametrize", name="orthogonal, square", lua=[==[local m = ready.orthogonal(nn.Linear(3, 3))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 3) + lucerna.eye(3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.base]==]}}, {shape={3,3}, dtype="float32", data={0.580146313,-0.507330835,-0.637217283,0.562008858,0.815593064,-0.137673825,-0.589556158,0.278250784,-0.758287609}}, {shape={2,3}, dtype="float32", data={0.689595819,-0.981973648,0.834572375,0.266294479,-0.0520275608,0.0323776081}}, {list={{shape={3,3}, dtype="float32", data={0.0,0.0,0.0,0.955551147,0.0,0.0,1.27077138,0.571352482,0.0}}}}, {shape={3,3}, dtype="float32", data={0.0,-0.520657599,0.853765547,-0.44721359,0.763631105,0.465690315,0.89442718,0.381815553,0.232845128}}, {shape={2,3}, dtype="float32", data={0.534245849,-0.235461771,-1.22265089,0.78407675,0.351119101,-0.0908350423}}, {shape={3,3}, dtype="float32", data={0.0,-0.520657599,0.853765547,-0.44721359,0.763631105,0.465690315,0.89442718,0.381815553,0.232845128}}, {shape={3,3}, dtype="float32", data={0.0,-0.520657599,0.853765547,-0.44721359,0.763631105,0.465690315,0.89442718,0.381815553,0.232845128}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=3, bias=True)]==]}},
{topic="parametrize", name="orthogonal, cayley", lua=[==[local m = ready.orthogonal(nn.Linear(3, 4), 'weight', 'cayley')
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = lucerna.eye(4, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=4, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.base]==]}}, {shape={4,3}, dtype="float32", data={0.438094139,-0.588245034,-0.669458747,0.424397826,0.693004191,-0.237605929,-0.445199996,0.368503094,-0.691398978,0.655558646,0.194726735,0.131665558}}, {shape={2,4}, dtype="float32", data={-0.15591684,-0.64135927,0.762789488,-0.775836885,-0.770624042,0.018487826,0.18671751,-0.0393736809}}, {list={{shape={4,3}, dtype="float32", data={0.0,0.0,0.0,-1.60121429,0.0,0.0,-0.412418604,0.0727916658,0.0,-0.334009886,-0.200405926,-0.066801995}}}}, {shape={4,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0}}, {shape={2,4}, dtype="float32", data={-1.49373579,-0.56601125,-0.251732737,0.0915995985,-0.74373585,0.183988765,0.498267263,0.0915995985}}, {shape={4,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="parametrize", name="orthogonal, matrix_exp, wide", lua=[==[local m = ready.orthogonal(nn.Linear(4, 3), 'weight', 'matrix_exp')
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 4))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = lucerna.eye(3, 4)
local w2, y2 = m.weight, m(x(2, 4))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=4, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.base]==]}}, {shape={3,4}, dtype="float32", data={0.459195256,-0.519870281,0.566562057,0.444839269,0.441861928,-0.353986353,-0.808601677,0.160046831,-0.255034059,0.381800205,-0.132644176,0.878403008}}, {shape={2,3}, dtype="float32", data={-0.891371191,0.347255915,0.030411005,0.0593551099,-0.213423371,0.902935982}}, {list={{shape={3,4}, dtype="float32", data={0.0,0.150694877,-0.440399081,-2.26734376,0.0,0.0,0.239887506,0.944299698,0.0,0.0,0.0,-0.212723255}}}}, {shape={3,4}, dtype="float32", data={1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0}}, {shape={2,3}, dtype="float32", data={-1.42758775,-0.590661049,-0.284994245,-0.427587807,0.409338951,0.715005755}}, {shape={3,4}, dtype="float32", data={1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0}}, {shape={3,4}, dtype="float32", data={1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=4, out_features=3, bias=True)]==]}},
{topic="parametrize", name="orthogonal, householder", lua=[==[local m = ready.orthogonal(nn.Linear(3, 5))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = lucerna.eye(5, 3)
local w2, y2 = m.weight, m(x(2, 3))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=5, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.base]==]}}, {shape={5,3}, dtype="float32", data={0.381061912,-0.532384336,0.100750141,0.369148642,0.721028805,-0.0139488094,-0.387242734,0.316473246,-0.494330913,0.570216358,0.256107867,0.304839134,-0.493373305,0.175891638,0.807691038}}, {shape={2,5}, dtype="float32", data={0.0594508685,-0.347619236,0.570441484,-1.42667198,0.442712277,0.0215216577,0.459552228,0.14661622,-0.578299403,0.810369313}}, {list={{shape={5,3}, dtype="float32", data={0.0,0.0,0.0,-2.87912059,0.0,0.0,-1.11610675,-0.0938403606,0.0,-3.59250927,-2.15550542,-0.718501806,-1.07722211,-0.646333218,-0.215444401}}}}, {shape={5,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={2,5}, dtype="float32", data={-0.908400416,-0.194673419,-0.326611757,-0.511955082,0.48510322,-0.158400401,0.555326581,0.423388243,-0.511955082,0.48510322}}, {shape={5,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={5,3}, dtype="float32", data={1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=5, bias=True)]==]}},
{topic="parametrize", name="orthogonal, householder, wide, no base", lua=[==[local m = ready.orthogonal(nn.Linear(5, 3), {use_trivialization = false})
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 5))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(3, 5) + lucerna.eye(3, 5) * 3
local w2, y2 = m.weight, m(x(2, 5))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=5, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==]}}, {shape={3,5}, dtype="float32", data={0.396505833,-0.448897511,0.489214957,0.384109795,0.504383206,-0.529486477,-0.292789072,0.170887068,-0.623492837,0.464728862,0.0776624158,0.0190896075,-0.782975495,0.155453354,0.596982241}}, {shape={2,3}, dtype="float32", data={-0.329514891,1.24966204,0.394950747,1.32713044,0.236971498,0.477715909}}, {list={{shape={3,5}, dtype="float32", data={0.0,4.78846741,2.06808138,0.396402359,3.0267179,0.0,0.0,1.10809255,-2.95353961,0.921149969,0.0,0.0,0.0,-1.42261446,-1.29204166}}}}, {shape={3,5}, dtype="float32", data={0.905821562,-0.339683115,-0.226455405,-0.113227703,0.0,0.369846791,0.825704515,0.125575885,0.230509177,0.335442454,0.117225118,-0.347893834,0.865540743,0.25040108,0.231012523}}, {shape={2,3}, dtype="float32", data={-0.438571841,-0.679386377,-0.217369422,-0.155502677,1.67946219,1.17798758}}, {shape={3,5}, dtype="float32", data={0.905821562,-0.339683115,-0.226455405,-0.113227703,0.0,0.369846791,0.825704515,0.125575885,0.230509177,0.335442454,0.117225118,-0.347893834,0.865540743,0.25040108,0.231012523}}, {shape={3,5}, dtype="float32", data={0.905821562,-0.339683115,-0.226455405,-0.113227703,0.0,0.369846791,0.825704515,0.125575885,0.230509177,0.335442454,0.117225118,-0.347893834,0.865540743,0.25040108,0.231012523}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=5, out_features=3, bias=True)]==]}},
{topic="parametrize", name="orthogonal, cayley, no base", lua=[==[local m = ready.orthogonal(nn.Linear(3, 3), 'weight', 'cayley', {use_trivialization = false})
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==]}}, {shape={3,3}, dtype="float32", data={0.868573844,-0.289939642,0.401888579,0.387565196,0.9028247,-0.186281323,-0.308824629,0.317557126,0.896540403}}, {shape={2,3}, dtype="float32", data={-0.281428039,-0.848649919,-0.303052962,0.453964055,-0.0205685124,0.375901729}}, {list={{shape={3,3}, dtype="float32", data={0.0,0.0,0.0,0.915104628,0.0,0.0,-0.207927704,-0.309347063,0.0}}}}, {shape={3,3}, dtype="float32", data={0.868573844,-0.289939642,0.401888579,0.387565196,0.9028247,-0.186281323,-0.308824629,0.317557126,0.896540403}}, {shape={3,3}, dtype="float32", data={0.868573844,-0.289939642,0.401888579,0.387565196,0.9028247,-0.186281323,-0.308824629,0.317557126,0.896540403}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Linear(in_features=3, out_features=3, bias=True)]==]}},
{topic="parametrize", name="orthogonal, a batch of 1x1 kernels", lua=[==[local m = ready.orthogonal(nn.Conv1d(3, 2, 2))
local text, names, w = tostring(m), keys(m), m.weight
local y = m(x(1, 3, 4))
local _ = (y * y):sum():backward()
local grads = {}
for k, p in ipairs(originals(m)) do grads[k] = p.grad end
m:eval()
m.weight = x(2, 3, 2)
local w2, y2 = m.weight, m(x(1, 3, 4))
local kept = m.weight
parametrize.remove_parametrizations(m, 'weight')
return text, names, w, y, grads, w2, y2, kept, m.weight, keys(m), tostring(m)]==],
 out={[==[
ParametrizedConv1d(
  3, 2, kernel_size=(2,), stride=(1,)
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): _Orthogonal()
    )
  )
)]==], {list={[==[
bias]==], [==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.base]==]}}, {shape={2,3,2}, dtype="float32", data={0.491445899,-0.450198531,0.606353164,0.791344643,0.625153363,-0.413636327,-0.574044704,-0.32057035,-0.798331857,0.423689246,0.18204172,0.847184837}}, {shape={1,2,3}, dtype="float32", data={-0.19697684,0.215638667,0.628254294,2.29151726,2.23150969,2.17150187}}, {list={{shape={2,3,2}, dtype="float32", data={0.0,0.0,-4.00914097,0.0,-3.40369177,-3.29901958,0.0,0.0,33.0661011,0.0,-1.38877487,4.13178062}}}}, {shape={2,3,2}, dtype="float32", data={-0.894427061,-0.182574198,-0.44721359,0.365148365,0.0,0.912871003,0.267261147,0.872871399,0.534522474,0.218218088,0.801783681,-0.436435819}}, {shape={1,2,3}, dtype="float32", data={1.91460967,1.85306072,1.79151177,-0.481021583,0.0835336447,0.648088872}}, {shape={2,3,2}, dtype="float32", data={-0.894427061,-0.182574198,-0.44721359,0.365148365,0.0,0.912871003,0.267261147,0.872871399,0.534522474,0.218218088,0.801783681,-0.436435819}}, {shape={2,3,2}, dtype="float32", data={-0.894427061,-0.182574198,-0.44721359,0.365148365,0.0,0.912871003,0.267261147,0.872871399,0.534522474,0.218218088,0.801783681,-0.436435819}}, {list={[==[
bias]==], [==[
weight]==]}}, [==[
Conv1d(3, 2, kernel_size=(2,), stride=(1,))]==]}},
{topic="parametrize", name="left as the original", lua=[==[
local m = register(nn.Linear(3, 3), "weight", Symmetric())
parametrize.remove_parametrizations(m, "weight", {leave_parametrized = false})
return m.weight, keys(m)]==],
 out={{shape={3,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,0.0,0.0,-0.538939536}}, {list={[==[
bias]==], [==[
weight]==]}}}},
{topic="parametrize", name="transferred", lua=[==[
local a = register(register(nn.Linear(3, 3), "weight", Scale(2)), "bias", Scale(4))
local b = nn.Linear(3, 3)
parametrize.transfer_parametrizations_and_params(a, b)
return tostring(b), keys(b), b.weight, b.bias]==],
 out={[==[
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Scale()
    )
    (bias): ParametrizationList(
      (0): Scale()
    )
  )
)]==], {list={[==[
parametrizations.weight.original]==], [==[
parametrizations.weight.0.factor]==], [==[
parametrizations.bias.original]==], [==[
parametrizations.bias.0.factor]==]}}, {shape={3,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536}}, {shape={3}, dtype="float32", data={0.570635378,0.122893117,0.0745604709}}}},
{topic="parametrize", name="a buffer", lua=[==[local m = nn.BatchNorm1d(2)
register(m, "running_mean", Scale(2):requires_grad_(false))
m.running_mean = lucerna.ones(2)
m:eval()
return keys(m), m.running_mean, m(x(2, 2)), tostring(m)]==],
 out={{list={[==[
weight]==], [==[
bias]==], [==[
running_var]==], [==[
num_batches_tracked]==], [==[
parametrizations.running_mean.original]==], [==[
parametrizations.running_mean.0.factor]==]}}, {shape={2}, dtype="float32", data={1.0,1.0}}, {shape={2,2}, dtype="float32", data={-1.99998999,-1.74999118,-1.49999249,-1.2499938}}, [==[
ParametrizedBatchNorm1d(
  2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True
  (parametrizations): ModuleDict(
    (running_mean): ParametrizationList(
      (0): Scale()
    )
  )
)]==]}},
{topic="parametrize", name="unsafe", lua=[==[return register(nn.Linear(3, 3), 'weight', Flat(), true).weight]==],
 out={{shape={9}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536}}}},
{topic="parametrize", name="refuses a change of dtype", lua=[==[register(nn.Linear(3, 3), 'weight', Double())]==],
 error=[==[
Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled. unparametrized dtype: float32 parametrized dtype: float64]==]},
{topic="parametrize", name="refuses a change of shape", lua=[==[register(nn.Linear(3, 3), 'weight', Flat())]==],
 error=[==[
Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled. unparametrized shape: torch.Size([3, 3]) parametrized shape: torch.Size([9])]==]},
{topic="parametrize", name="refuses a change of dtype on top", lua=[==[register(register(nn.Linear(3, 3), 'weight', Symmetric()), 'weight', Double())]==],
 error=[==[
Registering a parametrization may not change the dtype of the tensor, unless the `unsafe` flag is enabled. module.weight.dtype: float32 parametrization(module.weight).dtype: float64]==]},
{topic="parametrize", name="refuses a change of shape on top", lua=[==[register(register(nn.Linear(3, 3), 'weight', Symmetric()), 'weight', Flat())]==],
 error=[==[
Registering a parametrization may not change the shape of the tensor, unless the `unsafe` flag is enabled. module.weight.shape: torch.Size([3, 3]) parametrization(module.weight).shape: torch.Size([9])]==]},
{topic="parametrize", name="refuses a name that is not there", lua=[==[register(nn.Linear(3, 3), 'wait', Flat())]==],
 error=[==[
Module 'Linear(in_features=3, out_features=3, bias=True)' does not have a parameter, a buffer, or a parametrized element with name 'wait']==]},
{topic="parametrize", name="refuses to assign without an inverse", lua=[==[register(nn.Linear(3, 3), 'weight', Flat(), true).weight = x(3, 3)]==],
 error=[==[
parametrization Flat does not implement right_inverse.]==]},
{topic="parametrize", name="refuses to remove none", lua=[==[parametrize.remove_parametrizations(nn.Linear(3, 3), 'weight')]==],
 error=[==[
Module Linear(in_features=3, out_features=3, bias=True) does not have a parametrization on weight]==]},
{topic="parametrize", name="refuses to leave several originals", lua=[==[parametrize.remove_parametrizations(register(nn.Linear(3, 3), 'weight', Outer()), 'weight', false)]==],
 error=[==[
Cannot leave unparametrized (`leave_parametrized=false`) a tensor that is parametrized in terms of a sequence of tensors.]==]},
{topic="parametrize", name="refuses an assignment of another dtype", lua=[==[register(nn.Linear(3, 3), 'weight', Symmetric()).weight = x(3, 3):double()]==],
 error=[==[
The tensor returned by `right_inverse` has dtype float64 while `original` has dtype float32]==]},
{topic="parametrize", name="refuses orthogonal vectors", lua=[==[ready.orthogonal(nn.Linear(3, 3), 'bias')]==],
 error=[==[
Expected a matrix or batch of matrices. Got a tensor of 1 dimensions.]==]},
{topic="parametrize", name="refuses an unknown map", lua=[==[ready.orthogonal(nn.Linear(3, 3), 'weight', 'polar')]==],
 error=[==[
orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: polar]==]},
{topic="parametrize", name="refuses an orthogonal map's inverse", lua=[==[ready.orthogonal(nn.Linear(3, 3), 'weight', 'cayley', {use_trivialization = false}).weight = lucerna.eye(3)]==],
 error=[==[
It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=false.]==]},
{topic="parametrize", name="refuses a spectral norm of nothing", lua=[==[ready.spectral_norm(nn.Linear(3, 3), 'wait')]==],
 error=[==[
Module 'Linear(in_features=3, out_features=3, bias=True)' has no parameter or buffer with name 'wait']==]},
{topic="parametrize", name="refuses no power iterations", lua=[==[ready.spectral_norm(nn.Linear(3, 3), 'weight', 0)]==],
 error=[==[
Expected n_power_iterations to be positive, but got n_power_iterations=0]==]},
{topic="spectral_norm", name="Linear", lua=[==[local m = utils.spectral_norm(nn.Linear(3, 4))
m(x(2, 3))
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before = keys(m)
m:eval()
local grad, y2, u, v = m.weight_orig.grad, m(x(2, 3)), m.weight_u, m.weight_v
utils.remove_spectral_norm(m)
return y, grad, before, y2, u, v, keys(m), m.weight, tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.753063262,-0.26940459,0.647671342,-0.528458655,-0.473993063,0.00417615473,0.214741215,-0.0182424635}}, {shape={4,3}, dtype="float32", data={1.14944363,1.56777,-0.296538323,0.718929768,0.00759667158,0.705826044,-0.866384506,-1.40123343,0.239845276,0.832915545,0.862106204,0.247383147}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_u]==], [==[
weight_v]==]}}, {shape={2,4}, dtype="float32", data={-0.753063262,-0.26940459,0.647671342,-0.528458655,-0.473993063,0.00417615473,0.214741215,-0.0182424635}}, {shape={4}, dtype="float32", data={0.649625599,-0.401154011,-0.61925745,0.183254376}}, {shape={3}, dtype="float32", data={0.38577503,-0.554863036,0.737091899}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.337750524,-0.382378578,0.416721672,0.327191263,0.42964226,-0.392059207,-0.343228787,0.243321568,-0.477332979,0.505405664,0.108845122,0.0660374165}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="spectral_norm", name="Linear, 3 iterations along dim 2", lua=[==[local m = utils.spectral_norm(nn.Linear(3, 4), {n_power_iterations = 3, dim = 2})
m(x(2, 3))
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before = keys(m)
m:eval()
local grad, y2, u, v = m.weight_orig.grad, m(x(2, 3)), m.weight_u, m.weight_v
utils.remove_spectral_norm(m)
return y, grad, before, y2, u, v, keys(m), m.weight, tostring(m)]==],
 out={{shape={2,4}, dtype="float32", data={-0.753094673,-0.269459546,0.647719741,-0.528533697,-0.473990679,0.00415436924,0.214737147,-0.0182557702}}, {shape={4,3}, dtype="float32", data={1.11042893,1.55394816,-0.293720663,0.720757842,0.0451552272,0.665114343,-0.827029049,-1.39083791,0.240891814,0.804042459,0.881378412,0.217014164}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_u]==], [==[
weight_v]==]}}, {shape={2,4}, dtype="float32", data={-0.753094673,-0.269459546,0.647719741,-0.528533697,-0.473990679,0.00415436924,0.214737147,-0.0182557702}}, {shape={3}, dtype="float32", data={0.421612531,-0.537920952,0.729988992}}, {shape={4}, dtype="float32", data={0.653332233,-0.36942941,-0.626057804,0.211495832}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.337791443,-0.382424891,0.416772157,0.327230901,0.429694295,-0.392106682,-0.343270361,0.243351042,-0.477390796,0.505466878,0.108858302,0.0660454109}}, [==[
Linear(in_features=3, out_features=4, bias=True)]==]}},
{topic="spectral_norm", name="Conv2d", lua=[==[local m = utils.spectral_norm(nn.Conv2d(2, 3, 2), 'weight', 2, 1e-6)
m(x(1, 2, 4, 4))
local y = m(x(1, 2, 4, 4))
local _ = (y * y):sum():backward()
local before = keys(m)
m:eval()
local grad, y2, u, v = m.weight_orig.grad, m(x(1, 2, 4, 4)), m.weight_u, m.weight_v
utils.remove_spectral_norm(m)
return y, grad, before, y2, u, v, keys(m), m.weight, tostring(m)]==],
 out={{shape={1,3,3,3}, dtype="float32", data={0.124456137,0.239329502,0.354202807,0.583949566,0.698822916,0.813696384,1.04344296,1.15831661,1.27318978,0.112037122,0.15345034,0.194863558,0.277689993,0.319103241,0.360516429,0.443342865,0.484756231,0.526169419,-0.998920202,-0.9316324,-0.864344537,-0.729768991,-0.662481129,-0.595193386,-0.46061784,-0.393329978,-0.326042026}}, {shape={3,2,2,2}, dtype="float32", data={2.23752069,16.1570473,23.5031662,21.5511627,56.3944817,69.6553192,80.8978348,75.457428,9.39858246,2.42785406,8.91031551,14.5743952,32.0484734,25.6021004,28.9827652,37.4238586,-6.27654171,0.64277339,-11.0426111,-19.0866318,-54.4779701,-48.1796417,-56.1915894,-67.5244064}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_u]==], [==[
weight_v]==]}}, {shape={1,3,3,3}, dtype="float32", data={0.124456137,0.239329502,0.354202807,0.583949566,0.698822916,0.813696384,1.04344296,1.15831661,1.27318978,0.112037122,0.15345034,0.194863558,0.277689993,0.319103241,0.360516429,0.443342865,0.484756231,0.526169419,-0.998920202,-0.9316324,-0.864344537,-0.729768991,-0.662481129,-0.595193386,-0.46061784,-0.393329978,-0.326042026}}, {shape={3}, dtype="float32", data={0.629621804,-0.501221418,0.593593776}}, {shape={8}, dtype="float32", data={0.540440381,-0.26299873,-0.0744189695,0.320790976,0.415055871,-0.338638455,-0.444322109,0.214339301}}, {list={[==[
bias]==], [==[
weight]==]}}, {shape={3,2,2,2}, dtype="float32", data={0.243647963,-0.275841922,0.300616473,0.236030668,0.309937209,-0.282825381,-0.247599885,0.175528377,-0.344340563,0.364591748,0.0785191655,0.047638353,-0.315458894,0.117554553,0.158623517,0.0585250407,0.354810625,0.110781655,-0.327099562,0.309943318,0.125246391,-0.175976574,-0.338843822,0.210289165}}, [==[
Conv2d(2, 3, kernel_size=(2, 2), stride=(1, 1))]==]}},
{topic="spectral_norm", name="an old state dict", lua=[==[local m = utils.spectral_norm(nn.Linear(3, 4))
m(x(2, 3))
local state, old = m:state_dict(), {weight = m.weight:detach()}
local version = state._metadata[""].spectral_norm["weight.version"]
for key, value in pairs(state) do old[key] = value end
old.weight_v = nil
local other = utils.spectral_norm(nn.Linear(3, 4))
other:load_state_dict(old)
return version, other.weight_v, keys(other), other:eval()(x(2, 3))]==],
 out={1, {shape={3}, dtype="float32", data={0.369724154,-0.553693414,0.746141911}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_u]==], [==[
weight_v]==]}}, {shape={2,4}, dtype="float32", data={-0.753124297,-0.269511282,0.647765398,-0.528604507,-0.473988414,0.00413383543,0.214733332,-0.0182683095}}}},
{topic="spectral_norm", name="refuses an incomplete old state dict", lua=[==[
local m = utils.spectral_norm(nn.Linear(3, 4))
m:load_state_dict{weight_u = m.weight_u}]==],
 error=[==[
Error(s) in loading state_dict for Linear:
	Missing key(s) in state_dict: "weight_orig", "weight", "bias", "weight_orig", "weight_v". ]==]},
{topic="spectral_norm", name="refuses a second", lua=[==[utils.spectral_norm(utils.spectral_norm(nn.Linear(1, 1)))]==],
 error=[==[
Cannot register two spectral_norm hooks on the same parameter weight]==]},
{topic="spectral_norm", name="refuses to remove none", lua=[==[utils.remove_spectral_norm(nn.Linear(1, 1))]==],
 error=[==[
spectral_norm of 'weight' not found in Linear(in_features=1, out_features=1, bias=True)]==]},
{topic="spectral_norm", name="refuses no iterations", lua=[==[utils.spectral_norm(nn.Linear(1, 1), {n_power_iterations = 0})]==],
 error=[==[
Expected n_power_iterations to be positive, but got n_power_iterations=0]==]},
{topic="spectral_norm", name="refuses an empty slot", lua=[==[utils.spectral_norm(nn.Linear(1, 1, false), 'bias')]==],
 error=[==[
`SpectralNorm` cannot be applied as parameter `bias` is None]==]},
{topic="prune", name="identity", lua=[==[local m = nn.Linear(3, 4)
prune.identity(m, 'weight')
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={4,3}, dtype="float32", data={1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={4,3}, dtype="float32", data={1.80878878,1.17979968,0.550810635,0.665358365,0.491882086,0.318405777,-1.50364721,-1.04883003,-0.594012976,1.23318136,0.912728786,0.592276335}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="random_unstructured", lua=[==[local m = nn.Linear(3, 4)
prune.random_unstructured(m, 'weight', 0.4)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.405191153,0.0414984971,0.63579452,-0.571205616,-0.376109481,0.0733237714,0.3451491,-0.0510592461}}, {shape={4,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0,1.0,0.0,0.0,1.0,1.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.0,0.570635378,0.122893117,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.607786715,0.217136413,-0.0,-0.0622477457,-0.00483661145,-1.44416356,-0.0,-0.0,1.16794086,0.856808424,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.0,0.570635378,0.122893117,0.0}}, [==[
False]==]}},
{topic="prune", name="l1_unstructured, a fraction", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, {name = 'weight', amount = 0.375})
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,0.0414984971,0.905264378,-0.479035795,-0.471444964,0.0733237714,0.210414201,-0.0510592461}}, {shape={4,3}, dtype="float32", data={1.0,1.0,1.0,0.0,1.0,1.0,1.0,0.0,1.0,1.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0}}, {shape={4,3}, dtype="float32", data={1.80878878,1.17979968,0.550810635,-0.0,-0.0622477457,-0.00483661145,-1.91573584,-0.0,-0.800057292,0.983601213,0.0,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="l1_unstructured, a count", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, 'weight', 5)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.405191153,0.0414984971,0.905264378,-0.479035795,-0.376109481,0.0733237714,0.210414201,-0.0510592461}}, {shape={4,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0,1.0,0.0,1.0,1.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.607786715,0.217136413,-0.0,-0.0622477457,-0.00483661145,-1.91573584,-0.0,-0.800057292,0.983601213,0.0,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="l1_unstructured of scores", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, 'weight', 5, {importance_scores = x(4, 3) * 2})
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.551280379,0.183988765,0.311692804,-0.608485878,-0.589071333,0.183988765,0.113532379,-0.0324191302}}, {shape={4,3}, dtype="float32", data={1.0,1.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,1.0,1.0,1.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.0,0.0,0.0,-0.0,-0.0,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={4,3}, dtype="float32", data={1.3970964,0.826920569,0.0,-0.0,-0.0,-0.0,-0.0,-0.467539191,-0.254926622,1.23318136,0.912728786,0.592276335}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.0,0.0,0.0,-0.0,-0.0,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="random_structured", lua=[==[local m = nn.Linear(3, 4)
prune.random_structured(m, 'weight', 2, 1)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,0.183988765,0.248267263,-0.608485878,-0.471444964,0.183988765,0.248267263,-0.0324191302}}, {shape={4,3}, dtype="float32", data={1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,1.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.0,0.0,-0.0,-0.0,0.0,-0.0,0.570635378,0.122893117,0.0745604709}}, {shape={4,3}, dtype="float32", data={1.80878878,1.17979968,0.550810635,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0,1.23318136,0.912728786,0.592276335}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.0,0.0,-0.0,-0.0,0.0,-0.0,0.570635378,0.122893117,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="ln_structured", lua=[==[local m = nn.Linear(3, 4)
prune.ln_structured(m, 'weight', 0.5, 2, 1)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.248267263,0.0915995985,-0.471444964,-0.0190312117,0.248267263,0.0915995985}}, {shape={4,3}, dtype="float32", data={1.0,1.0,1.0,1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.0,0.0,-0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={1.80878878,1.17979968,0.550810635,0.665358365,0.491882086,0.318405777,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.0,0.0,-0.0,0.0,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="ln_structured, infinite, last dim", lua=[==[local m = nn.Linear(3, 4)
prune.ln_structured(m, 'weight', {amount = 1, n = math.huge, dim = -1})
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-1.11033058,0.0358988494,0.905264378,-0.516316056,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={4,3}, dtype="float32", data={1.0,0.0,1.0,1.0,0.0,1.0,1.0,0.0,1.0,1.0,0.0,1.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.0,0.470505476,0.369419903,0.0,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0745604709}}, {shape={4,3}, dtype="float32", data={2.45638371,0.0,0.874608099,-0.0622820929,-0.0,-0.0454144552,-1.91573584,-0.0,-0.800057292,1.04884171,0.0,0.500106514}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.0,0.470505476,0.369419903,0.0,-0.442659974,-0.387527287,0.0,-0.538939536,0.570635378,0.0,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="custom_from_mask", lua=[==[local m = nn.Linear(3, 4)
prune.custom_from_mask(m, 'weight', x(4, 3):gt(0))
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.49373585,0.405318737,0.699220061,-0.608485878,-0.49373585,0.0733237714,0.210414201,-0.0324191302}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,-0.0,-0.0,-0.368656844,-1.50364721,-1.04883003,-0.594012976,1.23318136,0.912728786,0.592276335}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="nothing", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, 'weight', 0)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.786533117,-0.327921391,0.699220061,-0.608485878,-0.471444964,-0.0190312117,0.210414201,-0.0324191302}}, {shape={4,3}, dtype="float32", data={1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, {shape={4,3}, dtype="float32", data={1.80878878,1.17979968,0.550810635,0.665358365,0.491882086,0.318405777,-1.50364721,-1.04883003,-0.594012976,1.23318136,0.912728786,0.592276335}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.381341994,-0.431729913,0.470505476,0.369419903,0.485093653,-0.442659974,-0.387527287,0.274725646,-0.538939536,0.570635378,0.122893117,0.0745604709}}, [==[
False]==]}},
{topic="prune", name="everything", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, 'weight', 1.0)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.49373585,0.183988765,0.248267263,0.0915995985,-0.49373585,0.183988765,0.248267263,0.0915995985}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.0,-0.0,0.0,-0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.0,-0.0,0.0,-0.0,0.0,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="twice unstructured", lua=[==[local m = nn.Linear(3, 4)
prune.l1_unstructured(m, 'weight', 3) prune.random_unstructured(m, 'weight', 0.5)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.405191153,0.0414984971,0.63579452,0.0915995985,-0.376109481,0.0733237714,0.3451491,0.0915995985}}, {shape={4,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.607786715,0.217136413,-0.0,-0.0622477457,-0.00483661145,-1.44416356,-0.0,-0.0,-0.0,-0.0,-0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.387527287,0.0,-0.0,0.0,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="thrice, structured on top", lua=[==[local m = nn.Linear(3, 4)
prune.ln_structured(m, 'weight', 1, 1, 1) prune.ln_structured(m, 'weight', 1, 2, 1) prune.l1_unstructured(m, 'weight', 2)
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.405191153,0.0414984971,0.248267263,0.0915995985,-0.376109481,0.0733237714,0.248267263,0.0915995985}}, {shape={4,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.0,0.0,-0.0,0.0,0.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.607786715,0.217136413,-0.0,-0.0622477457,-0.00483661145,-0.0,-0.0,-0.0,-0.0,-0.0,-0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.431729913,0.470505476,0.0,0.485093653,-0.442659974,-0.0,0.0,-0.0,0.0,0.0,0.0}}, [==[
False]==]}},
{topic="prune", name="a mask on top", lua=[==[local m = nn.Linear(3, 4)
prune.random_structured(m, 'weight', 1, -1) prune.custom_from_mask(m, 'weight', x(4, 3):gt(0))
local y = m(x(2, 3))
local _ = (y * y):sum():backward()
local before, mask, weight = keys(m), m.weight_mask, m.weight
local grad, pruned = m.weight_orig.grad, prune.is_pruned(nn.Sequential(m))
prune.remove(m, "weight")
return y, mask, weight, grad, before, pruned and "True" or "False", keys(m), m.weight,
  prune.is_pruned(m) and "True" or "False" ]==],
 out={{shape={2,4}, dtype="float32", data={-0.49373585,0.183988765,0.429750323,-0.571205616,-0.49373585,0.183988765,0.3451491,-0.0510592461}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,1.0,1.0,0.0}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.0,-0.387527287,0.274725646,-0.0,0.570635378,0.122893117,0.0}}, {shape={4,3}, dtype="float32", data={0.0,0.0,0.0,-0.0,-0.0,-0.0,-1.03207517,-0.644625485,-0.0,1.16794086,0.856808424,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}, [==[
True]==], {list={[==[
bias]==], [==[
weight]==]}}, {shape={4,3}, dtype="float32", data={0.0,-0.0,0.0,0.0,0.0,-0.0,-0.387527287,0.274725646,-0.0,0.570635378,0.122893117,0.0}}, [==[
False]==]}},
{topic="prune", name="refuses an amount that is no number", lua=[==[prune.l1_unstructured(nn.Linear(3, 4), 'weight', '0.1')]==],
 error=[==[
Invalid type for amount: 0.1. Must be int or float.]==]},
{topic="prune", name="refuses a negative count", lua=[==[prune.l1_unstructured(nn.Linear(3, 4), 'weight', -1)]==],
 error=[==[
amount=-1 should either be a float in the range [0, 1] or a non-negative integer]==]},
{topic="prune", name="refuses a fraction above 1", lua=[==[prune.l1_unstructured(nn.Linear(3, 4), 'weight', 1.5)]==],
 error=[==[
amount=1.5 should either be a float in the range [0, 1] or a non-negative integer]==]},
{topic="prune", name="refuses more than there is", lua=[==[prune.l1_unstructured(nn.Linear(3, 4), 'weight', 13)]==],
 error=[==[
amount=13 should be smaller than the number of parameters to prune=12]==]},
{topic="prune", name="refuses channels of a vector", lua=[==[prune.random_structured(nn.Linear(3, 4), 'bias', 1, 1)]==],
 error=[==[
Structured pruning can only be applied to multidimensional tensors. Found tensor of shape torch.Size([4]) with 1 dims]==]},
{topic="prune", name="refuses a dim that is not there", lua=[==[prune.ln_structured(nn.Linear(3, 4), 'weight', 1, 2, 3)]==],
 error=[==[
Invalid index 3 for tensor of size torch.Size([4, 3])]==]},
{topic="prune", name="refuses to remove none", lua=[==[prune.remove(nn.Linear(3, 4), 'weight')]==],
 error=[==[
Parameter 'weight' of module Linear(in_features=3, out_features=4, bias=True) has to be pruned before pruning can be removed]==]},
{topic="prune", name="global_unstructured", lua=[==[local a, b = nn.Linear(3, 4), nn.Conv2d(1, 2, 2)
prune.l1_unstructured(a, "weight", 2)
prune.global_unstructured({{a, "weight"}, {b, "weight"}, {b, "bias"}}, prune.L1Unstructured,
  {amount = 0.5})
return a.weight_mask, b.weight_mask, b.bias_mask, keys(a)]==],
 out={{shape={4,3}, dtype="float32", data={0.0,1.0,1.0,0.0,1.0,1.0,0.0,0.0,1.0,1.0,0.0,0.0}}, {shape={2,1,2,2}, dtype="float32", data={1.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0}}, {shape={2}, dtype="float32", data={1.0,0.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="global_unstructured with scores", lua=[==[
local a, b = nn.Linear(3, 4), nn.Conv2d(1, 2, 2)
prune.l1_unstructured(a, "weight", 2)
prune.global_unstructured({{a, "weight"}, {b, "weight"}, {b, "bias"}}, prune.L1Unstructured,
  {[b] = {bias = x(2) * 100}}, {amount = 0.5})
return a.weight_mask, b.weight_mask, b.bias_mask, keys(a)]==],
 out={{shape={4,3}, dtype="float32", data={0.0,0.0,1.0,0.0,1.0,1.0,0.0,0.0,1.0,1.0,0.0,0.0}}, {shape={2,1,2,2}, dtype="float32", data={1.0,0.0,1.0,0.0,0.0,0.0,1.0,0.0}}, {shape={2}, dtype="float32", data={1.0,1.0}}, {list={[==[
bias]==], [==[
weight_orig]==], [==[
weight_mask]==]}}}},
{topic="prune", name="global_unstructured refuses channels", lua=[==[
prune.global_unstructured({{nn.Linear(3, 4), "weight"}}, prune.RandomStructured, {amount = 1})]==],
 error=[==[
Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method RandomStructured of type structured]==]},
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

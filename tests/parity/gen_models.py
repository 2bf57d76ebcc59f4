"""Records the nets of models_reference.py: names and shapes of their state dicts (a checksum, and
in full where they are few), counts of parameters, outputs and gradients of small ones made from a
seed. Read by tests/lua/models_spec.lua. Run: python3 tests/parity/gen_models.py"""
import torch

import models_reference as models
import record


def state_text(net):
    return "".join("%s [%s]\n" % (name, ", ".join(map(str, t.shape)))
                   for name, t in net.state_dict().items())


def checksum(text):
    """What the spec computes too: multiply by 31, add the byte, keep 32 bits."""
    h = 0
    for b in text.encode():
        h = (h * 31 + b) & 0xFFFFFFFF
    return h


def lua(v):
    if isinstance(v, dict):
        return "{%s}" % ", ".join("%s = %s" % (k, lua(x)) for k, x in v.items())
    if isinstance(v, (list, tuple)):
        return "{%s}" % ", ".join(map(lua, v))
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, torch.Tensor):
        return record.tensor(v)
    if isinstance(v, str):
        return '"%s"' % v.replace("\n", "\\n")
    return repr(v)


def sums(ts):
    """The sums of values and of absolute values, in float64."""
    ts = [t.double() for t in ts]
    return [sum(t.sum().item() for t in ts), sum(t.abs().sum().item() for t in ts)]


sizes, runs = [], []


def size(name):
    net = getattr(models, name)()
    text = state_text(net)
    sizes.append({"model": name, "parameters": sum(p.numel() for p in net.parameters()),
                  "names": len(net.state_dict()), "checksum": checksum(text)})


def run(model, options, shape, make=None, keys=False, stir=False, double=False):
    """A net made from a seed; in training, then evaluating: its output, after a backward pass.
    stir: noise is added to the parameters, for nets that answer 0 at first. double: computed in
    float64, for nets whose gradients jump with the last bit of an activation."""
    seed = len(runs) + 1
    torch.manual_seed(seed)
    net = (make or getattr(models, model))(**options)
    case = {"model": model, "options": options, "seed": seed, "weights": sums(net.parameters()),
            "checksum": checksum(state_text(net)), "shape": shape}
    if keys:
        case["keys"] = state_text(net)
    if stir:
        case["stir"] = True
        for p in net.parameters():
            p.data += 0.1 * torch.randn_like(p)
    vocab = options.get("vocab_size")
    x = torch.randint(vocab, shape) if vocab else torch.randn(shape)
    if double:
        case["double"] = True
        net, x = net.double(), x.double()
    y = net(x)
    case["trained"] = y
    (y * torch.linspace(-1, 1, y.numel()).view(y.shape)).sum().backward()
    case["grads"] = sums([p.grad for p in net.parameters()])
    net.eval()
    case["output"] = net(x)
    runs.append(case)


def evaluated(model, options, shape):
    """Only the output of a large net, made from a seed."""
    torch.manual_seed(1)
    net = getattr(models, model)(**options).eval()
    with torch.no_grad():
        y = net(torch.randn(shape))
    return {"model": model, "options": options, "shape": shape, "output": y}


for name in ["resnet18", "resnet34", "resnet50", "vgg11", "vgg11_bn", "mobilenet_v2", "vit_b_16",
             "gpt2"]:
    size(name)

run("ResNet", {"num_classes": 5}, [4, 3, 64, 64],
    lambda **kw: models.ResNet(models.BasicBlock, [1, 1, 1, 1], **kw), keys=True)
run("ResNeXt", {"num_classes": 5, "groups": 2, "width_per_group": 16}, [4, 3, 64, 64],
    lambda **kw: models.ResNet(models.Bottleneck, [1, 1, 1, 1], **kw), keys=True)
run("dilated", {"num_classes": 3, "replace_stride_with_dilation": [False, True, True]},
    [2, 3, 48, 48], lambda **kw: models.ResNet(models.Bottleneck, [1, 1, 2, 2], **kw))
run("resnet18", {"num_classes": 4, "zero_init_residual": True}, [2, 3, 40, 33])
run("mobilenet_v2", {"num_classes": 5, "width_mult": 0.25, "dropout": 0.0}, [2, 3, 64, 64],
    double=True)
VIT = {"image_size": 16, "patch_size": 4, "num_layers": 2, "num_heads": 2, "hidden_dim": 8,
       "mlp_dim": 12, "num_classes": 3}
run("VisionTransformer", dict(VIT, representation_size=6), [2, 3, 16, 16],
    models.VisionTransformer, keys=True, stir=True)
run("VisionTransformer", VIT, [2, 3, 16, 16], models.VisionTransformer,
    stir=True)
run("GPT2", {"vocab_size": 11, "n_positions": 8, "n_embd": 12, "n_layer": 2, "n_head": 3,
             "dropout": 0.0}, [2, 6], models.GPT2, keys=True)

large = [evaluated("vgg11", {"num_classes": 5}, [1, 3, 40, 32])]
parts = [("sizes", sizes), ("runs", runs), ("large", large)]
record.save(__file__, "\n".join(
    "%s = {\n%s}," % (name, "".join("%s,\n" % lua(c) for c in rows)) for name, rows in parts))

"""Tensors between PyTorch and Lucerna in one process, by DLPack, both ways and in place.

Part of `make parity`. Lua runs inside Python (ctypes, liblua5.4); capsules of the one become
capsules of the other. Prints how many tensors went through."""
import ctypes
import ctypes.util
import gc

import torch

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64"]
SHAPES = [(), (3,), (2, 3), (0, 4), (40, 1, 5)]

lua = ctypes.CDLL(ctypes.util.find_library("lua5.4"), ctypes.RTLD_GLOBAL)
lua.luaL_newstate.restype = ctypes.c_void_p
lua.lua_touserdata.restype = ctypes.POINTER(ctypes.c_void_p)
lua.lua_tolstring.restype = ctypes.c_void_p
L = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(L)

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


def run(code):
    """Runs Lua code, which leaves one value on the stack."""
    lua.lua_settop(L, 0)
    failed = lua.luaL_loadstring(L, code.encode()) or lua.lua_pcallk(L, 0, 1, 0, None, None)
    assert not failed, ctypes.string_at(lua.lua_tolstring(L, -1, None)).decode()


def global_pointer(name, address):
    lua.lua_settop(L, 0)
    lua.lua_pushlightuserdata(L, ctypes.c_void_p(address))
    lua.lua_setglobal(L, name.encode())


def from_lucerna(code):
    """The tensor that the Lua expression gives, in PyTorch."""
    run("return lucerna.to_dlpack(%s)" % code)
    block = lua.lua_touserdata(L, -1)
    managed, block[0] = block[0], None
    return torch.utils.dlpack.from_dlpack(api.PyCapsule_New(managed, b"dltensor", None))


def to_lucerna(name, t):
    """t as the Lua global `name`."""
    capsule = torch.utils.dlpack.to_dlpack(t)
    global_pointer("p", api.PyCapsule_GetPointer(capsule, b"dltensor"))
    api.PyCapsule_SetName(capsule, b"used_dltensor")
    run("%s = lucerna.from_dlpack(p)" % name)


def raw(name):
    run("return %s:tostring('raw')" % name)
    size = ctypes.c_size_t()
    text = lua.lua_tolstring(L, -1, ctypes.byref(size))
    return ctypes.string_at(text, size.value)


def bytes_of(t):
    return bytes(t.contiguous().flatten().view(torch.uint8).tolist())


def check_to(t):
    to_lucerna("x", t)
    assert raw("x") == bytes_of(t), (t.dtype, t.shape)
    run("assert(x.dtype == lucerna.%s and x:dim() == %d)" % (str(t.dtype)[6:], t.dim()))
    if 0 not in t.stride():
        run("x:fill_(1)")
        assert bool((t == 1).all())


def check_from(dtype, shape):
    sizes = "{%s}" % ",".join(map(str, shape))
    run("x = lucerna.randint(0, 100, %s, {dtype = lucerna.%s})" % (sizes, dtype))
    for code in ["x", "x:unsqueeze(1):transpose(1, -1)", "x[{'...', lucerna.none}]"]:
        t = from_lucerna(code)
        run("y = " + code)
        assert t.dtype == getattr(torch, dtype) and bytes_of(t) == raw("y"), (dtype, shape, code)
        t.fill_(2)
        run("assert(y:eq(2):all():item())")


run("lucerna = require 'lucerna'")
count = 0
for dtype in DTYPES:
    for shape in SHAPES:
        t = torch.randint(0, 100, shape).to(getattr(torch, dtype))
        for view in [t, t.unsqueeze(0).transpose(0, -1), t.expand(2, *shape)]:
            check_to(view)
        check_from(dtype, shape)
        count += 6
to_lucerna("kept", torch.arange(1000.0))
gc.collect()
run("assert(kept:sum():item() == 499500)")
out = from_lucerna("lucerna.arange(1000.0)")
run("x, y, kept = nil, nil, nil; collectgarbage()")
assert out.sum() == 499500
lua.lua_close(L)
assert out.sum() == 499500
print("dlpack: %d tensors went between PyTorch %s and Lucerna" % (count, torch.__version__))

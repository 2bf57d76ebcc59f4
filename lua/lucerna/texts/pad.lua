-- Padding.
return { title = "Padding",
{"nn.ZeroPad1d nn.ZeroPad2d nn.ZeroPad3d nn.ConstantPad1d nn.ConstantPad2d nn.ConstantPad3d", [=[
Puts zeros (a constant) around the last 1, 2 or 3 dimensions. padding: one number for all sides, or
{left, right, top, bottom, front, back}, the last dimension first; negative crops.
> local y = nn.ZeroPad2d{1, 2, 0, 0}(lucerna.ones(1, 1, 2, 2))    -- [1, 1, 2, 5]]=]},
{"nn.ReflectionPad1d nn.ReflectionPad2d nn.ReflectionPad3d", [=[
Pads with the values mirrored at the border, without the border itself; padding must be smaller than
the dimension. padding as ZeroPad's.
> local y = nn.ReflectionPad1d(2)(lucerna.arange(4):float():view(1, 1, 4))  -- 2 1 0 1 2 3 2 1]=]},
{"nn.ReplicationPad1d nn.ReplicationPad2d nn.ReplicationPad3d", [=[
Pads with the value at the border. padding as ZeroPad's.
> local y = nn.ReplicationPad1d(2)(lucerna.arange(4):float():view(1, 1, 4))  -- 0 0 0 1 2 3 3 3]=]},
{"nn.CircularPad1d nn.CircularPad2d nn.CircularPad3d", [=[
Pads with the values of the other side; padding is at most the dimension. padding as ZeroPad's.
> local y = nn.CircularPad1d(1)(lucerna.arange(4):float():view(1, 1, 4))  -- 3 0 1 2 3 0]=]},
{"F.pad constant_pad_nd", [=[
Pads the last #pad / 2 dimensions by pad = {left, right, top, bottom, …}. mode: 'constant' (value,
any dimension; negative crops), 'reflect', 'replicate', 'circular' (the last 1 to 3 dimensions of a
tensor with one or two more).
> local y = F.pad(lucerna.ones(2, 3), {1, 1}, {value = 7})    -- [2, 5]]=]},
}

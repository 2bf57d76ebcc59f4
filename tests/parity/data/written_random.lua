-- Written by tests/parity/gen_written_random.py from PyTorch 1.13.0a0: do not edit.
local none = {none = true}
return {
{lua=[[local v1 = y:view(-1)
v1:mul_(w)
y:squeeze_()
y:add_(y * 2)
v1:squeeze_()
v1[1] = w
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-3.375,-2.25,-1.125,0.0,1.125,2.25,3.375,4.5,5.625,6.75,7.875}}, out=394.3125,
 x={shape={2,3,2}, dtype="float64", data={0.0,-60.75,-40.5,-20.25,0.0,20.25,40.5,60.75,81.0,101.25,121.5,141.75}}, w=525.75},
{lua=[[y:squeeze_()
y:transpose_(1, 1)
y[1] = w
y:mul_(w)
y:unsqueeze_(3)
y[1] = w
return y, (y * y):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.125,1.5,1.875,2.25,2.625}}, out=33.046875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.25,3.375,4.5,5.625,6.75,7.875}}, w=44.0625},
{lua=[[y:add_(y * 2)
y:transpose_(2, 1)
local v1 = y:select(1, 1)
v1:unsqueeze_(3)
y:unsqueeze_(2)
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={3,1,2,2}, dtype="float64", data={-9.0,-6.75,4.5,6.75,-4.5,-2.25,9.0,11.25,0.0,2.25,13.5,15.75}}, out=1053,
 x={shape={2,3,2}, dtype="float64", data={-324.0,-243.0,-81.0,-40.5,0.0,40.5,162.0,243.0,162.0,202.5,243.0,283.5}}, w=0},
{lua=[[y:squeeze_()
local v1 = y[{{2, -1}}]
local v2 = y:view(-1)
y[1] = w
y[1] = w
y:unsqueeze_(2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,1,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,0.75,1.0,1.25,1.5,1.75}}, out=53.0625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,3.0,4.5,6.0,7.5,9.0,10.5}}, w=36},
{lua=[[local v1 = y:view(-1)
y:transpose_(2, 3)
y:mul_(w)
y:unsqueeze_(4)
y:squeeze_()
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-4.5,-2.25,0.0,-3.375,-1.125,1.125,2.25,4.5,6.75,3.375,5.625,7.875}}, out=430.3125,
 x={shape={2,3,2}, dtype="float64", data={-81.0,-60.75,-40.5,-20.25,0.0,20.25,40.5,60.75,81.0,101.25,121.5,141.75}}, w=573.75},
{lua=[[y:unsqueeze_(3)
y[1] = w
y:transpose_(4, 1)
y:mul_(w)
y:mul_(w)
local v1 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={3.375,1.125,3.375,2.25,3.375,3.375,3.375,1.6875,3.375,2.8125,3.375,3.9375}}, out=172.7578125,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,5.0625,15.1875,10.125,25.3125,15.1875,35.4375}}, w=597.375},
{lua=[[y:transpose_(2, 3)
local v1 = y:select(2, 1)
y[1] = w
y:unsqueeze_(4)
local v2 = v1[{{2, -1}}]
v1:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3,1}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,1.0,1.5,0.75,1.25,1.75}}, out=35.9375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,3.0,1.5,6.0,2.5,9.0,3.5}}, w=27},
{lua=[[y:squeeze_()
y:transpose_(1, 1)
y:squeeze_()
local v1 = y:view(-1)
y:transpose_(1, 1)
v1:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=47.8125,
 x={shape={2,3,2}, dtype="float64", data={-9.0,-6.75,-4.5,-2.25,0.0,2.25,4.5,6.75,9.0,11.25,13.5,15.75}}, w=63.75},
{lua=[[y:add_(y * 2)
local v1 = y:select(3, 1)
v1:squeeze_()
local v2 = y[{{2, -1}}]
v1:unsqueeze_(1)
local v3 = v1:select(1, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=259.3125,
 x={shape={2,3,2}, dtype="float64", data={-54.0,-13.5,-27.0,-4.5,0.0,4.5,36.0,27.0,72.0,45.0,108.0,63.0}}, w=0},
{lua=[[local v1 = y:view(-1)
y:mul_(w)
y:mul_(w)
y:squeeze_()
y:squeeze_()
y:transpose_(1, 1)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-2.25,-1.6875,-1.125,-0.5625,0.0,0.5625,1.125,1.6875,2.25,2.8125,3.375,3.9375}}, out=107.578125,
 x={shape={2,3,2}, dtype="float64", data={-20.25,-15.1875,-10.125,-5.0625,0.0,5.0625,10.125,15.1875,20.25,25.3125,30.375,35.4375}}, w=286.875},
{lua=[[local v1 = y:select(3, 1)
v1:unsqueeze_(1)
y:transpose_(3, 3)
local v2 = y:view(-1)
v2:mul_(w)
v2:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=58.5,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-6.75,-6.75,-2.25,0.0,2.25,6.75,6.75,13.5,11.25,20.25,15.75}}, w=78},
{lua=[[y:unsqueeze_(4)
y:transpose_(4, 1)
y:add_(y * 2)
y[1] = w
y:transpose_(2, 1)
y:transpose_(3, 4)
return y, (y * y):sum()]],
 y={shape={3,1,2,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5}}, out=27,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=36},
{lua=[[y:transpose_(3, 1)
y:unsqueeze_(3)
local v1 = y:select(4, 1)
y[1] = w
v1:squeeze_()
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={4.5,4.5,4.5,4.5,4.5,4.5,-2.25,2.25,-0.75,3.75,0.75,5.25}}, out=241.3125,
 x={shape={2,3,2}, dtype="float64", data={0.0,-27.0,0.0,-9.0,0.0,9.0,0.0,13.5,0.0,22.5,0.0,31.5}}, w=243},
{lua=[[y:squeeze_()
y:unsqueeze_(1)
y:add_(y * 2)
local v1 = y:select(2, 1)
v1:unsqueeze_(2)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,2.25,3.375,4.5,5.625,6.75,7.875}}, out=254.390625,
 x={shape={2,3,2}, dtype="float64", data={-81.0,-60.75,-40.5,-20.25,0.0,20.25,20.25,30.375,40.5,50.625,60.75,70.875}}, w=339.1875},
{lua=[[y:transpose_(2, 2)
y:unsqueeze_(4)
y:mul_(w)
y:add_(y * 2)
y:mul_(w)
y:mul_(w)
return y, (y * y):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={-10.125,-7.59375,-5.0625,-2.53125,0.0,2.53125,5.0625,7.59375,10.125,12.65625,15.1875,17.71875}}, out=1089.228515625,
 x={shape={2,3,2}, dtype="float64", data={-205.03125,-153.7734375,-102.515625,-51.2578125,0.0,51.2578125,102.515625,153.7734375,205.03125,256.2890625,307.546875,358.8046875}}, w=4356.9140625},
{lua=[[y:squeeze_()
y[1] = w
y:mul_(w)
y:transpose_(2, 2)
y[1] = w
local v1 = y:select(3, 1)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.125,1.5,1.875,2.25,2.625}}, out=47.671875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.5,3.375,9.0,5.625,13.5,7.875}}, w=63.5625},
{lua=[[y[1] = w
y:mul_(w)
local v1 = y:select(2, 1)
local v2 = v1:select(2, 1)
y:add_(y * 2)
y:unsqueeze_(3)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={6.75,6.75,6.75,6.75,6.75,6.75,2.25,3.375,4.5,5.625,6.75,7.875}}, out=607.5,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,60.75,60.75,40.5,50.625,60.75,70.875}}, w=1356.75},
{lua=[[local v1 = y:view(-1)
v1:unsqueeze_(1)
local v2 = v1:select(1, 1)
v2:add_(v2 * 2)
v2:unsqueeze_(2)
v2:transpose_(2, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=286.875,
 x={shape={2,3,2}, dtype="float64", data={-54.0,-40.5,-27.0,-13.5,0.0,13.5,27.0,40.5,54.0,67.5,81.0,94.5}}, w=0},
{lua=[[y:add_(y * 2)
y:squeeze_()
y:squeeze_()
local v1 = y[{{2, -1}}]
v1[1] = w
local v2 = v1:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,1.5,1.5,1.5,1.5,1.5}}, out=57.9375,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-13.5,-9.0,-4.5,0.0,4.5,0.0,0.0,0.0,0.0,0.0,0.0}}, w=54},
{lua=[[local v1 = y[{{2, -1}}]
v1:add_(v1 * 2)
local v2 = y:view(-1)
local v3 = y:view(-1)
v1:transpose_(2, 3)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,2.25,3.375,4.5,5.625,6.75,7.875}}, out=716.765625,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-10.125,-6.75,-3.375,0.0,3.375,81.0,121.5,162.0,202.5,243.0,283.5}}, w=955.6875},
{lua=[[local v1 = y[{{2, -1}}]
v1:unsqueeze_(3)
v1:squeeze_()
local v2 = v1:select(1, 1)
y:add_(y * 2)
v2:add_(v2 * 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,4.5,6.75,3.0,3.75,4.5,5.25}}, out=356.625,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-13.5,-9.0,-4.5,0.0,4.5,243.0,364.5,36.0,45.0,54.0,63.0}}, w=0},
{lua=[[local v1 = y[{{2, -1}}]
local v2 = y[{{2, -1}}]
v2:unsqueeze_(4)
y:add_(y * 2)
y[1] = w
local v3 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.0,3.75,4.5,5.25}}, out=326.25,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,36.0,54.0,72.0,90.0,108.0,126.0}}, w=18},
{lua=[[local v1 = y:view(-1)
v1[1] = w
v1[1] = w
local v2 = y[{{2, -1}}]
y:squeeze_()
v2:unsqueeze_(3)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=32.4375,
 x={shape={2,3,2}, dtype="float64", data={0.0,-3.0,-2.0,-1.0,0.0,1.0,3.0,4.5,6.0,7.5,9.0,10.5}}, w=6},
{lua=[[local v1 = y[{{2, -1}}]
local v2 = y[{{2, -1}}]
local v3 = y[{{2, -1}}]
v1:transpose_(1, 3)
v3:transpose_(1, 2)
v3:transpose_(2, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=36.6875,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,4.0,6.0,8.0,10.0,12.0,14.0}}, w=0},
{lua=[[local v1 = y:view(-1)
local v2 = y[{{2, -1}}]
v2[1] = w
v2:squeeze_()
v1:squeeze_()
v1[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-0.75,-0.5,-0.25,0.0,0.25,1.5,1.5,1.5,1.5,1.5,1.5}}, out=46.875,
 x={shape={2,3,2}, dtype="float64", data={0.0,-3.0,-2.0,-1.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=60},
{lua=[[y:squeeze_()
local v1 = y[{{2, -1}}]
v1:mul_(w)
local v2 = v1:view(-1)
local v3 = v2[{{2, -1}}]
v3:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.75,1.6875,2.25,2.8125,3.375,3.9375}}, out=174.484375,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,6.75,30.375,40.5,50.625,60.75,70.875}}, w=457.875},
{lua=[[y:unsqueeze_(3)
y:mul_(w)
y:transpose_(2, 4)
y:add_(y * 2)
local v1 = y[{{2, -1}}]
local v2 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,1,3}, dtype="float64", data={-4.5,-2.25,0.0,-3.375,-1.125,1.125,2.25,4.5,6.75,3.375,5.625,7.875}}, out=567,
 x={shape={2,3,2}, dtype="float64", data={-40.5,-30.375,-20.25,-10.125,0.0,10.125,60.75,91.125,121.5,151.875,182.25,212.625}}, w=756},
{lua=[[y:squeeze_()
y:unsqueeze_(1)
y:transpose_(3, 4)
y:add_(y * 2)
y[1] = w
y:squeeze_()
return y, (y * y):sum()]],
 y={shape={2,2,3}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5}}, out=27,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=36},
{lua=[[local v1 = y[{{2, -1}}]
v1:transpose_(1, 3)
v1:mul_(w)
v1:mul_(w)
v1[1] = w
v1:unsqueeze_(1)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,1.5,1.6875,1.5,2.8125,1.5,3.9375}}, out=67.9609375,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,0.0,15.1875,0.0,25.3125,0.0,35.4375}}, w=158.0625},
{lua=[[y:mul_(w)
local v1 = y:select(2, 1)
y[1] = w
y:unsqueeze_(1)
v1[1] = w
v1:transpose_(2, 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.125,1.5,1.875,2.25,2.625}}, out=39.375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.5,6.75,4.5,5.625,6.75,7.875}}, w=52.5},
{lua=[[y[1] = w
y:squeeze_()
y:transpose_(3, 1)
y[1] = w
y:squeeze_()
local v1 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.5,1.25,1.5,1.75}}, out=37.375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,3.0,0.0,5.0,0.0,7.0}}, w=36},
{lua=[[y:squeeze_()
y:squeeze_()
y:mul_(w)
y:mul_(w)
local v1 = y[{{2, -1}}]
v1:transpose_(3, 3)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-2.25,-1.6875,-1.125,-0.5625,0.0,0.5625,1.125,1.6875,2.25,2.8125,3.375,3.9375}}, out=97.76953125,
 x={shape={2,3,2}, dtype="float64", data={-10.125,-7.59375,-5.0625,-2.53125,0.0,2.53125,10.125,15.1875,20.25,25.3125,30.375,35.4375}}, w=260.71875},
{lua=[[y:unsqueeze_(1)
y:add_(y * 2)
y:squeeze_()
local v1 = y:select(3, 1)
local v2 = v1[{{2, -1}}]
v1:unsqueeze_(3)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=169.875,
 x={shape={2,3,2}, dtype="float64", data={-36.0,-13.5,-18.0,-4.5,0.0,4.5,27.0,13.5,54.0,22.5,81.0,31.5}}, w=0},
{lua=[[y:mul_(w)
local v1 = y:view(-1)
local v2 = y:view(-1)
v2:mul_(w)
v2:squeeze_()
local v3 = v1[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-2.25,-1.6875,-1.125,-0.5625,0.0,0.5625,1.125,1.6875,2.25,2.8125,3.375,3.9375}}, out=210.09375,
 x={shape={2,3,2}, dtype="float64", data={-30.375,-30.375,-20.25,-10.125,0.0,10.125,20.25,30.375,40.5,50.625,60.75,70.875}}, w=560.25},
{lua=[[local v1 = y[{{2, -1}}]
local v2 = v1:select(1, 1)
v1:mul_(w)
local v3 = y:view(-1)
v2:mul_(w)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,1.6875,2.53125,3.375,4.21875,5.0625,5.90625}}, out=404.54296875,
 x={shape={2,3,2}, dtype="float64", data={-9.0,-6.75,-4.5,-2.25,0.0,2.25,45.5625,68.34375,91.125,113.90625,136.6875,159.46875}}, w=1594.921875},
{lua=[[y:mul_(w)
local v1 = y:select(3, 1)
y:unsqueeze_(1)
v1:transpose_(2, 2)
local v2 = y:select(2, 1)
v1:unsqueeze_(1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=38.953125,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-6.75,-6.75,-2.25,0.0,2.25,4.5,3.375,9.0,5.625,13.5,7.875}}, w=51.9375},
{lua=[[y:mul_(w)
y:mul_(w)
local v1 = y:select(3, 1)
y[1] = w
local v2 = v1:select(1, 1)
v1:unsqueeze_(2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.125,1.6875,2.25,2.8125,3.375,3.9375}}, out=88.69921875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,10.125,7.59375,20.25,12.65625,30.375,17.71875}}, w=200.53125},
{lua=[[y:squeeze_()
y:transpose_(3, 3)
y:squeeze_()
local v1 = y:select(1, 1)
local v2 = y:view(-1)
v1[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=32,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,-3.0,-1.5,0.0,1.5,2.0,3.0,4.0,5.0,6.0,7.0}}, w=18},
{lua=[[y:squeeze_()
y:add_(y * 2)
local v1 = y[{{2, -1}}]
y:unsqueeze_(1)
local v2 = y:select(3, 1)
v1:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=195.1875,
 x={shape={2,3,2}, dtype="float64", data={-36.0,-27.0,-9.0,-4.5,0.0,4.5,27.0,40.5,36.0,45.0,54.0,63.0}}, w=0},
{lua=[[y:unsqueeze_(3)
y:mul_(w)
y[1] = w
y:transpose_(2, 2)
y:squeeze_()
y[1] = w
return y, (y * y):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.125,1.5,1.875,2.25,2.625}}, out=33.046875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.25,3.375,4.5,5.625,6.75,7.875}}, w=44.0625},
{lua=[[y[1] = w
local v1 = y:view(-1)
v1:unsqueeze_(2)
y:mul_(w)
local v2 = y[{{2, -1}}]
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={2.25,2.25,2.25,2.25,2.25,2.25,0.75,1.125,1.5,1.875,2.25,2.625}}, out=119.390625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,6.75,10.125,13.5,16.875,20.25,23.625}}, w=240.1875},
{lua=[[local v1 = y[{{2, -1}}]
v1:transpose_(2, 1)
v1:unsqueeze_(1)
local v2 = y:select(3, 1)
v2:squeeze_()
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=24.0625,
 x={shape={2,3,2}, dtype="float64", data={-4.0,-1.5,-2.0,-0.5,0.0,0.5,3.0,3.0,6.0,5.0,9.0,7.0}}, w=0},
{lua=[[y:transpose_(3, 1)
y[1] = w
local v1 = y:select(1, 1)
v1:mul_(w)
y[1] = w
local v2 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,-0.75,0.75,-0.25,1.25,0.25,1.75}}, out=38.75,
 x={shape={2,3,2}, dtype="float64", data={0.0,-3.0,0.0,-1.0,0.0,1.0,0.0,3.0,0.0,5.0,0.0,7.0}}, w=36},
{lua=[[y:unsqueeze_(1)
y:transpose_(4, 2)
y:mul_(w)
y:transpose_(1, 3)
y:squeeze_()
y:transpose_(2, 3)
return y, (y * y):sum()]],
 y={shape={3,2,2}, dtype="float64", data={-1.5,-1.125,0.75,1.125,-0.75,-0.375,1.5,1.875,0.0,0.375,2.25,2.625}}, out=23.90625,
 x={shape={2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,2.25,3.375,4.5,5.625,6.75,7.875}}, w=31.875},
{lua=[[y:squeeze_()
local v1 = y:view(-1)
y[1] = w
y:add_(y * 2)
local v2 = y:view(-1)
local v3 = v2:select(1, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={4.5,4.5,4.5,4.5,4.5,4.5,1.5,2.25,3.0,3.75,4.5,5.25}}, out=619.3125,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,27.0,40.5,54.0,67.5,81.0,94.5}}, w=513},
{lua=[[local v1 = y:view(-1)
local v2 = v1:view(-1)
local v3 = y:select(2, 1)
v3:transpose_(2, 1)
y[1] = w
v2:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,0.75,1.0,1.25,1.5,1.75}}, out=71.875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.0,6.0,6.0,7.5,9.0,10.5}}, w=60},
{lua=[[local v1 = y:select(3, 1)
y:transpose_(1, 1)
v1:unsqueeze_(2)
v1:unsqueeze_(3)
v1[1] = w
y[1] = w
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,0.75,1.0,1.25,1.5,1.75}}, out=32.4375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.0,1.5,4.0,2.5,6.0,3.5}}, w=27},
{lua=[[y:mul_(w)
local v1 = y[{{2, -1}}]
y:unsqueeze_(1)
y:add_(y * 2)
v1[1] = w
local v2 = v1:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,1.5,1.5,1.5,1.5,1.5,1.5}}, out=79.734375,
 x={shape={2,3,2}, dtype="float64", data={-40.5,-30.375,-20.25,-10.125,0.0,10.125,0.0,0.0,0.0,0.0,0.0,0.0}}, w=106.3125},
{lua=[[y:add_(y * 2)
y:mul_(w)
y:transpose_(2, 2)
y:transpose_(2, 2)
y:unsqueeze_(3)
y[1] = w
return y, (y * y):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.375,4.5,5.625,6.75,7.875}}, out=189.421875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,20.25,30.375,40.5,50.625,60.75,70.875}}, w=252.5625},
{lua=[[y[1] = w
local v1 = y[{{2, -1}}]
local v2 = y:select(1, 1)
v1:squeeze_()
v1:add_(v1 * 2)
local v3 = v2[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.0,3.75,4.5,5.25}}, out=192.375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,18.0,27.0,36.0,45.0,54.0,63.0}}, w=48},
{lua=[[y[1] = w
local v1 = y:select(1, 1)
v1:t_()
y:unsqueeze_(4)
v1[1] = w
v1:t_()
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,0.75,1.0,1.25,1.5,1.75}}, out=35.6875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.5,2.0,2.5,3.0,3.5}}, w=36},
{lua=[[y[1] = w
local v1 = y:view(-1)
v1:unsqueeze_(2)
y[1] = w
v1:mul_(w)
local v2 = v1:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={2.25,2.25,2.25,2.25,2.25,2.25,0.75,1.125,1.5,1.875,2.25,2.625}}, out=149.765625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,6.75,10.125,13.5,16.875,20.25,23.625}}, w=321.1875},
{lua=[[y[1] = w
local v1 = y[{{2, -1}}]
v1[1] = w
v1:squeeze_()
y:unsqueeze_(1)
local v2 = y:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5}}, out=67.5,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=90},
{lua=[[local v1 = y:view(-1)
y:add_(y * 2)
y:mul_(w)
local v2 = y[{{2, -1}}]
y:transpose_(1, 1)
v2[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,1.5,1.5,1.5,1.5,1.5,1.5}}, out=118.96875,
 x={shape={2,3,2}, dtype="float64", data={-81.0,-60.75,-40.5,-20.25,0.0,20.25,0.0,0.0,0.0,0.0,0.0,0.0}}, w=158.625},
{lua=[[y:transpose_(2, 1)
y:transpose_(3, 2)
local v1 = y[{{2, -1}}]
v1:transpose_(1, 2)
v1:unsqueeze_(1)
y:unsqueeze_(2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={3,1,2,2}, dtype="float64", data={-1.0,0.5,-0.75,0.75,-0.5,1.0,-0.25,1.25,0.0,1.5,0.25,1.75}}, out=18.875,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-2.0,-1.0,0.0,1.0,1.0,1.5,4.0,5.0,6.0,7.0}}, w=0},
{lua=[[local v1 = y:select(3, 1)
local v2 = v1:select(1, 1)
v1:t_()
local v3 = y[{{2, -1}}]
y:unsqueeze_(3)
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=227.8125,
 x={shape={2,3,2}, dtype="float64", data={-54.0,-13.5,-27.0,-4.5,0.0,4.5,27.0,27.0,54.0,45.0,81.0,63.0}}, w=0},
{lua=[[y:transpose_(3, 1)
y[1] = w
local v1 = y[{{2, -1}}]
y:squeeze_()
v1:unsqueeze_(1)
local v2 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,-0.75,0.75,-0.25,1.25,0.25,1.75}}, out=31.125,
 x={shape={2,3,2}, dtype="float64", data={0.0,-4.5,0.0,-1.5,0.0,1.5,0.0,4.5,0.0,7.5,0.0,10.5}}, w=18},
{lua=[[y:add_(y * 2)
y:transpose_(2, 1)
y:transpose_(1, 2)
local v1 = y[{{2, -1}}]
v1:unsqueeze_(1)
y[1] = w
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.0,3.75,4.5,5.25}}, out=169.875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,18.0,27.0,36.0,45.0,54.0,63.0}}, w=18},
{lua=[[y:unsqueeze_(1)
local v1 = y:view(-1)
y:transpose_(3, 1)
local v2 = y:select(1, 1)
local v3 = y[{{2, -1}}]
v2:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={3,2,1,2}, dtype="float64", data={-1.5,-1.125,0.75,1.125,-0.5,-0.25,1.0,1.25,0.0,0.25,1.5,1.75}}, out=40.78125,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-10.125,-3.0,-1.5,0.0,1.5,6.75,10.125,6.0,7.5,9.0,10.5}}, w=21.375},
{lua=[[local v1 = y:select(2, 1)
v1:unsqueeze_(2)
y:mul_(w)
local v2 = y:select(1, 1)
local v3 = v1:select(3, 1)
v1:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=36.421875,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-10.125,-4.5,-2.25,0.0,2.25,6.75,6.75,4.5,5.625,6.75,7.875}}, w=48.5625},
{lua=[[y:mul_(w)
y:transpose_(1, 3)
y[1] = w
y[1] = w
y:unsqueeze_(2)
y[1] = w
return y, (y * y):sum()]],
 y={shape={2,1,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,-1.125,1.125,-0.375,1.875,0.375,2.625}}, out=26.71875,
 x={shape={2,3,2}, dtype="float64", data={0.0,-3.375,0.0,-1.125,0.0,1.125,0.0,3.375,0.0,5.625,0.0,7.875}}, w=35.625},
{lua=[[y:transpose_(3, 2)
y:unsqueeze_(1)
local v1 = y:select(4, 1)
local v2 = v1:select(3, 1)
v1:mul_(w)
v2:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={1,2,2,3}, dtype="float64", data={-1.5,-0.5,0.0,-1.125,-0.25,0.25,0.75,1.0,1.5,1.125,1.25,1.75}}, out=21.75,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-6.75,-1.0,-0.5,0.0,0.5,6.75,6.75,2.0,2.5,3.0,3.5}}, w=18},
{lua=[[local v1 = y:select(1, 1)
local v2 = y[{{2, -1}}]
v2[1] = w
y:unsqueeze_(2)
v2:squeeze_()
local v3 = y:select(2, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,1,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,1.5,1.5,1.5,1.5,1.5,1.5}}, out=46.3125,
 x={shape={2,3,2}, dtype="float64", data={-6.0,-4.5,-3.0,-1.5,0.0,1.5,0.0,0.0,0.0,0.0,0.0,0.0}}, w=54},
{lua=[[y:squeeze_()
local v1 = y[{{2, -1}}]
local v2 = y[{{2, -1}}]
v1:squeeze_()
v2:squeeze_()
v1:t_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=28,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,3.0,4.5,6.0,7.5,9.0,10.5}}, w=0},
{lua=[[local v1 = y:view(-1)
local v2 = y[{{2, -1}}]
y:transpose_(3, 3)
v2:unsqueeze_(2)
local v3 = v1:view(-1)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=91.265625,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-10.125,-6.75,-3.375,0.0,3.375,9.0,13.5,18.0,22.5,27.0,31.5}}, w=121.6875},
{lua=[[y[1] = w
y:transpose_(3, 1)
y:unsqueeze_(4)
local v1 = y:select(3, 1)
v1:add_(v1 * 2)
local v2 = v1[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={4.5,0.5,4.5,1.0,4.5,1.5,4.5,0.75,4.5,1.25,4.5,1.75}}, out=312.4375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.5,2.0,2.5,3.0,3.5}}, w=405},
{lua=[[local v1 = y:view(-1)
v1:mul_(w)
y[1] = w
local v2 = y:select(2, 1)
y:transpose_(2, 3)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3}, dtype="float64", data={2.25,2.25,2.25,2.25,2.25,2.25,1.125,2.25,3.375,1.6875,2.8125,3.9375}}, out=162.94921875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,15.1875,22.78125,20.25,25.3125,30.375,35.4375}}, w=434.53125},
{lua=[[y:squeeze_()
local v1 = y[{{2, -1}}]
y[1] = w
y:transpose_(2, 1)
local v2 = v1:select(1, 1)
local v3 = v2:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={3,2,2}, dtype="float64", data={1.5,1.5,0.5,0.75,1.5,1.5,1.0,1.25,1.5,1.5,1.5,1.75}}, out=48.25,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.0,6.0,8.0,10.0,12.0,14.0}}, w=18},
{lua=[[y:add_(y * 2)
y:unsqueeze_(2)
y[1] = w
local v1 = y:select(4, 1)
v1[1] = w
local v2 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,1,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.0,3.75,4.5,5.25}}, out=208.125,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,27.0,27.0,54.0,45.0,81.0,63.0}}, w=27},
{lua=[[local v1 = y[{{2, -1}}]
v1:squeeze_()
y:unsqueeze_(4)
local v2 = v1[{{2, -1}}]
local v3 = v2[{{2, -1}}]
v2:transpose_(2, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75}}, out=32.5,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,2.0,3.0,6.0,7.5,12.0,14.0}}, w=0},
{lua=[[y[1] = w
y:mul_(w)
y:add_(y * 2)
y:unsqueeze_(4)
y[1] = w
local v1 = y:view(-1)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,2.25,3.375,4.5,5.625,6.75,7.875}}, out=378.84375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,40.5,60.75,81.0,101.25,121.5,141.75}}, w=505.125},
{lua=[[y:add_(y * 2)
local v1 = y[{{2, -1}}]
v1:unsqueeze_(1)
local v2 = v1:select(2, 1)
v1:mul_(w)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,3.375,5.0625,6.75,8.4375,10.125,11.8125}}, out=1226.70703125,
 x={shape={2,3,2}, dtype="float64", data={-40.5,-30.375,-20.25,-10.125,0.0,10.125,136.6875,205.03125,273.375,341.71875,410.0625,478.40625}}, w=3218.90625},
{lua=[[y:transpose_(2, 3)
local v1 = y:select(3, 1)
y[1] = w
y:transpose_(2, 2)
y[1] = w
v1:unsqueeze_(2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,2,3}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,1.0,1.5,0.75,1.25,1.75}}, out=27.5,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.0,3.0,2.0,2.5,3.0,3.5}}, w=24},
{lua=[[y:mul_(w)
local v1 = y:view(-1)
v1:unsqueeze_(1)
y:mul_(w)
v1[1] = w
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5}}, out=54,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=72},
{lua=[[y:unsqueeze_(3)
local v1 = y:select(4, 1)
local v2 = y:view(-1)
v1:squeeze_()
y:mul_(w)
local v3 = v2[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=80.15625,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-10.125,-9.0,-3.375,0.0,3.375,9.0,10.125,18.0,16.875,27.0,23.625}}, w=106.875},
{lua=[[y:transpose_(2, 1)
local v1 = y:select(1, 1)
y:transpose_(3, 2)
v1:t_()
local v2 = y[{{2, -1}}]
v2:transpose_(3, 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={3,2,2}, dtype="float64", data={-1.0,0.5,-0.75,0.75,-0.5,1.0,-0.25,1.25,0.0,1.5,0.25,1.75}}, out=21.25,
 x={shape={2,3,2}, dtype="float64", data={-4.0,-3.0,-2.0,-1.0,0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0}}, w=0},
{lua=[[y[1] = w
y[1] = w
y:transpose_(2, 1)
local v1 = y[{{2, -1}}]
y:mul_(w)
y:transpose_(3, 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={3,2,2}, dtype="float64", data={2.25,0.75,2.25,1.125,2.25,1.5,2.25,1.875,2.25,2.25,2.25,2.625}}, out=87.890625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.25,3.375,9.0,11.25,13.5,15.75}}, w=184.6875},
{lua=[[y:unsqueeze_(3)
local v1 = y:select(4, 1)
local v2 = y:select(3, 1)
v2:add_(v2 * 2)
local v3 = v2:view(-1)
v3:unsqueeze_(1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=329.625,
 x={shape={2,3,2}, dtype="float64", data={-72.0,-40.5,-36.0,-13.5,0.0,13.5,36.0,40.5,72.0,67.5,108.0,94.5}}, w=0},
{lua=[[y:unsqueeze_(4)
y:mul_(w)
local v1 = y:view(-1)
v1:unsqueeze_(1)
local v2 = y:select(1, 1)
v2:unsqueeze_(3)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=52.171875,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-10.125,-6.75,-3.375,0.0,3.375,4.5,6.75,9.0,11.25,13.5,15.75}}, w=69.5625},
{lua=[[y:mul_(w)
local v1 = y[{{2, -1}}]
y[1] = w
y:mul_(w)
v1:mul_(w)
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={6.75,6.75,6.75,6.75,6.75,6.75,5.0625,7.59375,10.125,12.65625,15.1875,17.71875}}, out=2054.583984375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,205.03125,307.546875,410.0625,512.578125,615.09375,717.609375}}, w=7853.8359375},
{lua=[[local v1 = y:view(-1)
local v2 = y:view(-1)
local v3 = y:select(2, 1)
v3:squeeze_()
v3:mul_(w)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,-0.5,-0.25,0.0,0.25,0.75,1.125,1.0,1.25,1.5,1.75}}, out=50.0625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,-3.0,-1.5,0.0,1.5,9.0,13.5,6.0,7.5,9.0,10.5}}, w=33.75},
{lua=[[y[1] = w
y:add_(y * 2)
y:transpose_(3, 2)
y:squeeze_()
y:transpose_(1, 1)
y:unsqueeze_(2)
return y, (y * y):sum()]],
 y={shape={2,1,2,3}, dtype="float64", data={4.5,4.5,4.5,4.5,4.5,4.5,1.5,3.0,4.5,2.25,3.75,5.25}}, out=199.6875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,9.0,13.5,18.0,22.5,27.0,31.5}}, w=162},
{lua=[[y:add_(y * 2)
y[1] = w
y:add_(y * 2)
local v1 = y[{{2, -1}}]
local v2 = y[{{2, -1}}]
v2:add_(v2 * 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={4.5,4.5,4.5,4.5,4.5,4.5,13.5,20.25,27.0,33.75,40.5,47.25}}, out=19121.0625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2187.0,3280.5,4374.0,5467.5,6561.0,7654.5}}, w=162},
{lua=[[y:mul_(w)
local v1 = y[{{2, -1}}]
local v2 = v1:view(-1)
v2:squeeze_()
local v3 = v2[{{2, -1}}]
v2[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,1.5,1.125,1.5,1.875,2.25,2.625}}, out=87.046875,
 x={shape={2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,0.0,13.5,18.0,22.5,27.0,31.5}}, w=116.0625},
{lua=[[y:squeeze_()
y:add_(y * 2)
y:squeeze_()
y:transpose_(3, 3)
y:squeeze_()
y:add_(y * 2)
return y, (y * y):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-9.0,-6.75,-4.5,-2.25,0.0,2.25,4.5,6.75,9.0,11.25,13.5,15.75}}, out=860.625,
 x={shape={2,3,2}, dtype="float64", data={-162.0,-121.5,-81.0,-40.5,0.0,40.5,81.0,121.5,162.0,202.5,243.0,283.5}}, w=0},
{lua=[[y:unsqueeze_(2)
local v1 = y:view(-1)
y:transpose_(3, 2)
y:mul_(w)
v1:unsqueeze_(1)
v1:add_(v1 * 2)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,2.25,3.375,4.5,5.625,6.75,7.875}}, out=430.3125,
 x={shape={2,3,2}, dtype="float64", data={-81.0,-60.75,-40.5,-20.25,0.0,20.25,40.5,60.75,81.0,101.25,121.5,141.75}}, w=573.75},
{lua=[[local v1 = y:select(1, 1)
v1:transpose_(2, 2)
v1:unsqueeze_(1)
v1:add_(v1 * 2)
v1:transpose_(2, 3)
v1:unsqueeze_(4)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,0.5,0.75,1.0,1.25,1.5,1.75}}, out=43.5625,
 x={shape={2,3,2}, dtype="float64", data={-36.0,-27.0,-18.0,-9.0,0.0,9.0,1.0,1.5,2.0,2.5,3.0,3.5}}, w=0},
{lua=[[y:transpose_(3, 2)
local v1 = y[{{2, -1}}]
y:unsqueeze_(2)
y:squeeze_()
local v2 = v1:select(3, 1)
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-1.0,-0.5,0.0,-0.75,-0.25,0.25,0.5,1.0,1.5,0.75,1.25,1.75}}, out=20.125,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-1.0,-0.5,0.0,0.5,3.0,4.5,4.0,5.0,6.0,7.0}}, w=0},
{lua=[[y:add_(y * 2)
local v1 = y:select(3, 1)
local v2 = y[{{2, -1}}]
v2:transpose_(3, 1)
local v3 = y:select(3, 1)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-2.25,1.5,-0.75,1.5,0.75,1.5,2.25,3.0,3.75,4.5,5.25}}, out=245.8125,
 x={shape={2,3,2}, dtype="float64", data={0.0,-13.5,0.0,-4.5,0.0,4.5,36.0,27.0,72.0,45.0,108.0,63.0}}, w=27},
{lua=[[y:add_(y * 2)
y:mul_(w)
y:unsqueeze_(1)
y:mul_(w)
y:transpose_(3, 4)
y:squeeze_()
return y, (y * y):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-6.75,-3.375,0.0,-5.0625,-1.6875,1.6875,3.375,6.75,10.125,5.0625,8.4375,11.8125}}, out=484.1015625,
 x={shape={2,3,2}, dtype="float64", data={-91.125,-68.34375,-45.5625,-22.78125,0.0,22.78125,45.5625,68.34375,91.125,113.90625,136.6875,159.46875}}, w=1290.9375},
{lua=[[local v1 = y:view(-1)
local v2 = v1:select(1, 1)
local v3 = y[{{2, -1}}]
v3:transpose_(2, 2)
v2:add_(v2 * 2)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-0.75,-0.5,-0.25,0.0,0.25,1.5,1.5,1.5,1.5,1.5,1.5}}, out=69.375,
 x={shape={2,3,2}, dtype="float64", data={-54.0,-3.0,-2.0,-1.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=54},
{lua=[[y:mul_(w)
y:unsqueeze_(1)
y:squeeze_()
local v1 = y:view(-1)
local v2 = v1:select(1, 1)
local v3 = v1:select(1, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=52.3125,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-6.75,-4.5,-2.25,0.0,2.25,4.5,6.75,9.0,11.25,13.5,15.75}}, w=69.75},
{lua=[[local v1 = y[{{2, -1}}]
v1[1] = w
v1:mul_(w)
y:add_(y * 2)
local v2 = v1:select(2, 1)
local v3 = v2:view(-1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,6.75,6.75,6.75,6.75,6.75,6.75}}, out=746.4375,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-13.5,-9.0,-4.5,0.0,4.5,0.0,0.0,0.0,0.0,0.0,0.0}}, w=1944},
{lua=[[y:transpose_(1, 1)
y:squeeze_()
y[1] = w
y:mul_(w)
y:squeeze_()
local v1 = y[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={2.25,2.25,2.25,2.25,2.25,2.25,0.75,1.125,1.5,1.875,2.25,2.625}}, out=69.46875,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.5,6.75,9.0,11.25,13.5,15.75}}, w=133.125},
{lua=[[y:squeeze_()
y[1] = w
y:transpose_(3, 2)
local v1 = y:select(2, 1)
y[1] = w
local v2 = y:select(1, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,1.0,1.5,0.75,1.25,1.75}}, out=45.9375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,2.0,1.5,4.0,2.5,6.0,3.5}}, w=45},
{lua=[[y:squeeze_()
local v1 = y:select(1, 1)
local v2 = v1:select(2, 1)
v1:squeeze_()
y:mul_(w)
v2:unsqueeze_(2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=31.078125,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-6.75,-6.75,-2.25,0.0,2.25,2.25,3.375,4.5,5.625,6.75,7.875}}, w=41.4375},
{lua=[[local v1 = y:view(-1)
v1:unsqueeze_(1)
v1[1] = w
v1[1] = w
local v2 = v1:select(1, 1)
y:add_(y * 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={4.5,4.5,4.5,4.5,4.5,4.5,4.5,4.5,4.5,4.5,4.5,4.5}}, out=729,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=972},
{lua=[[local v1 = y[{{2, -1}}]
local v2 = y:view(-1)
local v3 = y:select(2, 1)
y[1] = w
y:mul_(w)
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={2.25,2.25,2.25,2.25,2.25,2.25,0.75,1.125,1.5,1.875,2.25,2.625}}, out=131.34375,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,9.0,13.5,13.5,16.875,20.25,23.625}}, w=269.625},
{lua=[[y:unsqueeze_(4)
local v1 = y[{{2, -1}}]
local v2 = y:view(-1)
local v3 = v1:select(1, 1)
v3:mul_(w)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={-1.0,-0.75,-0.5,-0.25,0.0,0.25,1.5,1.5,1.5,1.875,2.25,2.625}}, out=92.75,
 x={shape={2,3,2}, dtype="float64", data={-4.0,-3.0,-2.0,-1.0,0.0,1.0,0.0,0.0,18.0,22.5,27.0,31.5}}, w=118.5},
{lua=[[y:squeeze_()
y:add_(y * 2)
local v1 = y[{{2, -1}}]
local v2 = v1:view(-1)
y:unsqueeze_(3)
v2:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,1,2}, dtype="float64", data={-3.0,-2.25,-1.5,-0.75,0.0,0.75,2.25,3.375,4.5,5.625,6.75,7.875}}, out=545.203125,
 x={shape={2,3,2}, dtype="float64", data={-18.0,-13.5,-9.0,-4.5,0.0,4.5,60.75,91.125,121.5,151.875,182.25,212.625}}, w=703.6875},
{lua=[[y:add_(y * 2)
y:squeeze_()
y:add_(y * 2)
local v1 = y:select(3, 1)
v1[1] = w
y:transpose_(3, 3)
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-6.75,1.5,-2.25,1.5,2.25,4.5,6.75,9.0,11.25,13.5,15.75}}, out=1056.375,
 x={shape={2,3,2}, dtype="float64", data={0.0,-121.5,0.0,-40.5,0.0,40.5,162.0,121.5,324.0,202.5,486.0,283.5}}, w=18},
{lua=[[local v1 = y[{{2, -1}}]
v1:mul_(w)
v1[1] = w
y:mul_(w)
local v2 = y:view(-1)
v1:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,3.375,3.375,3.375,3.375,3.375,3.375}}, out=213.75,
 x={shape={2,3,2}, dtype="float64", data={-9.0,-6.75,-4.5,-2.25,0.0,2.25,0.0,0.0,0.0,0.0,0.0,0.0}}, w=831.75},
{lua=[[y[1] = w
local v1 = y:select(2, 1)
local v2 = v1[{{2, -1}}]
local v3 = y:select(2, 1)
v1:transpose_(1, 1)
y:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,0.5,0.75,1.0,1.25,1.5,1.75}}, out=33.625,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,4.0,6.0,2.0,2.5,3.0,3.5}}, w=30},
{lua=[[y:mul_(w)
local v1 = y:select(2, 1)
local v2 = v1[{{2, -1}}]
v2:t_()
local v3 = v2:select(2, 1)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.125,-0.75,-0.375,0.0,0.375,1.5,1.125,1.5,1.875,2.25,2.625}}, out=39.65625,
 x={shape={2,3,2}, dtype="float64", data={-9.0,-6.75,-2.25,-1.125,0.0,1.125,0.0,13.5,4.5,5.625,6.75,7.875}}, w=52.875},
{lua=[[y:unsqueeze_(2)
y:transpose_(3, 3)
local v1 = y:view(-1)
y:transpose_(3, 1)
local v2 = v1:select(1, 1)
v1:unsqueeze_(1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={3,1,2,2}, dtype="float64", data={-1.0,-0.75,0.5,0.75,-0.5,-0.25,1.0,1.25,0.0,0.25,1.5,1.75}}, out=22.25,
 x={shape={2,3,2}, dtype="float64", data={-6.0,-3.0,-2.0,-1.0,0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0}}, w=0},
{lua=[[y:mul_(w)
y:squeeze_()
y:transpose_(1, 3)
y:add_(y * 2)
y:mul_(w)
y:add_(y * 2)
return y, (y * y):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-20.25,10.125,-10.125,20.25,0.0,30.375,-15.1875,15.1875,-5.0625,25.3125,5.0625,35.4375}}, out=4356.9140625,
 x={shape={2,3,2}, dtype="float64", data={-820.125,-615.09375,-410.0625,-205.03125,0.0,205.03125,410.0625,615.09375,820.125,1025.15625,1230.1875,1435.21875}}, w=11618.4375},
{lua=[[local v1 = y[{{2, -1}}]
v1[1] = w
y:transpose_(3, 1)
v1:unsqueeze_(2)
local v2 = y:select(3, 1)
local v3 = v1:select(4, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.0,1.5,-0.5,1.5,0.0,1.5,-0.75,1.5,-0.25,1.5,0.25,1.5}}, out=37.625,
 x={shape={2,3,2}, dtype="float64", data={-4.0,-3.0,-2.0,-1.0,0.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=45},
{lua=[[y:add_(y * 2)
local v1 = y:select(1, 1)
local v2 = v1[{{2, -1}}]
local v3 = v2[{{2, -1}}]
y:unsqueeze_(3)
y:transpose_(4, 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,2,1,3}, dtype="float64", data={-3.0,-1.5,0.0,-2.25,-0.75,0.75,1.5,3.0,4.5,2.25,3.75,5.25}}, out=117,
 x={shape={2,3,2}, dtype="float64", data={-36.0,-27.0,-27.0,-13.5,0.0,18.0,9.0,13.5,18.0,22.5,27.0,31.5}}, w=0},
{lua=[[y:add_(y * 2)
y:transpose_(1, 1)
y:transpose_(2, 3)
y:unsqueeze_(4)
y:mul_(w)
y:squeeze_()
return y, (y * y):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-4.5,-2.25,0.0,-3.375,-1.125,1.125,2.25,4.5,6.75,3.375,5.625,7.875}}, out=215.15625,
 x={shape={2,3,2}, dtype="float64", data={-40.5,-30.375,-20.25,-10.125,0.0,10.125,20.25,30.375,40.5,50.625,60.75,70.875}}, w=286.875},
{lua=[[local v1 = y:view(-1)
local v2 = y:select(1, 1)
local v3 = v1[{{2, -1}}]
v3:mul_(w)
y:mul_(w)
v3:squeeze_()
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-1.5,-1.6875,-1.125,-0.5625,0.0,0.5625,1.125,1.6875,2.25,2.8125,3.375,3.9375}}, out=157.67578125,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-30.375,-20.25,-10.125,0.0,10.125,15.1875,22.78125,30.375,37.96875,45.5625,53.15625}}, w=411.46875},
{lua=[[y:unsqueeze_(4)
y[1] = w
local v1 = y[{{2, -1}}]
local v2 = v1:select(1, 1)
local v3 = v2:view(-1)
v3[1] = w
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2,1}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,0.75,1.0,1.25,1.5,1.75}}, out=56.25,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,6.0,8.0,10.0,12.0,14.0}}, w=30},
{lua=[[y:transpose_(1, 2)
y:unsqueeze_(2)
local v1 = y[{{2, -1}}]
v1:transpose_(4, 4)
local v2 = y[{{2, -1}}]
v2:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={3,1,2,2}, dtype="float64", data={-1.0,-0.75,0.5,0.75,-0.75,-0.375,1.5,1.875,0.0,0.375,2.25,2.625}}, out=58.0625,
 x={shape={2,3,2}, dtype="float64", data={-2.0,-1.5,-6.75,-3.375,0.0,3.375,1.0,1.5,13.5,16.875,20.25,23.625}}, w=74.25},
{lua=[[local v1 = y:view(-1)
local v2 = y:select(3, 1)
v2:t_()
y:transpose_(3, 3)
v1:mul_(w)
y:transpose_(3, 2)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-1.5,-0.75,0.0,-1.125,-0.375,0.375,0.75,1.5,2.25,1.125,1.875,2.625}}, out=58.5,
 x={shape={2,3,2}, dtype="float64", data={-13.5,-6.75,-6.75,-2.25,0.0,2.25,6.75,6.75,13.5,11.25,20.25,15.75}}, w=78},
{lua=[[y:squeeze_()
y:mul_(w)
y:mul_(w)
y:transpose_(2, 3)
local v1 = y:select(2, 1)
local v2 = v1[{{2, -1}}]
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={2,2,3}, dtype="float64", data={-2.25,-1.125,0.0,-1.6875,-0.5625,0.5625,1.125,2.25,3.375,1.6875,2.8125,3.9375}}, out=95.5546875,
 x={shape={2,3,2}, dtype="float64", data={-20.25,-7.59375,-10.125,-2.53125,0.0,2.53125,15.1875,7.59375,30.375,12.65625,45.5625,17.71875}}, w=254.8125},
{lua=[[local v1 = y:select(3, 1)
v1[1] = w
y:add_(y * 2)
v1:unsqueeze_(3)
y:add_(y * 2)
v1[1] = w
return y, (y * y):sum() + (v1 * v1):sum()]],
 y={shape={2,3,2}, dtype="float64", data={1.5,-6.75,1.5,-2.25,1.5,2.25,4.5,6.75,9.0,11.25,13.5,15.75}}, out=1056.375,
 x={shape={2,3,2}, dtype="float64", data={0.0,-121.5,0.0,-40.5,0.0,40.5,162.0,121.5,324.0,202.5,486.0,283.5}}, w=18},
{lua=[[y:add_(y * 2)
y[1] = w
y:unsqueeze_(1)
y:squeeze_()
y:unsqueeze_(1)
y[1] = w
return y, (y * y):sum()]],
 y={shape={1,2,3,2}, dtype="float64", data={1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5}}, out=27,
 x={shape={2,3,2}, dtype="float64", data={0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0}}, w=36},
{lua=[[local v1 = y[{{2, -1}}]
v1:unsqueeze_(3)
y:transpose_(1, 2)
local v2 = v1:select(2, 1)
y:mul_(w)
y:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum()]],
 y={shape={3,2,2}, dtype="float64", data={-2.25,-1.6875,1.125,1.6875,-1.125,-0.5625,2.25,2.8125,0.0,0.5625,3.375,3.9375}}, out=101.8828125,
 x={shape={2,3,2}, dtype="float64", data={-10.125,-7.59375,-5.0625,-2.53125,0.0,2.53125,15.1875,22.78125,20.25,25.3125,30.375,35.4375}}, w=271.6875},
{lua=[[local v1 = y:select(3, 1)
v1[1] = w
v1:t_()
local v2 = y:view(-1)
local v3 = y:select(3, 1)
v2:mul_(w)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={2.25,-1.125,2.25,-0.375,2.25,0.375,0.75,1.125,1.5,1.875,2.25,2.625}}, out=118.6875,
 x={shape={2,3,2}, dtype="float64", data={0.0,-6.75,0.0,-2.25,0.0,2.25,9.0,6.75,18.0,11.25,27.0,15.75}}, w=239.25},
{lua=[[y:mul_(w)
y:add_(y * 2)
local v1 = y:view(-1)
local v2 = v1:view(-1)
local v3 = y[{{2, -1}}]
v1:unsqueeze_(1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,3,2}, dtype="float64", data={-4.5,-3.375,-2.25,-1.125,0.0,1.125,2.25,3.375,4.5,5.625,6.75,7.875}}, out=821.390625,
 x={shape={2,3,2}, dtype="float64", data={-121.5,-91.125,-60.75,-30.375,0.0,30.375,81.0,121.5,162.0,202.5,243.0,283.5}}, w=1095.1875},
{lua=[[y:transpose_(2, 3)
y:unsqueeze_(4)
local v1 = y:select(1, 1)
local v2 = y[{{2, -1}}]
v1:transpose_(1, 2)
local v3 = v1:select(3, 1)
return y, (y * y):sum() + (v1 * v1):sum() + (v2 * v2):sum() + (v3 * v3):sum()]],
 y={shape={2,2,3,1}, dtype="float64", data={-1.0,-0.5,0.0,-0.75,-0.25,0.25,0.5,1.0,1.5,0.75,1.25,1.75}}, out=23.1875,
 x={shape={2,3,2}, dtype="float64", data={-6.0,-4.5,-3.0,-1.5,0.0,1.5,2.0,3.0,4.0,5.0,6.0,7.0}}, w=0}
}

-- Tensors made, copied, converted.
return { title = "Making and converting tensors",
{"tensor new_tensor", [=[
A tensor of a number, boolean, nested table or tensor, copied. Integers give int64, floats the
default dtype, booleans bool; dtype, device and requires_grad say otherwise.
> local x = lucerna.tensor{{1.0, 2.0}, {3.0, 4.0}}]=]},
{"as_tensor", [=[
tensor(data), without a copy of what is a tensor already.
> local x = lucerna.as_tensor({1, 2}, {dtype = lucerna.float32})]=]},
{"asarray", [=[
as_tensor, outside the graph; copy = true copies a tensor, copy = false refuses to.
> local x = lucerna.asarray({1.0, 2.0}, {requires_grad = true})]=]},
{"zeros zeros_like new_zeros zero", [=[
Zeros of a size, of a tensor's size, in place.
> local x = lucerna.zeros(2, 3)]=]},
{"ones ones_like new_ones", [=[
Ones of a size.
> local x = lucerna.ones({2, 3}, {dtype = lucerna.int64})]=]},
{"empty empty_like new_empty", [=[
A tensor whose values are arbitrary, to be written.
> local x = lucerna.empty(2, 3):fill_(1)]=]},
{"FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor "
  .. "LongTensor BoolTensor", [=[
PyTorch's old constructors, as is lucerna.Tensor(...) for the default dtype: from sizes a tensor
whose values are arbitrary, from a table one of its values. tensor and empty say more plainly which.
> local x, y = lucerna.FloatTensor(2, 3), lucerna.LongTensor({1, 2})]=]},
{"empty_strided", [=[
Arbitrary values of a size and strides.
> local x = lucerna.empty_strided({2, 3}, {1, 2})]=]},
{"fill", "fill_(value): one value everywhere, in place."},
{"full full_like new_full", [=[
One value everywhere; its kind gives the dtype.
> local x = lucerna.full({2, 3}, 7.0)]=]},
{"scalar_tensor", "A number as a tensor without dimensions."},
{"eye", [=[
Ones on the diagonal of [n, m].
> local x = lucerna.eye(3)]=]},
{"arange", [=[
start, start + step, … below end, as numbers (from 0 if not given, PyTorch's values).
> local x = lucerna.arange(1, 6)    -- 1 2 3 4 5]=]},
{"range", [=[
start, start + step, … up to end, which is included, in the default dtype.
> local x = lucerna.range(1, 2, 0.5)    -- 1 1.5 2]=]},
{"linspace", [=[
steps values evenly from start to end, both included.
> local x = lucerna.linspace(0, 1, 5)]=]},
{"logspace", "base^linspace(start, end, steps)."},
{"tril_indices triu_indices", [=[
Positions [2, n] of the lower (upper) triangle of [row, col]: rows, columns.]=]},
{"clone", [=[
A copy, with its gradient going to the original.
> local y = lucerna.ones(2):clone()]=]},
{"copy", "copy_(src): writes src, broadcast and converted."},
{"detach", "The same data without its history."},
{"contiguous", "Itself if its elements lie in order, else a copy that has them so."},
{"is_contiguous", "Do the elements lie in order without gaps?"},
{"is_inference", [=[
Was the tensor made in inference mode? Such a tensor is written in inference mode only, and nothing
saves it for backward; a clone() is an ordinary tensor.]=]},
{"to", [=[
Converted to a dtype, a device or another tensor's; itself if nothing changes, unless copy.
> local x = lucerna.ones(2):to(lucerna.float64)]=]},
{"type type_as", [=[
Converted to a dtype, to another tensor's; type() names its own: "torch.FloatTensor".]=]},
{"float double half bfloat16 cfloat cdouble char byte short int long bool", [=[
Converted to float32, float64, float16, bfloat16, complex64, complex128, int8, uint8, int16, int32,
int64, bool.
> local x = lucerna.ones(2):double()]=]},
{"cpu cuda", "On the CPU: itself. On a GPU: an error, until tensors can be there."},
{"is_complex", "Is it of a complex dtype, complex64 or complex128?"},
{"is_floating_point is_signed", "Is it of a floating point (signed) dtype?"},
{"promote_types result_type can_cast", [=[
The dtype two dtypes (tensors, numbers) give when computed with; may one be converted to the other?
> assert(lucerna.promote_types(lucerna.int64, lucerna.float32) == lucerna.float32)]=]},
{"materialize", "materialize(shape): gives an uninitialized parameter its shape and memory."},
}

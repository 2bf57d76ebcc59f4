-- Complex tensors.
return { title = "Complex tensors",
{"complex", [=[
A complex tensor of a real and an imaginary part (tensors, or numbers); complex64, of float64
parts complex128. Lua has no complex numbers: lucerna.complex(0, 1), a tensor without dimensions,
serves as one; item gives the two parts, and tolist and lucerna.tensor (with a complex dtype) know
tables {real, imaginary}.
> local z = lucerna.complex(lucerna.tensor{1.0, 2.0}, lucerna.tensor{0.0, -1.0})
> local real, imag = z[2]:item()
> assert(real == 2 and imag == -1)
> local same = lucerna.tensor({{1, 0}, {2, -1}}, {dtype = lucerna.complex64})]=]},
{"polar", [=[
A complex tensor of absolute values and angles.
> local z = lucerna.polar(lucerna.tensor{1.0, 2.0}, lucerna.tensor{0.0, math.pi / 2})]=]},
{"real imag", [=[
The real (imaginary) part of a complex tensor: a view of the same memory, which z.real and z.imag
are too. Both can be assigned. A real tensor is its own real part.
> local z = lucerna.complex(lucerna.ones(2), lucerna.zeros(2))
> z.imag = lucerna.tensor{3.0, 4.0}
> assert(z.imag[2]:item() == 4)]=]},
{"view_as_real", [=[
A complex tensor seen as a real one with a last dimension of 2, its parts. Shares memory.
> assert(lucerna.view_as_real(lucerna.complex(1, 2)):tolist()[2] == 2)]=]},
{"view_as_complex", [=[
A real tensor whose last dimension has 2 neighbours in memory, seen as a complex one. Shares memory.
> local z = lucerna.view_as_complex(lucerna.ones(3, 2))]=]},
{"conj conj_physical", [=[
The conjugate of each element; of a real tensor conj gives the tensor itself. It is computed at
once: no tensor carries a lazy conjugate bit.
> local z = lucerna.complex(1, 2):conj()]=]},
{"resolve_conj resolve_neg", [=[
The tensor itself: its conjugate, or what is negative, has been computed already.]=]},
{"is_conj", "Has the tensor a lazy conjugate bit? None has: false."},
{"adjoint", [=[
The last two dimensions exchanged and the elements conjugated; z.mH too, and for a matrix z.H.
> local z = lucerna.complex(lucerna.ones(2, 3), lucerna.ones(2, 3)):adjoint()]=]},
}

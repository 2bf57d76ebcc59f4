#!/usr/bin/env python3
"""PyTorch's answers for fft, stft and windows: tests/parity/data/fft.lua."""
import torch

from record import Const, Dim, case, real, write

f64, f32, c128, c64 = torch.float64, torch.float32, torch.complex128, torch.complex64
NORMS = ("backward", "ortho", "forward")


def windows():
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        name += "_window"
        for n in (0, 1, 2, 6, 7):
            case(name, n, dtype=f64)
            case(name, n, False, dtype=f64)
        case(name, 5)
        case(name, 5, periodic=False, dtype=f32)
        case(name, -1)
        case(name, 5, dtype=torch.int64)
    case("hamming_window", 6, True, 0.4)
    case("hamming_window", 6, False, 0.4, 0.7, dtype=f64)
    case("kaiser_window", 6, True, 3.5, dtype=f64)
    case("kaiser_window", 6, False, beta=0.0, dtype=f64)


def frequencies():
    for name in ("fft.fftfreq", "fft.rfftfreq"):
        for n in (1, 2, 7, 8):
            case(name, n, dtype=f64)
            case(name, n, 0.25)
        case(name, 0)
        case(name, 5, d=2.0, dtype=f64)
        case(name, 4, 0.0)
        case(name, -4)
        case(name, 3, dtype=torch.int64)


def takes(name, dtype):
    """What one- and more-dimensional functions alike refuse."""
    case(name, torch.tensor(1.0))
    case(name, real(4, dtype=dtype), norm="ortho2")
    case(name, torch.ones(4, dtype=torch.float16))
    case(name, real(2, 4, dtype=dtype), dim=Dim(2))


def lines():
    """Along one dim; n: shorter, longer."""
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        reals, name = name in ("rfft", "ihfft"), "fft." + name
        dtype = f64 if reals else c128
        for n in (None, 3, 6, 9):
            case(name, real(5, dtype=dtype), n)
        for norm in NORMS:
            case(name, real(2, 4, dtype=dtype), 5, norm=norm)
        case(name, real(3, 2, dtype=dtype), None, Dim(0))
        case(name, real(2, 3, 2, dtype=dtype), 4, Dim(-2), "ortho")
        case(name, real(6, dtype=f32 if reals else c64))
        case(name, real(4), name="of reals")
        case(name, real(2, 4, dtype=f32), dim=Dim(0), n=3)
        case(name, torch.tensor([1, 2, 3, 5]))
        case(name, torch.tensor([True, False, True]))
        case(name, torch.zeros(0, 4, dtype=dtype))
        case(name, torch.zeros(4, 0, dtype=dtype))
        case(name, torch.zeros(2, 0, dtype=dtype), 4)
        case(name, real(1, dtype=dtype))
        case(name, real(1, dtype=dtype), 1)
        for n in (0, -1):
            case(name, real(4, dtype=dtype), n)
        takes(name, dtype)
        if reals:
            case(name, real(4, dtype=c128))


def boxes():
    """Along several dims."""
    for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        reals = kind in ("rfft", "ihfft")
        dtype = f64 if reals else c128
        for name in ("fft.%s2" % kind, "fft.%sn" % kind):
            case(name, real(2, 2, 3, dtype=dtype))
            case(name, real(3, 2, dtype=dtype), (2, 3), norm="ortho")
            case(name, torch.zeros(2, 0, 3, 2, dtype=dtype))
            case(name, real(2, 3, dtype=dtype), (2, 0))
            case(name, real(2, 3, dtype=dtype), dim=(Dim(0), Dim(-2)))
            case(name, real(2, 3, dtype=dtype), (2, 3), (Dim(0),))
            if reals:
                case(name, real(2, 2, dtype=c128))
        for norm in NORMS:
            case(name, real(2, 3, dtype=dtype), (2, 4), norm=norm)
        case(name, real(2, 2, 3, dtype=dtype), dim=(Dim(2), Dim(0)))
        case(name, real(2, 3, 1, dtype=dtype), (-1, 4), (Dim(0), Dim(1)))
        case(name, real(3, 2, dtype=dtype), (5,))
        case(name, real(2, 3, dtype=dtype), dim=(Dim(0),))
        case(name, Const(real(2, 3, dtype=f32 if reals else c64)))
        case(name, torch.tensor([[1, 2], [3, 5]]))
        case(name, torch.zeros(2, 0, dtype=dtype))
        case(name, real(2, 3, dtype=dtype), (2, 3, 4))
        case(name, real(2, 3, dtype=dtype), dim=(Dim(0), Dim(3)))
        case(name, real(2, 3, dtype=dtype), norm="none")
        case(name, torch.ones(2, 2, dtype=torch.bfloat16))
        if kind not in ("fft", "ifft"):  # PyTorch 1.13 then gives memory as it finds it
            case(name, real(2, 3, dtype=dtype), dim=())
            case(name, torch.tensor(2.0, dtype=dtype))


def shifts():
    for name in ("fft.fftshift", "fft.ifftshift"):
        case(name, real(5))
        case(name, real(4, dtype=c128))
        case(name, real(3, 4))
        case(name, real(3, 4), (Dim(1),))
        case(name, real(2, 3, 5), (Dim(0), Dim(-1)))
        case(name, torch.arange(6))
        case(name, torch.zeros(0, 3))
        case(name, real(2, 3), (Dim(2),))


def frames():
    """stft."""
    for name in ("stft", ".stft"):
        case(name, real(12), 4, return_complex=True)
        case(name, real(2, 9), 4, 3, return_complex=True)
    x, w = real(11), torch.hann_window(4, dtype=f64)
    case("stft", x, 4, 2, None, w, return_complex=True)
    case("stft", x, 6, 2, 4, w, return_complex=True)
    case("stft", x, 6, 2, 3, return_complex=True)
    case("stft", x, 5, 2, 4, w, False, return_complex=True)
    for mode in ("constant", "replicate", "circular"):
        case("stft", x, 4, 3, pad_mode=mode, return_complex=True)
    case("stft", x, 4, 3, normalized=True, return_complex=True)
    case("stft", x, 4, 3, onesided=False, return_complex=True)
    case("stft", x, 4, 3, return_complex=False)
    case("stft", real(7, dtype=c128), 4, 3)
    case("stft", real(7, dtype=c128), 4, 3, return_complex=False)
    case("stft", real(7), 4, 3, window=real(4, dtype=c128))
    case("stft", Const(real(9, dtype=f32)), 4, 3, window=torch.ones(4), return_complex=True)
    for n, hop, length in ((0, None, None), (9, None, None), (4, 0, None), (4, 2, 5), (4, 2, 0)):
        case("stft", real(8), n, hop, length, center=False, return_complex=True)
    case("stft", real(2), 4, return_complex=True)
    case("stft", torch.arange(8), 4, return_complex=True)
    case("stft", real(1, 1, 8), 4, return_complex=True)
    case("stft", real(8), 4, window=torch.ones(3), return_complex=True)
    case("stft", real(8, dtype=c128), 4, onesided=True)
    case("stft", real(8), 4, pad_mode="mirror", return_complex=True)


def signals():
    """istft."""
    w = torch.tensor([0.5, 1, 1.5, 1], dtype=f64)
    for name in ("istft", ".istft"):
        case(name, real(3, 5, dtype=c128), 4)
        case(name, real(2, 3, 4, dtype=c128), 4, 2, window=w)
    case("istft", real(4, 4, dtype=c128), 6, 2, 4, w)
    case("istft", real(4, 4, dtype=c128), 6, 2, 4)
    case("istft", real(3, 4, dtype=c128), 5, 2, window=real(5) + 3)
    case("istft", real(3, 4, dtype=c128), 4, 2, center=False)
    case("istft", real(3, 4, dtype=c128), 4, 2, normalized=True)
    case("istft", real(4, 4, dtype=c128), 4, 2)
    case("istft", real(4, 4, dtype=c128), 4, 2, onesided=False)
    case("istft", real(4, 4, dtype=c128), 4, 2, onesided=False, return_complex=True)
    case("istft", real(4, 3, dtype=c128), 4, 2, window=w + 1j, return_complex=True)
    for length in (5, 12):
        case("istft", real(3, 4, dtype=c128), 4, 2, length=length)
    case("istft", Const(real(3, 4, dtype=c64)), 4, 2, window=torch.ones(4))
    case("istft", real(3, 4), 4, 2)
    case("istft", torch.zeros(3, 0, dtype=c128), 4, 2)
    case("istft", real(3, dtype=c128), 4, 2)
    case("istft", real(5, 4, dtype=c128), 4, 2)
    case("istft", real(3, 4, dtype=c128), 4, 2, onesided=False)
    case("istft", real(3, 4, dtype=c128), 4, 5)
    case("istft", real(3, 4, dtype=c128), 4, 0)
    case("istft", real(3, 4, dtype=c128), 4, 2, 5)
    case("istft", real(3, 4, dtype=c128), 4, 2, window=torch.ones(3))
    case("istft", real(3, 4, dtype=c128), 4, 4, window=torch.zeros(4))
    case("istft", real(3, 4, dtype=c128), 4, 2, onesided=True, return_complex=True)
    case("istft", real(3, 4, dtype=c128), 4, 2, window=w + 1j)


windows()
frequencies()
shifts()
lines()
boxes()
frames()
signals()
write("fft", __file__)

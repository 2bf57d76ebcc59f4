#!/usr/bin/env python3
"""PyTorch's answers for fft, stft and windows: tests/parity/data/fft.lua."""
import torch

from record import case, write

f64, f32 = torch.float64, torch.float32


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


windows()
frequencies()
write("fft", __file__)

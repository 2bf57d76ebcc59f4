#!/usr/bin/env python3
"""Prints src/cpu/vmath_terms.h: the polynomials and constants of the vector functions.

    /usr/bin/python3 src/tools/vmath_terms.py > src/cpu/vmath_terms.h     (needs mpmath)

A polynomial interpolates its function at Chebyshev's nodes, which is within a bit of the best one.
Each row of TERMS says how many terms float and double take (0: it has no use for it).
"""

import struct
import textwrap
from functools import lru_cache

from mpmath import (airyai, airybi, asin, atan, besseli, besselj, besselk, bessely, cos, digamma,
                    erf, erfc, erfinv, euler, exp, findroot, gamma, lambertw, ln2, log, loggamma,
                    lu_solve, matrix, mp, mpf, pi, psi, sin, sinh, sqrt, tan, tanh, workdps)

mp.dps = 60
NUDGE = mpf(10) ** -20  # off zero, where quotients have no value


def odd(f):
    """f(x) = x + x^3 g(x^2): g."""
    return lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z


def log_series(w):
    """log((1 + s) / (1 - s)) = 2 s + s^3 (2 / 3 + w g(w)), w = s^2: g."""
    s = sqrt(w)
    return ((log((1 + s) / (1 - s)) / s - 2) / w - mpf(2) / 3) / w


def erfc_exponent(q):
    """The logarithm of (a + 2.5) exp(a^2) erfc(a), and 3 q / 4, q = (a - 2.5) / (a + 2.5)."""
    a = mpf("2.5") * (1 + q) / (1 - q)
    return log((a + mpf("2.5")) * exp(a * a) * erfc(a)) + 3 * q / 4


def erfc_piece(a):
    """erf(a) / a or exp(a^2) erfc(a)."""
    a += NUDGE
    return erf(a) / a if a < 0.5 else exp(a * a) * erfc(a)


def normal_exponent(q):
    """The logarithm of (a + 3.5) exp(a^2 / 2) times the normal distribution at -a, 3 q / 4 and
    19 / 64, q = (a - 3.5) / (a + 3.5)."""
    a = mpf("3.5") * (1 + q) / (1 - q)
    if a > 1000:
        ratio = (1 - 1 / a**2 + 3 / a**4 - 15 / a**6) / a / sqrt(2 * pi)
    else:
        ratio = exp(a * a / 2) * erfc(a / sqrt(mpf(2))) / 2
    return log((a + mpf("3.5")) * ratio) + 3 * q / 4 + mpf(19) / 64


def erfinv_slope(v):
    """erfinv(x) / x, v = -log(1 - x^2) - 1.25."""
    x = sqrt(1 - exp(-v - mpf("1.25")))
    return erfinv(x) / x


def digamma_slope(q):
    """digamma(x) / (x - its root), q = (x - 2.5) / (x + 2.5)."""
    x = mpf("2.5") * (1 + q) / (1 - q)
    return digamma(x) / (x - ROOT)


def trigamma_times(q):
    """x trigamma(x), q = (x - 2.5) / (x + 2.5)."""
    x = mpf("2.5") * (1 + q) / (1 - q)
    return x * psi(1, x)


def off_middle(f):
    """f(x) = f(0) + x g(x): g."""
    return lambda x: (f(x) - f(mpf(0))) / x


def bessel_far(order):
    """sqrt(x) exp(-x) I(x) of 14 / x - 1."""
    return lambda u: besseli(order, 14 / (1 + u)) * exp(-14 / (1 + u)) * sqrt(14 / (1 + u))


def bessel_k_rest(order):
    """K0(x) + (log(x / 2) + gamma) I0(x), or 1 / x less that of K1 and I1, over x; of x^2."""
    def f(z):
        x = sqrt(z)
        i = (log(x / 2) + euler) * besseli(order, x)
        return (1 / x + i - besselk(1, x)) / x if order else besselk(0, x) + i
    return f


def bessel_k_far(order):
    """sqrt(x) exp(x) K(x) of 1 - 4 / (x + 1)."""
    def f(t):
        x = 4 / (1 - t) - 1
        return besselk(order, x) * exp(x) * sqrt(x)
    return f


def bessel_y_rest(order):
    """pi / 2 Y0(x) - (log(x / 2) + gamma) J0(x), or with 1 / x that of Y1 and J1 over x; of x^2."""
    def f(z):
        x = sqrt(z)
        y = pi / 2 * bessely(order, x) - (log(x / 2) + euler) * besselj(order, x)
        return (y + 1 / x) / x if order else y
    return f


def hankel(order, is_q):
    """x Q(x), or x^2 (P(x) - 1), of 6 / (x + 1) - 1: sqrt(pi x / 2) (J + i Y) is
    P + i Q at the angle x - (2 order + 1) pi / 4."""
    def f(u):
        x = 6 / (1 + u) - 1
        angle = x - (2 * order + 1) * pi / 4
        j, y = (sqrt(pi * x / 2) * b(order, x) for b in (besselj, bessely))
        q = y * cos(angle) - j * sin(angle)
        return q * x if is_q else (j * cos(angle) + y * sin(angle) - 1) * x * x
    return f


def airy_near(slope):
    """Ai(x) = Ai(0) + Ai'(0) x + x^3 (f + x g), of x^3: f, or with `slope` g."""
    def g(z):
        x = z**(mpf(1) / 3) if z > 0 else -(-z)**(mpf(1) / 3)
        turn = x * exp(2j * pi / 3)  # x^3 is the same there, x not
        f = airyai(x), airyai(turn)
        if slope:
            return ((f[0] - f[1]) / (x - turn)).real / z - airyai(0, derivative=1) / z
        return ((f[0] * turn - f[1] * x) / (turn - x)).real / z - airyai(0) / z
    return g


def airy_far(t):
    """x^(1/4) exp(zeta) Ai(x), zeta = 2/3 x^(3/2), t = 1 - 3.3 / (zeta + 1)."""
    zeta = mpf("3.3") / (1 - t) - 1
    if zeta > 500:
        terms, term = [mpf(1)], mpf(1)
        for k in range(1, 25):
            term *= -mpf((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216 * k * (2 * k - 1)) / zeta
            terms.append(term)
        return sum(terms) / (2 * sqrt(pi))
    x = (mpf("1.5") * zeta) ** (mpf(2) / 3)
    return x ** mpf("0.25") * exp(zeta) * airyai(x)


def airy_wave(is_q):
    """As hankel, of 4.2 / (zeta + 1) - 1: sqrt(pi) z^(1/4) (Bi + i Ai) of -z is
    P - i Q at the angle zeta + pi / 4; -zeta Q, or zeta^2 (P - 1)."""
    def f(u):
        zeta = mpf("4.2") / (1 + u) - 1
        z, angle = (mpf("1.5") * zeta) ** (mpf(2) / 3), zeta + pi / 4
        a, b = (sqrt(pi) * z ** mpf("0.25") * f(-z) for f in (airyai, airybi))
        if is_q:
            return (a * cos(angle) - b * sin(angle)) * zeta
        return (a * sin(angle) + b * cos(angle) - 1) * zeta**2
    return f


def lgamma_slope(u):
    """log(|Gamma(-a)|) over a's distances from its roots, a being the double 2.61, plus u."""
    a = mpf(2.61) + u
    return log(abs(gamma(-a))) / ((a - LEFT_ROOT) * (a - RIGHT_ROOT))


def stirling(z):
    """x (log(Gamma(x)) less Stirling's formula), z = 1 / x^2."""
    x = 1 / sqrt(z)
    return (loggamma(x) - ((x - mpf("0.5")) * log(x) - x + log(2 * pi) / 2)) * x


def trigamma_tail(z):
    """x^3 (trigamma(x) - 1 / x - 1 / (2 x^2)), z = 1 / x^2."""
    x = 1 / sqrt(z)
    return (psi(1, x) - 1 / x - z / 2) * x**3


def digamma_tail(z):
    """x^2 (log(x) - 1 / (2 x) - digamma(x)), z = 1 / x^2."""
    x = 1 / sqrt(z)
    return (log(x) - 1 / (2 * x) - digamma(x)) * x * x


def temme(eta, u):
    """sqrt(2 pi a) exp(a eta^2 / 2) (erfc(-eta sqrt(a / 2)) / 2 - P(a, x)), a = 1 / u, for the x
    whose x / a - 1 - log(x / a) is eta^2 / 2."""
    a = 1 / u
    with workdps(90 + int(a * eta**2 / 4)):
        x = -a * lambertw(-exp(-1 - eta**2 / 2), 0 if eta < 0 else -1).real
        term = total = mpf(1)
        k = a
        while term > total * mpf(10) ** -mp.dps:
            k += 1
            term *= x / k
            total += term
        p = total * exp(a * log(x) - x - loggamma(a + 1))
        return (erfc(-eta * sqrt(a / 2)) / 2 - p) * sqrt(2 * pi * a) * exp(a * eta**2 / 2)


ROOT = findroot(digamma, mpf("1.46"))
LEFT_ROOT, RIGHT_ROOT = (findroot(lambda a: log(abs(gamma(-a))), x) for x in (2.457, 2.748))
ONE_TO_SIX = (mpf("-1.5") / mpf("3.5"), mpf("3.5") / mpf("8.5"))
QUARTER = (pi / 4 + mpf("0.001")) ** 2

TERMS = [  # name, what it is, the function, its interval, terms of float and double
    ("exp_tail", "(e^r - 1 - r) / r^2, |r| <= log(2) / 2", lambda r: (exp(r) - 1 - r) / r**2,
     (-0.3467, 0.3467), 6, 11),
    ("exp_short", "The same, |r| <= log(2) / 32", lambda r: (exp(r) - 1 - r) / r**2,
     (-0.0217, 0.0217), 2, 5),
    ("log_rest", "(log(1 + m) - m) / m^2, -1/4 <= m <= 1/2", lambda m: (log(1 + m) - m) / m**2,
     (-0.25, 0.5), 9, 0),
    ("log_series", "of log((1 + s) / (1 - s)), see there", log_series, (0, 0.0401), 4, 9),
    ("sine", "(sin(x) - x) / x^3 of x^2, |x| <= pi / 4", odd(sin), (0, QUARTER), 3, 6),
    ("cosine", "(cos(x) - 1 + x^2 / 2) / x^4 of x^2, |x| <= pi / 4",
     lambda z: ((cos(sqrt(z)) - 1) / z + mpf("0.5")) / z, (0, QUARTER), 3, 6),
    ("tan", "(tan(x) - x) / x^3 of x^2, |x| <= pi / 64", odd(tan), (0, mpf("0.00241")), 2, 5),
    ("asin", "(asin(x) - x) / x^3 of x^2, |x| <= 1/2", odd(asin), (0, 0.25), 5, 13),
    ("atan", "(atan(x) - x) / x^3 of x^2, |x| <= 1/2", odd(atan), (0, 0.25), 6, 13),
    ("sinh", "(sinh(x) - x) / x^3 of x^2, |x| <= 1", odd(sinh), (0, 1), 4, 8),
    ("tanh", "(tanh(x) - x) / x^3 of x^2, |x| <= 0.625", odd(tanh), (0, 0.4), 5, 11),
    ("tanhshrink", "((x - tanh(x)) / x^3 - 1/3) / x^2 of x^2, |x| <= 1.03",
     lambda z: ((sqrt(z) - tanh(sqrt(z))) / sqrt(z)**3 - mpf(1) / 3) / z, (0, 1.061), 8, 16),
    ("erf", "erf(x) / x - 1 of x^2, |x| <= 1", lambda z: erf(sqrt(z)) / sqrt(z) - 1, (0, 1), 7, 13),
    ("erfc", "log((a + 2.5) exp(a^2) erfc(a)) + 3 q / 4 of q = (a - 2.5) / (a + 2.5), a >= 0.8",
     erfc_exponent,
     (mpf("-1.7") / mpf("3.3"), (mpf("27.5") - mpf("2.5")) / 30), 11, 24),
    ("normal", "log((a + 3.5) e^(a^2 / 2) normal(-a)) + 3 q / 4 + 19 / 64, "
     "q = (a - 3.5) / (a + 3.5)", normal_exponent, (-1, 1), 0, 26),
    ("erfinv", "(erfinv(x) / x - middle) / v of v = -log(1 - x^2) - 1.25, |x| <= 0.9966",
     off_middle(erfinv_slope), (-1.25, 3.75), 9, 21),
    ("lgamma", "(log(Gamma(2 + t)) - t (1 - gamma)) / t^2, |t| <= 1/2",
     lambda t: (loggamma(2 + t) - t * (1 - euler)) / t**2, (-0.5, 0.5), 8, 18),
    ("lgamma_roots", "(log(|Gamma(-a)|) over distances from two roots - middle) / u, "
     "u = a - 2.61", off_middle(lgamma_slope), (-0.19, 0.19), 0, 27),
    ("stirling", "x (log(Gamma(x)) - Stirling's formula) of 1 / x^2, x >= 8", stirling,
     (0, mpf(1) / 64), 2, 6),
    ("digamma", "(digamma(x) / (x - root) - middle) / q of q = (x - 2.5) / (x + 2.5), 1 <= x <= 3",
     off_middle(digamma_slope), (mpf("-1.5") / mpf("3.5"), mpf("0.5") / mpf("5.5")), 11, 22),
    ("digamma_tail", "x^2 (log(x) - 1 / (2 x) - digamma(x)) of 1 / x^2, x >= 3", digamma_tail,
     (0, mpf(1) / 9), 4, 13),
    ("trigamma_tail", "x^3 (trigamma(x) - 1 / x - 1 / (2 x^2)) of 1 / x^2, x >= 6", trigamma_tail,
     (0, mpf(1) / 36), 3, 8),
    ("trigamma", "(x trigamma(x) - middle) / q of that q",
     off_middle(trigamma_times), ONE_TO_SIX, 14, 27),
    ("bessel_i0", "I0(x) of x^2, x <= 7", lambda z: besseli(0, sqrt(z)), (0, 49), 11, 16),
    ("bessel_i1", "I1(x) / x of x^2, x <= 7", lambda z: besseli(1, sqrt(z)) / sqrt(z), (0, 49),
     10, 15),
    ("bessel_i0_far", "(sqrt(x) exp(-x) I0(x) - middle) / u of u = 14 / x - 1, x >= 7",
     off_middle(bessel_far(0)), (-1, 1), 6, 26),
    ("bessel_i1_far", "the same of I1", off_middle(bessel_far(1)), (-1, 1), 6, 26),
    ("bessel_k0", "(K0(x) + (log(x / 2) + gamma) I0(x)) / x^2 of x^2, x <= 1",
     lambda z: bessel_k_rest(0)(z) / z, (0, 1), 0, 9),
    ("bessel_k1", "(1 / x - K1(x) + (log(x / 2) + gamma) I1(x)) / x of x^2, x <= 1",
     bessel_k_rest(1), (0, 1), 0, 9),
    ("bessel_k0_far", "(sqrt(x) exp(x) K0(x) - middle) / t of t = 1 - 4 / (x + 1), x >= 1",
     off_middle(bessel_k_far(0)), (-1, 1), 0, 27),
    ("bessel_k1_far", "the same of K1", off_middle(bessel_k_far(1)), (-1, 1), 0, 27),
    ("bessel_j0", "(J0(x) - 1 + x^2 / 4) / x^4 of x^2, x <= 2",
     lambda z: (besselj(0, sqrt(z)) - 1 + z / 4) / z**2, (0, 4), 0, 10),
    ("bessel_j1", "(J1(x) / x - 1/2) / x^2 of x^2, x <= 2",
     lambda z: (besselj(1, sqrt(z)) / sqrt(z) - mpf("0.5")) / z, (0, 4), 0, 10),
    ("bessel_y0", "(pi / 2 Y0(x) - (log(x / 2) + gamma) J0(x)) / x^2 of x^2, x <= 2",
     lambda z: bessel_y_rest(0)(z) / z, (0, 4), 0, 11),
    ("bessel_y1", "(pi / 2 Y1(x) - (log(x / 2) + gamma) J1(x) + 1 / x) / x of x^2, x <= 2",
     bessel_y_rest(1), (0, 4), 0, 11),
    ("hankel_p0", "x^2 (P - 1), P being Hankel's of order 0, of 6 / (x + 1) - 1, x >= 2",
     hankel(0, False), (-1, 1), 0, 26),
    ("hankel_q0", "x Q, likewise", hankel(0, True), (-1, 1), 0, 24),
    ("hankel_p1", "x^2 (P - 1), likewise of order 1", hankel(1, False), (-1, 1), 0, 26),
    ("hankel_q1", "x Q, likewise", hankel(1, True), (-1, 1), 0, 24),
    ("airy_f", "Ai(x) - Ai(0) - Ai'(0) x is x^3 (f + x g), -1.4 <= x <= 1: f of x^3",
     airy_near(False), (-2.8, 1), 0, 8),
    ("airy_g", "g", airy_near(True), (-2.8, 1), 0, 8),
    ("airy_far", "(x^(1/4) exp(zeta) Ai(x) - middle) / t of t = 1 - 3.3 / (zeta + 1), x >= 1",
     off_middle(airy_far), (-1, 1), 0, 24),
    ("airy_p", "as hankel_p0, of Ai(-z) and 4.2 / (zeta + 1) - 1, z >= 1.4", airy_wave(False),
     (-1, 1), 0, 30),
    ("airy_q", "-zeta Q, likewise", airy_wave(True), (-1, 1), 0, 28),
]
MIDDLES = [("erfinv", erfinv_slope), ("ndtri", lambda v: sqrt(mpf(2)) * erfinv_slope(v)),
           ("airy", airy_far),
           ("lgamma_roots", lgamma_slope), ("digamma", digamma_slope), ("trigamma", trigamma_times),
           ("bessel_i0", bessel_far(0)), ("bessel_i1", bessel_far(1)),
           ("bessel_k0", bessel_k_far(0)), ("bessel_k1", bessel_k_far(1))]
INTERVAL_F32 = {"erfc": (mpf("-1.7") / mpf("3.3"), mpf("7.6") / mpf("12.6"))}


def interpolate(f, low, high, n):
    """The n coefficients of the polynomial, highest power first."""
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * n)) + NUDGE
             for k in range(n)]
    powers = matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = x**j
    return list(lu_solve(powers, matrix([f(x) for x in nodes])))[::-1]


def rounded(x, real, bits=None):
    """x as float or double; cut to bits binary digits where they are given."""
    if bits:
        scale = mpf(2) ** (bits - 1 - mp.floor(log(abs(x), 2)))
        x = mp.floor(x * scale) / scale
    return struct.unpack("f", struct.pack("f", float(x)))[0] if real == "float" else float(x)


def parts(x, real, n, bits=None):
    """n numbers whose sum is x, the first of few binary digits where bits says so."""
    out = []
    for i in range(n):
        out.append(rounded(x, real, bits if i == 0 else None))
        x -= mpf(out[-1])
    return out


def literal(x, real):
    word = "%.9g" % x if real == "float" else "%.17g" % x
    if "." not in word and "e" not in word:
        word += ".0"
    return word + "f" * (real == "float")


def temme_terms(width, height):
    """For u up to 1 / 10, highest powers first, `width` terms of eta for each power of u."""
    low, high = (s * sqrt(2 * (x - 1 - log(x))) for s, x in ((-1, mpf(2) / 3), (1, mpf("1.5"))))
    row = lru_cache(None)(lambda u: interpolate(lambda eta: temme(eta, u), low, high, width))
    columns = [interpolate(lambda u, k=k: row(u)[k], 0, mpf("0.1"), height) for k in range(width)]
    return [rounded(c, "double") for terms in zip(*columns) for c in terms]


def in_pieces(f, bounds, real, n):
    """f in 16 pieces between bounds: a row of their centers, then rows of coefficients of powers of
    what is left of them, the highest first. Values at the centers are almost numbers; where f(0) is
    0, the first piece's center is 0, and its slope is less 1."""
    columns = []
    for i, (low, high) in enumerate(zip(bounds, bounds[1:])):
        near = [(low + high) / 2 + (high - low) * mpf(k) / 8192 for k in range(-256, 256)]
        at_zero = i == 0 and f(mpf(0)) == 0
        near = [mpf(0)] if at_zero else [mpf(rounded(c, real)) for c in near]
        center = min(near, key=lambda c: abs(f(c) - rounded(f(c), real)))
        slope = interpolate(lambda r: (f(center + r) - f(center)) / r, low - center, high - center,
                            n - 1)
        slope[-1] -= at_zero
        columns.append([center] + slope + [f(center)])
    return [rounded(c, real) for row in zip(*columns) for c in row]


def inverses(base):
    """Of k / 20, k from 15 to 30 at place k mod 16: nearly their inverses, with logarithms that are
    almost doubles; and these, turned around."""
    found = [None] * 16
    for k in range(15, 31):
        near = [mpf(20 / k * (1 + t * 1e-6)) for t in range(-1000, 1001)] if k != 20 else [mpf(1)]
        inverse = min(near, key=lambda c: abs(log(c, base) - rounded(log(c, base), "double")))
        found[k % 16] = inverse, -log(inverse, base)
    return [rounded(x, "double") for column in zip(*found) for x in column]


def table(name, values, real):
    words = ", ".join(literal(v, real) for v in values)
    row = "static const %s luc__%s_%s[] = {%s};" % (
        real, name, "f32" if real == "float" else "f64", words)
    print(textwrap.fill(row, 100, subsequent_indent="    "))


def pair(name, about, x, n=2, short=None):
    print("/* %s. */" % about)
    for real, bits in (("float", short and short[0]), ("double", short and short[1])):
        table(name, parts(x, real, n, bits), real)


def main():
    print("/* Polynomials, highest power first, and constants in parts, for vmath.inc: what\n"
          " * src/tools/vmath_terms.py prints. */\n#ifndef LUC_VMATH_TERMS_H\n"
          "#define LUC_VMATH_TERMS_H\n\n/* clang-format off */")
    for name, about, f, interval, few, many in TERMS:
        print("/* %s. */" % about)
        for real, n in (("float", few), ("double", many)):
            low, high = INTERVAL_F32.get(name, interval) if real == "float" else interval
            if n:
                terms = interpolate(f, low, high, n)
                table(name + "_terms", [rounded(c, real) for c in terms], real)
    pair("ln2", "log(2); the first part times an exponent is exact", ln2, short=(15, 41))
    pair("log_2", "log(2) once more", ln2)
    pair("log10_2", "log10(2); the first part times an exponent is exact", log(2, 10),
         short=(13, 41))
    pair("log2_e", "1 / log(2)", 1 / ln2)
    pair("log10_e", "1 / log(10)", 1 / log(10))
    pair("half_root", "sqrt(1 / 2)", sqrt(mpf("0.5")))
    pair("half_pi", "pi / 2", pi / 2, 3)
    pair("over_pi", "2 / pi", 2 / pi)
    pair("two_thirds", "2 / 3", mpf(2) / 3)
    for name, f in MIDDLES:
        pair(name + "_middle", "The middle of %s's" % name, f(mpf(0)))
    pair("lgamma_slope", "1 - gamma", 1 - euler)
    pair("log2_less_gamma", "log(2) - gamma", ln2 - euler)
    pair("log_pi", "log(pi)", log(pi))
    pair("airy_start", "Ai(0)", airyai(0))
    pair("airy_slope", "-Ai'(0)", -airyai(0, derivative=1))
    pair("gelu_slope", "sqrt(8 / pi)", sqrt(8 / pi))
    pair("gelu_cube", "0.044715 times that", sqrt(8 / pi) * mpf("0.044715"))
    pair("root_two", "sqrt(2)", sqrt(mpf(2)))
    pair("over_root", "1 / sqrt(2 pi)", 1 / sqrt(2 * pi))
    pair("lgamma_left_root", "Where log(|Gamma(-a)|) is 0", LEFT_ROOT)
    pair("lgamma_right_root", "and again", RIGHT_ROOT)
    pair("digamma_root", "Where digamma is 0", ROOT)
    print("/* 2^(k/16), and by how much of itself each is too small. */")
    for real in ("float", "double"):
        powers = [mpf(2) ** (mpf(k) / 16) for k in range(16)]
        table("powers", [rounded(p, real) for p in powers], real)
        table("powers_lost", [rounded(p / mpf(rounded(p, real)) - 1, real) for p in powers], real)
    print("/* normal(-t) by powers of t - 3 k / 8, highest first: for k = 0..14, then 0. */")
    pieces = [interpolate(lambda r, k=k: erfc((r + mpf(3 * k) / 8) / sqrt(mpf(2))) / 2,
                          mpf(-3) / 16, mpf(3) / 16, 6) for k in range(15)] + [[mpf(0)] * 6]
    table("normal_pieces", [rounded(c, "float") for term in zip(*pieces) for c in term], "float")
    print("/* erf in pieces around multiples of 1/4, or in double 2/5: see vmath_special.inc. */")
    for real, n, step in (("float", 7, mpf(1) / 4), ("double", 14, mpf(2) / 5)):
        bounds = [mpf(0)] + [(k + mpf("0.5")) * step for k in range(16)]
        table("erf_pieces", in_pieces(erf, bounds, real, n), real)
    print("/* erf(a) / a, a <= 1/2, then exp(a^2) erfc(a): a + 2 from 2 to 32 in quarters of "
          "octaves. */")
    bounds = [mpf(2) ** (k // 4) * (4 + k % 4) / 2 - 2 for k in range(17)]
    for real, n in (("float", 8), ("double", 15)):
        table("erfc_pieces", in_pieces(erfc_piece, bounds, real, n), real)
    print("/* tan(k pi / 32) for k from -8 to 7, and what these lack. */")
    for real in ("float", "double"):
        tans = [parts(tan(k * pi / 32), real, 2) for k in range(-8, 8)]
        table("tans", [x for part in zip(*tans) for x in part], real)
    print("/* (log(1 + r) - r + r^2 / 2) / r^3, r being m times nearly 20 / k, less 1; these and\n"
          " * logarithms of what they are the inverses of, k from 15 to 30 at place k mod 16. */")
    terms = interpolate(lambda r: (log(1 + r) - r + r * r / 2) / r**3, -0.0336, 0.0336, 8)
    table("log_near_terms", [rounded(c, "double") for c in terms], "double")
    for name, base in ("log", exp(1)), ("log2", 2), ("log10", 10):
        table(name + "_pieces", inverses(base), "double")
    print("/* By 1 / a and eta, how the incomplete gamma functions differ from a normal one. */")
    table("temme", temme_terms(13, 9), "double")
    print("/* clang-format on */\n\n#endif")


main()

"""Quantiles of Student's t, for any level, without a table and without SciPy."""

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def student_t(degrees: int, alpha: float) -> float:
    """Two-sided quantile of Student's t: outside of ±t lies the share alpha.

    G. W. Hill, Algorithm 396, Communications of the ACM 13 (1970): to about 1e-4 from 3 degrees on.
    """
    if degrees < 3:
        tail = math.pi * alpha / 2
        return 1 / math.tan(tail) if degrees == 1 else math.sqrt(2 / (alpha * (2 - alpha)) - 2)
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * alpha) ** (2 / degrees)
    if y > a + 0.05:
        x = _NORMAL.inv_cdf(alpha / 2)
        y = x * x
        if degrees < 5:
            c += 0.3 * (degrees - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        first = ((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3
        y = ((1 / first + 0.5 / (degrees + 4)) * y - 1) * (degrees + 1) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)

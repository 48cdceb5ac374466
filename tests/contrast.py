"""Contrast and distance of two colours, for tests of the themes."""

import math

# How linear red, green and blue are seen (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHTS = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.15229, 1.05258, -0.20487), (0.1145, 0.78628, 0.09922), (-0.00388, -0.04812, 1.052)),
    "no green": ((0.36732, 0.86065, -0.22797), (0.28009, 0.6725, 0.04741), (-0.01182, 0.04294, 0.96888)),
    "no blue": ((1.25553, -0.07675, -0.17878), (-0.07841, 0.93081, 0.1476), (0.00473, 0.69137, 0.3039)),
}
_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
_WHITE = (0.9505, 1.0, 1.089)


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two ``#rrggbb`` colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def distance(first: str, second: str, sight: str) -> float:
    """Distance in CIE Lab of two ``#rrggbb`` colours, as they are seen with a sight of SIGHTS."""
    return math.dist(_lab(first, sight), _lab(second, sight))


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(colour: str) -> list[float]:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def _lab(colour: str, sight: str) -> tuple[float, float, float]:
    seen = [min(max(value, 0.0), 1.0) for value in _product(SIGHTS[sight], _linear(colour))]
    shares = [value / white for value, white in zip(_product(_XYZ, seen), _WHITE, strict=True)]
    x, y, z = (share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116 for share in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _product(rows: tuple[tuple[float, ...], ...], values: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, values, strict=True)) for row in rows]

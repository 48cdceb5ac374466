"""The colour of a slice: what it is gives the hue's family, its name the hue, so that two traces agree."""

import colorsys
import zlib
from functools import lru_cache

from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.traces.columns import Category

_HUES = tuple(place / 12 for place in range(12))
_GREY = frozenset({Category.PYTHON, Category.OTHER, Category.OVERHEAD})
_SATURATION = {Category.RUNTIME: 0.18, Category.DRIVER: 0.18, Category.CPU_OP: 0.32}
_KERNEL_SATURATION = 0.55
_LIGHT, _DARK = 0.78, 0.34  # lightness behind dark text and behind light text: 4.5:1 and more for each hue


def fill(theme: Theme, category: int, name: str) -> str:
    """As ``#rrggbb``; the theme's text can be read on it."""
    hue = zlib.crc32(name.encode("utf-8", "replace")) % len(_HUES)
    return _of_hue(theme, Category(category), hue)


@lru_cache(maxsize=1024)
def _of_hue(theme: Theme, category: Category, place: int) -> str:
    """Kept, because a frame may show thousands of names for the first time."""
    lightness, hue = _DARK if theme.is_dark else _LIGHT, _HUES[place]
    if category in _GREY:
        return _hex(0.0, lightness - 0.04 if theme.is_dark else lightness + 0.08, 0.0)
    saturation = _SATURATION.get(category, _KERNEL_SATURATION)
    if theme.is_dark:
        lightness -= 0.10 * _brightness(hue)
    return _hex(hue, lightness, saturation)


def _brightness(hue: float) -> float:
    """Green and yellow look brighter than blue of the same lightness, 0 to 1."""
    red, green, blue = colorsys.hls_to_rgb(hue, 0.5, 1.0)
    return 0.21 * red + 0.72 * green + 0.07 * blue


def _hex(hue: float, lightness: float, saturation: float) -> str:
    parts = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)

"""From the worst to the best of a grid: one hue, and ink that can be read on each of its colours."""

from roofscope.app.presentation.tokens import Theme

_INKS = ("#000000", "#ffffff")
# The worst is near the surface, the best stands out; contrast goes from grey to the accent's yellow.
_SCALES = {
    "light": ("#eef3fb", "#7fa8e4", "#123f8c"),
    "dark": ("#252a33", "#3c6296", "#9cc6ff"),
    "contrast": ("#202020", "#7a6a10", "#ffd800"),
}


def shade(share: float, theme: Theme) -> str:
    """The colour of a share of the way from the worst, 0, to the best, 1."""
    worst, middle, best = map(_parts, _SCALES.get(theme.name, _SCALES["dark" if theme.is_dark else "light"]))
    share = min(max(share, 0.0), 1.0)
    if share < 0.5:
        return _mixed(worst, middle, 2 * share)
    return _mixed(middle, best, 2 * share - 1)


def ink_on(colour: str) -> str:
    """Black or white, whichever has more contrast: never less than 4.5:1."""
    return max(_INKS, key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2.1 has it: 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in _parts(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(one: tuple[int, int, int], other: tuple[int, int, int], share: float) -> str:
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(one, other, strict=True))

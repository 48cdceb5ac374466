"""Widths of text without a screen or a font: those of DejaVu Sans, the widest of the usual families.

Text laid out with them never runs into its neighbour, whichever family draws it.
"""

# Advance widths of the characters 32 to 126, in thousandths of the font size.
_WIDTHS = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636),
    *(636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632),
    *(575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685),
    *(611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579),
    *(278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838),
)
_OTHERS = {"·": 318, "×": 838, "²": 401, "³": 401, "µ": 636, "±": 838, "°": 500, "–": 500, "\u00a0": 318}
_UNKNOWN = 1000


def text_width(text: str, size: float) -> float:
    """Width in pixels at a font size in pixels."""
    return sum(_advance(character) for character in text) * size / 1000


def _advance(character: str) -> int:
    index = ord(character) - 32
    if 0 <= index < len(_WIDTHS):
        return _WIDTHS[index]
    return _OTHERS.get(character, _UNKNOWN)

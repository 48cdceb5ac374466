"""Colours and marks, without Qt, so that the command line can draw what the window draws."""

from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.providers import Hue, Marker, Provider
from roofscope.profiling.roofline.roofline import Source


class Scheme(StrEnum):
    """What the user chose; ``system`` follows the desktop."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"


class Tone(StrEnum):
    """What a ceiling is to what is shown: the colour of its line and of its name."""

    TARGET = "target"  # limits the selected point
    LIT = "lit"  # can bound what is shown
    DIM = "dim"


class Theme(Struct, frozen=True):
    """One set of colours, as ``#rrggbb``. Text tokens have at least 4.5:1 on window and surface."""

    name: str
    is_dark: bool
    window: str  # behind everything
    surface: str  # panes, tables, the chart
    raised: str  # cards, menus, buttons
    hover: str  # a button or row under the pointer
    border: str
    text: str
    text_muted: str
    accent: str  # selection and focus
    on_accent: str
    selected_row: str
    good: str
    warning: str
    bad: str
    grid: str
    grid_major: str
    axis: str
    roof: str  # a ceiling that bounds what is shown
    roof_dim: str  # the other ceilings
    attainable: str  # the area under the roof

    def provider(self, provider: Provider) -> str:
        """Colour-blind-safe on every theme; a marker shape always goes with it."""
        return self.shade(provider.facts.hue)

    def shade(self, hue: Hue) -> str:
        """Of this theme, which keeps it apart from every other hue."""
        return _SHADES_BY_THEME.get(self.name, _SHADES)[hue]

    def tone(self, tone: Tone) -> str:
        """The colour of a ceiling's line."""
        return {Tone.TARGET: self.accent, Tone.LIT: self.roof, Tone.DIM: self.roof_dim}[tone]

    def tone_text(self, tone: Tone) -> str:
        """The colour of a ceiling's name: its line's, where that can be read."""
        return {Tone.TARGET: self.accent, Tone.LIT: self.text, Tone.DIM: self.text_muted}[tone]


# Least distance under simulated colour blindness 32 (Lab), 23 to olive, 17 to blue; 3:1 on both surfaces.
_SHADES = {
    Hue.GREEN: "#009E73",
    Hue.OLIVE: "#78692D",
    Hue.VIOLET: "#785EF0",
    Hue.PURPLE: "#AA4499",
    Hue.ORANGE: "#FE6100",
    Hue.BLUE: "#7090D8",
    Hue.TEAL: "#06403C",
    Hue.BROWN: "#412803",
}

# The same hues, lighter: 4:1 on dark, and 20 apart under simulated colour blindness; 4.5:1 on black.
_DARK_SHADES = {
    **_SHADES,
    Hue.OLIVE: "#ADA45D",
    Hue.VIOLET: "#8C76FE",
    Hue.PURPLE: "#BB71A5",
    Hue.BLUE: "#BECEEB",
    Hue.TEAL: "#80FFC4",
    Hue.BROWN: "#FFBE5E",
}
_CONTRAST_SHADES = {
    Hue.GREEN: "#00C48F",
    Hue.OLIVE: "#D6C36A",
    Hue.VIOLET: "#9C84FF",
    Hue.PURPLE: "#DB5FC4",
    Hue.ORANGE: "#FF7A26",
    Hue.BLUE: "#8CD0FF",
    Hue.TEAL: "#E0F7F3",
    Hue.BROWN: "#9B7742",
}
_SHADES_BY_THEME = {"dark": _DARK_SHADES, "contrast": _CONTRAST_SHADES}

PROVIDER_COLOURS = {provider: _SHADES[provider.facts.hue] for provider in Provider}
PROVIDER_MARKERS = {provider: provider.facts.marker for provider in Provider}
PROVIDER_NAMES = {provider: provider.facts.name for provider in Provider}

# Corners round (0, 0) for a marker of size 1, y downwards; areas are alike. A circle has none.
MARKER_CORNERS: dict[Marker, tuple[tuple[float, float], ...]] = {
    Marker.CIRCLE: (),
    Marker.SQUARE: ((-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45)),
    Marker.TRIANGLE: ((0.0, -0.6), (0.57, 0.45), (-0.57, 0.45)),
    Marker.DIAMOND: ((0.0, -0.65), (0.52, 0.0), (0.0, 0.65), (-0.52, 0.0)),
    Marker.PLUS: (
        *((-0.2, -0.57), (0.2, -0.57), (0.2, -0.2), (0.57, -0.2), (0.57, 0.2), (0.2, 0.2)),
        *((0.2, 0.57), (-0.2, 0.57), (-0.2, 0.2), (-0.57, 0.2), (-0.57, -0.2), (-0.2, -0.2)),
    ),
    Marker.STAR: (
        *((0.0, -0.67), (0.2, -0.23), (0.68, -0.17), (0.32, 0.16), (0.42, 0.63)),
        *((0.0, 0.39), (-0.42, 0.63), (-0.32, 0.16), (-0.68, -0.17), (-0.2, -0.23)),
    ),
    Marker.POINTER: ((-0.57, -0.45), (0.57, -0.45), (0.0, 0.6)),
    Marker.CROSS: (
        *((0.26, -0.54), (0.54, -0.26), (0.28, 0.0), (0.54, 0.26), (0.26, 0.54), (0.0, 0.28)),
        *((-0.26, 0.54), (-0.54, 0.26), (-0.28, 0.0), (-0.54, -0.26), (-0.26, -0.54), (0.0, -0.28)),
    ),
}

# A ceiling's line tells its provenance: dash and gap in line widths.
SOURCE_DASHES: dict[Source, tuple[float, ...]] = {
    Source.MEASURED_BURST: (),
    Source.MEASURED_SUSTAINED: (7, 3),
    Source.NAMEPLATE_HELD: (5, 2, 1, 2),
    Source.NAMEPLATE: (1.5, 2.5),
}

LIGHT = Theme(
    name="light",
    is_dark=False,
    window="#f3f4f7",
    surface="#ffffff",
    raised="#ffffff",
    hover="#e9ecf1",
    border="#d9dde4",
    text="#1a1d23",
    text_muted="#59606d",
    accent="#1c64d9",
    on_accent="#ffffff",
    selected_row="#dfeafc",
    good="#0a7a4b",
    warning="#8f5a00",
    bad="#b3261e",
    grid="#f0f2f5",
    grid_major="#e2e5eb",
    axis="#8b93a1",
    roof="#2b303a",
    roof_dim="#888f9c",
    attainable="#f5f8fd",
)

DARK = Theme(
    name="dark",
    is_dark=True,
    window="#17181b",
    surface="#1e1f22",
    raised="#2a2c31",
    hover="#34373d",
    border="#3a3d44",
    text="#e8eaee",
    text_muted="#a3abb8",
    accent="#6ea8ff",
    on_accent="#0c1524",
    selected_row="#26385a",
    good="#4cc38a",
    warning="#f0b429",
    bad="#ff7b72",
    grid="#26282c",
    grid_major="#32353b",
    axis="#7b8492",
    roof="#dfe3ea",
    roof_dim="#717986",
    attainable="#212429",
)

# Text of 7:1, marks and lines of 4.5:1, and borders that can be seen.
CONTRAST = Theme(
    name="contrast",
    is_dark=True,
    window="#000000",
    surface="#000000",
    raised="#101010",
    hover="#2b2b2b",
    border="#a8a8a8",
    text="#ffffff",
    text_muted="#d6d6d6",
    accent="#ffd800",
    on_accent="#000000",
    selected_row="#00366b",
    good="#5ff0a8",
    warning="#ffc21f",
    bad="#ff9d96",
    grid="#1c1c1c",
    grid_major="#383838",
    axis="#9a9a9a",
    roof="#ffffff",
    roof_dim="#a0a0a0",
    attainable="#0b0b0b",
)

"""Elements of an SVG as strings: text, rectangles and the providers' markers."""

from xml.sax.saxutils import quoteattr

from roofscope.app.presentation.roofline.ceiling_names import CeilingName
from roofscope.app.presentation.roofline.geometry import Box, Text
from roofscope.app.presentation.roofline.layout import MARKER
from roofscope.app.presentation.tokens import MARKER_CORNERS, PROVIDER_MARKERS, Theme
from roofscope.profiling.plain_text import html_text
from roofscope.profiling.planning.spec import Provider

SIZE = 12.0
SMALL = 11.0


def svg_text(
    text: str,
    x: float,
    y: float,
    fill: str,
    *,
    anchor: str = "start",
    size: float = SIZE,
    weight: int = 400,
    angle: float = 0.0,
) -> str:
    """A line of text with its baseline at y, turned by ``angle`` degrees about its start."""
    more = "" if anchor == "start" else f" text-anchor={quoteattr(anchor)}"
    more += "" if size == SIZE else f' font-size="{size:g}"'
    more += "" if weight == 400 else f' font-weight="{weight}"'
    more += "" if not angle else f' transform="rotate({angle:.2f} {x:.1f} {y:.1f})"'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{more}>{html_text(text)}</text>'


def svg_placed(text: Text, fill: str, *, anchor: str = "start", size: float = SMALL) -> str:
    """A text of a layout."""
    return svg_text(text.text, text.x, text.baseline, fill, anchor=anchor, size=size, angle=text.angle)


def svg_name(name: CeilingName, theme: Theme) -> list[str]:
    """A ceiling's name in its line's colour, and the thin lines that tie it to that."""
    tone = name.parts[0].tone
    ties = "".join(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" for (x1, y1), (x2, y2) in name.ties)
    baseline = name.box.top + SMALL * 0.98
    texts = [
        svg_text(part.text, part.x, baseline, theme.tone_text(part.tone), size=SMALL) for part in name.parts
    ]
    return [f'<path d="{ties}" stroke="{theme.tone(tone)}" stroke-width="0.8" fill="none"/>', *texts]


def svg_rect(box: Box) -> str:
    """The attributes of a rectangle."""
    return f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def svg_marker(
    provider: Provider, x: float, y: float, theme: Theme, opacity: float = 1.0, size: float = MARKER
) -> str:
    """A provider's marker, ``size`` pixels across, with its middle at (x, y)."""
    style = (
        f'fill="{theme.provider(provider)}" stroke="{theme.surface}" stroke-width="{min(1.2, size / 9):.1f}"'
    )
    if opacity < 1:
        style += f' opacity="{opacity:g}"'
    corners = MARKER_CORNERS[PROVIDER_MARKERS[provider]]
    if not corners:
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{size / 2:g}" {style}/>'
    outline = " ".join(f"{x + dx * size:.2f},{y + dy * size:.2f}" for dx, dy in corners)
    return f'<polygon points="{outline}" {style}/>'


def svg_point(number: int, marker: str, title: str = "") -> str:
    """A point's marker, findable by the point's number in a page; browsers show the title on hover."""
    words = f"<title>{html_text(title)}</title>" if title else ""
    return f'<g data-point="{number}">{words}{marker}</g>'


def svg_warning(x: float, y: float, theme: Theme, size: float = MARKER) -> str:
    """A small exclamation mark at the upper right of a marker at (x, y)."""
    centre_x, centre_y = x + size * 0.75, y - size * 0.75
    return (
        f'<circle cx="{centre_x:.1f}" cy="{centre_y:.1f}" r="{size / 2:g}" fill="{theme.warning}"/>'
        f'<path d="M{centre_x:.1f} {centre_y - 0.28 * size:.1f}v{0.34 * size:.1f}m0 {0.09 * size:.1f}'
        f'v{0.13 * size:.1f}" stroke="{theme.surface}" stroke-width="{0.14 * size:.1f}" fill="none"/>'
    )

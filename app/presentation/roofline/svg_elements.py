"""Elements of an SVG as strings: text, rectangles and the providers' markers."""

from xml.sax.saxutils import quoteattr

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


def svg_placed(
    text: Text, theme: Theme, *, colour: str = "", anchor: str = "start", size: float = SMALL
) -> str:
    """A text of a layout; dim ones in the muted colour."""
    fill = colour or (theme.text if text.lit else theme.text_muted)
    return svg_text(text.text, text.x, text.baseline, fill, anchor=anchor, size=size, angle=text.angle)


def svg_rect(box: Box) -> str:
    """The attributes of a rectangle."""
    return f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def svg_marker(provider: Provider, x: float, y: float, theme: Theme, opacity: float = 1.0) -> str:
    """A provider's marker with its middle at (x, y)."""
    style = f'fill="{theme.provider(provider)}" stroke="{theme.surface}" stroke-width="1.2"'
    if opacity < 1:
        style += f' opacity="{opacity:g}"'
    corners = MARKER_CORNERS[PROVIDER_MARKERS[provider]]
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER / 2:g}" {style}/>'
    outline = " ".join(f"{x + dx * MARKER:.1f},{y + dy * MARKER:.1f}" for dx, dy in corners)
    return f'<polygon points="{outline}" {style}/>'


def svg_point(number: int, marker: str, title: str = "") -> str:
    """A point's marker, findable by the point's number in a page; browsers show the title on hover."""
    words = f"<title>{html_text(title)}</title>" if title else ""
    return f'<g data-point="{number}">{words}{marker}</g>'


def svg_warning(x: float, y: float, theme: Theme) -> str:
    """A small exclamation mark at the upper right of a marker at (x, y)."""
    centre_x, centre_y = x + MARKER * 0.75, y - MARKER * 0.75
    return (
        f'<circle cx="{centre_x:.1f}" cy="{centre_y:.1f}" r="5.5" fill="{theme.warning}"/>'
        f'<path d="M{centre_x:.1f} {centre_y - 3:.1f}v3.6m0 2v1" stroke="{theme.surface}" '
        f'stroke-width="1.6" fill="none"/>'
    )

"""The SVGs of a session inside a page: in the page's colours, and each point findable by its number."""

import re
from collections.abc import Mapping

from markupsafe import Markup

from roofscope.app.presentation.tokens import DARK, LIGHT, Theme
from roofscope.profiling.plain_text import html_text

_TOKENS = (
    *("surface", "window", "border", "text", "text_muted", "accent", "good", "warning", "bad"),
    *("selected_row", "hover", "grid", "grid_major", "axis", "roof", "roof_dim", "attainable"),
)
# Text cannot hold such a thing: its quotes are escaped.
_COLOUR = re.compile(r'="(#[0-9a-f]{6})"')
_POINT = re.compile(r'<g data-point="(\d+)">(?:<title>[^<]*</title>)?')
_HEAD = re.compile(r'<svg xmlns="[^"]*" width="(\d+)" height="(\d+)"\s+viewBox', re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>\s*<desc>(.*?)</desc>\s*", re.DOTALL)


def variables(theme: Theme) -> Markup:
    """A theme as CSS variables."""
    return Markup(" ").join(
        Markup("--{}:{};").format(name.replace("_", "-"), getattr(theme, name)) for name in _TOKENS
    )


LIGHT_VARIABLES, DARK_VARIABLES = variables(LIGHT), variables(DARK)
_VARIABLE_OF = {getattr(LIGHT, name): name.replace("_", "-") for name in reversed(_TOKENS)}


def inline_picture(svg: str, titles: Mapping[int, str]) -> Markup:
    """An SVG drawn in the light theme, for a place in the page. ``titles`` say what the points are."""

    def point(found: re.Match[str]) -> str:
        number = int(found[1])
        title = html_text(titles.get(number, ""))
        return f'<g data-point="{number}" role="img" aria-label="{title}"><title>{title}</title>'

    def head(found: re.Match[str]) -> str:
        return f'<svg role="group" class="picture" style="max-width:{found[1]}px" viewBox'

    found = _TITLE.search(svg)
    label = f"{found[1]}. {found[2]}" if found else ""
    svg = _TITLE.sub("", svg, count=1)
    svg = _HEAD.sub(head, svg, count=1).replace(
        '<svg role="group"', f'<svg role="group" aria-label="{label}"', 1
    )
    svg = _COLOUR.sub(
        lambda found: f'="var(--{_VARIABLE_OF[found[1]]})"' if found[1] in _VARIABLE_OF else found[0], svg
    )
    return Markup(_POINT.sub(point, svg))

"""The grid in files."""

import copy

from msgspec import Struct

from roofscope.app.presentation.grid.scene import GridOptions, build_grid
from roofscope.app.presentation.grid.svg import grid_svg, size_of_picture
from roofscope.app.window.chart.files import png_bytes
from roofscope.app.window.svg_image import svg_image
from roofscope.profiling.results.session import Session

KINDS = "Picture as SVG (*.svg);;Picture as PNG (*.png)"
SUFFIXES = (".svg", ".png")


class GridPicture(Struct, frozen=True):
    """A view of a session."""

    session: Session
    options: GridOptions
    is_dark: bool

    def kept(self) -> "GridPicture":
        """The same of the session as it is now, for a thread of its own."""
        return GridPicture(copy.copy(self.session), self.options, self.is_dark)

    def content(self, suffix: str) -> bytes:
        svg = grid_svg(self.session, self.options, dark=self.is_dark)
        if suffix == ".png":
            return png_bytes(svg_image(svg, size_of_picture(build_grid(self.session, self.options))))
        return svg.encode()

"""Writes what the window shows to a file of the kind its name says."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from app.roofline_svg import roofline_svg
from profiling.report import csv_report, json_report
from profiling.session import Session


class PictureSource(Protocol):
    """The chart, as far as it can paint itself into a file."""

    def render_png(self, path: Path) -> None: ...


class ExportError(Exception):
    """The text is one sentence for the user."""


def export(session: Session, chart: PictureSource, path: Path) -> None:
    """PNG, SVG, CSV or JSON. Raises ExportError."""
    texts: dict[str, Callable[[Session], str]] = {
        ".svg": roofline_svg,
        ".csv": csv_report,
        ".json": json_report,
    }
    kind = path.suffix.lower()
    try:
        if kind == ".png":
            chart.render_png(path)
        elif kind in texts:
            path.write_text(texts[kind](session), encoding="utf-8")
        else:
            raise ExportError(
                f"{path.name} names no known kind of file; end it in .png, .svg, .csv or .json."
            )
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}.") from error

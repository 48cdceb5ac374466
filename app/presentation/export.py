"""Writes what the window shows to a file of the kind its name says."""

from pathlib import Path
from typing import Protocol

from roofscope.profiling.analysis.export import csv_report, json_report
from roofscope.profiling.results.session import Session

SUFFIXES = (".png", ".svg", ".csv", ".json")


class Picture(Protocol):
    def svg(self) -> str: ...


class PictureSource(Protocol):
    """The chart, as far as it can paint itself into a file: what the user sees, not a fresh one."""

    def render_png(self, path: Path) -> None: ...

    def picture(self) -> Picture: ...


class ExportError(Exception):
    """The text is one sentence for the user."""


def export(session: Session, chart: PictureSource, path: Path) -> None:
    """PNG, SVG, CSV or JSON. Raises ExportError."""
    texts = {
        ".svg": lambda: chart.picture().svg(),
        ".csv": lambda: csv_report(session),
        ".json": lambda: json_report(session),
    }
    kind = path.suffix.lower()
    try:
        if kind == ".png":
            chart.render_png(path)
        elif kind in texts:
            path.write_text(texts[kind](), encoding="utf-8", newline="")
        else:
            known = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
            raise ExportError(f"{path.name} names no known kind of file; end it in {known}.")
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}.") from error

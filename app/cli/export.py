"""Writes a session's points and roofline in other formats."""

import os
from collections.abc import Callable
from pathlib import Path

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.targets import check_target, unwritable
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.profiling.analysis.export import csv_report, json_report
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load


def load_or_refuse(path: Path) -> Session:
    try:
        return load(path)
    except SessionError as error:
        refuse(str(error))


def export_session(source: Path, formats: list[str], out: Path | None) -> list[Path]:
    """Write each format beside the session, or to ``out`` (one format). Returns what was written."""
    session = load_or_refuse(source)
    if out and len(formats) > 1:
        refuse("--out names one file; ask for one format with it.")
    targets = {suffix: out or source.with_suffix(f".{suffix}") for suffix in formats}
    for suffix, target in targets.items():
        check_target(target, source, [f".{suffix}"])
    for suffix, target in targets.items():
        try:
            _WRITERS[suffix](session, target)
        except OSError as error:
            refuse(unwritable(target, error))
    return list(targets.values())


def write_svg(session: Session, path: Path) -> None:
    path.write_text(roofline_svg(session), encoding="utf-8")


def _write_csv(session: Session, path: Path) -> None:
    path.write_text(csv_report(session), encoding="utf-8", newline="")


def _write_json(session: Session, path: Path) -> None:
    path.write_text(json_report(session), encoding="utf-8")


def _write_png(session: Session, path: Path) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from roofscope.app.window.chart.render import render_roofline_png
    except ImportError as error:
        refuse(f"A PNG needs Qt, which is not here ({error}); export --svg, or install the `window` group.")
    render_roofline_png(session, path)


_WRITERS: dict[str, Callable[[Session, Path], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "png": _write_png,
    "svg": write_svg,
}

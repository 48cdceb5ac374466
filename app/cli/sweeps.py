"""Sweeps of a run: a table on the terminal, and a picture of each kernel and dtype with several sizes."""

import os
from collections.abc import Iterator
from pathlib import Path

from roofscope.app.cli.errors import complain, refuse
from roofscope.app.cli.targets import check_writable
from roofscope.app.presentation.files import why_unwritable, write_file
from roofscope.app.presentation.sweep.caption import note_lines, title_text, y_title
from roofscope.app.presentation.sweep.scene import SweepScene, build_sweep, sweeps_of
from roofscope.app.presentation.sweep.svg import SIZE_OF_PICTURE, sweep_svg
from roofscope.app.presentation.sweep.table import aligned_text, sweep_table
from roofscope.profiling.results.session import Session

SUFFIXES = (".svg", ".png")
_NO_SWEEP = "No kernel was timed at several sizes, so there is no sweep; give --size n=2^10..2^15."


def check_plot(target: Path) -> None:
    """Refuse before a run what could not be written after it."""
    if target.suffix.lower() not in SUFFIXES:
        refuse(f"{target} names no picture; end it in {' or '.join(SUFFIXES)}.")
    check_writable(target)


def lines_of(scene: SweepScene, session: Session) -> Iterator[str]:
    """Title, table and what must be known beside it."""
    yield f"{title_text(scene, session)}: {y_title(scene).lower()}"
    yield aligned_text(sweep_table(scene))
    yield from note_lines(scene)


def sweep_lines(session: Session) -> Iterator[str]:
    """Every sweep of a session, on each of its devices."""
    shown = False
    for device in session.devices:
        session.show(device)
        for options in sweeps_of(session):
            yield from lines_of(build_sweep(session, options), session)
            shown = True
    if not shown:
        yield _NO_SWEEP


def draw_sweeps(session: Session, target: Path) -> Iterator[str]:
    """Write a picture of each; of several each into a file of its own (``a-softmax-fp32.svg``)."""
    found = []
    for device in session.devices:
        session.show(device)
        found += [(device, options) for options in sweeps_of(session)]
    if not found:
        yield _NO_SWEEP
    has_others = len({(options.kernel, options.dtype) for _, options in found}) > 1
    has_devices = len({device.id for device, _ in found}) > 1
    for device, options in found:
        session.show(device)
        dtype = options.dtype.label if options.dtype else ""
        parts = (options.kernel, dtype) if has_others else ()
        parts = (*parts, device.id.replace(":", "")) if has_devices else parts
        path = target.with_stem("-".join(filter(None, (target.stem, *parts))))
        try:
            write_file(path, picture(sweep_svg(session, options), SIZE_OF_PICTURE, path))
        except OSError as error:
            complain(f"The sweep {why_unwritable(path, error)}")
        else:
            yield f"Sweep:    {path}"


def picture(svg: str, size: tuple[int, int], target: Path) -> bytes:
    """SVG, or a PNG of it where the file's name says so."""
    if target.suffix.lower() != ".png":
        return svg.encode()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from roofscope.app.window.svg_image import render_png
    except ImportError as error:
        refuse(f"A PNG needs Qt, which is not here ({error}); write an .svg, or install roofscope[window].")
    return render_png(svg, size)

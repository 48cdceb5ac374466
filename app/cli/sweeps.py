"""Sweeps of a run: a table on the terminal, and a picture of each kernel and dtype with several sizes."""

import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.targets import STDOUT, check_target, check_writable
from roofscope.app.presentation.export import ExportError
from roofscope.app.presentation.files import file_word, why_unwritable, write_file
from roofscope.app.presentation.sweep.caption import note_lines, title_text, y_title
from roofscope.app.presentation.sweep.scene import SweepScene, build_sweep, sweeps_of
from roofscope.app.presentation.sweep.svg import SIZE_OF_PICTURE, sweep_svg
from roofscope.app.presentation.sweep.table import aligned_text, sweep_table
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.session import Session

SUFFIXES = (".svg", ".png")
_NO_SWEEP = "No kernel was timed at several sizes, so there is no sweep; give --size n=2^10..2^15."


class Drawn(Struct, frozen=True):
    """Files that were written, a line each; and why one was not, as a sentence."""

    lines: tuple[str, ...] = ()
    problem: str = ""


def check_plot(target: Path) -> None:
    """Refuse before a run what could not be written after it."""
    if target == STDOUT:
        refuse("--plot writes a picture of each kernel; name a file, such as a.svg.")
    check_target(target, None, SUFFIXES)
    if target.suffix.lower() == ".png" and find_spec("PySide6") is None:
        refuse(_no_qt("no PySide6"))
    check_writable(target)


def check_sizes(jobs: Iterable[Job]) -> None:
    """Refuse a plan of which no kernel has two sizes: it has no sweep to draw or to print."""
    sizes: dict[tuple[str, str], set[str]] = {}
    for job in jobs:
        workload = job.workload
        sizes.setdefault((workload.kernel, workload.dtype), set()).add(workload.size_label)
    if sizes and max(map(len, sizes.values())) < 2:
        refuse("--plot and --table show sizes beside each other, and here is one; give --size n=2^10..2^15.")


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


def draw_sweeps(session: Session, target: Path) -> Drawn:
    """Write a picture of each; of several each into a file of its own (``a-softmax-fp32.svg``)."""
    found = []
    for device in session.devices:
        session.show(device)
        found += [(device, options) for options in sweeps_of(session)]
    if not found:
        return Drawn(problem=f"Nothing was drawn. {_NO_SWEEP}")
    lines: list[str] = []
    problems: list[str] = []
    has_others = len({(options.kernel, options.dtype) for _, options in found}) > 1
    has_devices = len({device.id for device, _ in found}) > 1
    for device, options in found:
        session.show(device)
        dtype = options.dtype.label if options.dtype else ""
        parts = (file_word(options.kernel or ""), dtype) if has_others else ()
        parts = (*parts, device.id.replace(":", "")) if has_devices else parts
        path = target.with_stem("-".join(filter(None, (target.stem, *parts))))
        try:
            write_file(path, picture(sweep_svg(session, options), SIZE_OF_PICTURE, path))
        except ExportError as error:
            return Drawn(tuple(lines), str(error))
        except (OSError, ValueError) as error:
            problems.append(why_unwritable(path, error))
        else:
            lines.append(f"Sweep:    {path}")
    rest = f" So it was with {len(problems) - 1} more." if problems[1:] else ""
    return Drawn(tuple(lines), f"The sweep {problems[0]}{rest}" if problems else "")


def picture(svg: str, size: tuple[int, int], target: Path) -> bytes:
    """SVG, or a PNG of it where the file's name says so. Raises ExportError where that needs Qt."""
    if target.suffix.lower() != ".png":
        return svg.encode()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from roofscope.app.window.svg_image import render_png
    except ImportError as error:
        raise ExportError(_no_qt(str(error))) from error
    return render_png(svg, size)


def _no_qt(why: str) -> str:
    return f"A PNG needs Qt, which is not here ({why}); write an .svg, or install roofscope[window]."

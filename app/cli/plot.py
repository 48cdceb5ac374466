"""``plot``: draws a session's roofline, or a kernel over its sizes, as SVG or PNG; or prints the table."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.choice import one_of, sizes_of
from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.cli.options import DtypeName, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.sweeps import SUFFIXES, lines_of, picture
from roofscope.app.cli.targets import STDOUT, check_target, put
from roofscope.app.presentation.sweep.axis import SweepAxis
from roofscope.app.presentation.sweep.known import kernels_of
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepOptions, SweepScene, build_sweep
from roofscope.app.presentation.sweep.svg import SIZE_OF_PICTURE, sweep_svg
from roofscope.profiling.planning.spec import Dtype, size_text
from roofscope.profiling.results.session import Session


def command(
    file: SessionFile,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="A kernel over its sizes; the roofline without it.")
    ] = False,
    table: Annotated[
        bool, typer.Option("--table", help="Print the sweep: a row a size, a column an implementation.")
    ] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of several kernels; the first with several sizes.")
    ] = None,
    dtype: DtypeName = None,
    y: Annotated[
        Quantity,
        typer.Option(parser=one_of(Quantity, "quantity"), metavar="NAME", help=f"{', '.join(Quantity)}."),
    ] = Quantity.BANDWIDTH,
    x: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="An axis of the kernel, bytes or flops; what varies if none."),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option("--size", metavar="AXIS=N", help="The other axes, where they vary too: rows=4Ki."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="What speed-ups refer to; eager if none.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME", help="Of a session of several devices: cuda:1; the first if none."
        ),
    ] = None,
    log: Annotated[
        bool | None, typer.Option("--log/--linear", help="The y axis; as suits the quantity if none.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Light on dark.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The .svg or .png to write; - is stdout. Beside the session if none."
        ),
    ] = None,
) -> None:
    """Draw a session's roofline, or with --sweep a kernel over its sizes. Needs no GPU."""
    session = load_or_refuse(file)
    if device:
        found = {one.id: one for one in session.devices}
        if device not in found:
            unknown("device of this session", device, found)
        session.show(found[device])
    if not (sweep or table):
        if any(given is not None for given in (kernel, dtype, x, size, baseline, log)):
            refuse("--kernel, --dtype, --x, --size, --baseline and --log choose a sweep; add --sweep.")
        _draw(_roofline(session, dark), (1280, 800), file, out or file.with_suffix(".svg"))
        return
    options = choose_sweep(
        session, SweepOptions(kernel, dtype, y, None, baseline, is_log=log), x, sizes_of(size or [])
    )
    scene = build_sweep(session, options)
    if scene.is_empty:
        refuse(scene.why_empty)
    if table:
        for line in lines_of(scene, session):
            say(line)
        if not (sweep or out):
            return
    name = f"{file.stem}-{scene.kernel}-{scene.dtype.label if scene.dtype else ''}.svg"
    _draw(sweep_svg(session, options, dark=dark), SIZE_OF_PICTURE, file, out or file.with_name(name))


def choose_sweep(
    session: Session, options: SweepOptions, x: str | None, sizes: dict[str, int]
) -> SweepOptions:
    """Names resolved, or refused with those that there are."""
    from msgspec.structs import replace

    known = kernels_of(session)
    if not known:
        refuse(f"{session.path} holds no measured point.")
    if options.kernel is not None and options.kernel not in known:
        unknown("measured kernel", options.kernel, known)
    scene = build_sweep(session, options)
    if options.dtype not in (None, scene.dtype):
        labels = ", ".join(dtype.label for dtype in known[scene.kernel])
        refuse(f"{scene.kernel} was not measured in {_label(options.dtype)}, only in {labels}.")
    if options.baseline not in (None, scene.baseline):
        unknown("baseline", str(options.baseline), scene.baselines)
    return replace(options, axis=_axis(scene, x, sizes), kernel=scene.kernel, dtype=scene.dtype)


def _axis(scene: SweepScene, x: str | None, sizes: dict[str, int]) -> SweepAxis | None:
    found = [axis for axis in scene.axes if x is None or x in (*axis.names, axis.key)]
    if x is not None and scene.axes and not found:
        unknown("axis with several sizes", x, dict.fromkeys(axis.key for axis in scene.axes))
    if sizes:
        found = [axis for axis in found if axis.fixed and sizes.items() <= axis.fixed.items()]
        if not found:
            choices = "; ".join(size_text(axis.fixed) for axis in scene.axes if axis.fixed)
            hint = f"there are {choices}." if choices else "leave --size out."
            refuse(f"No sweep is at {size_text(sizes)}; {hint}")
    return found[0] if found else None


def _label(dtype: Dtype | None) -> str:
    return dtype.label if dtype else ""


def _roofline(session: Session, dark: bool) -> str:
    from roofscope.app.presentation.roofline.svg import roofline_svg

    return roofline_svg(session, dark=dark)


def _draw(svg: str, size: tuple[int, int], source: Path, target: Path) -> None:
    check_target(target, source, SUFFIXES)
    put(picture(svg, size, target), target)
    if target != STDOUT:
        say(str(target))

"""``plot``: draws a session's roofline, or a kernel over its sizes, as SVG or PNG; or prints the table."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.choice import one_of, sizes_of
from roofscope.app.cli.documents import SweepDocument, print_document
from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.cli.grids import choose_grid, file_stem, grid_lines
from roofscope.app.cli.options import AsJson, DtypeName, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.sweeps import SUFFIXES, lines_of, picture
from roofscope.app.cli.swept import swept_implementations
from roofscope.app.cli.targets import STDOUT, beside, check_target, put
from roofscope.app.presentation.export import ExportError
from roofscope.app.presentation.files import file_word
from roofscope.app.presentation.grid.scene import GridOptions, build_grid
from roofscope.app.presentation.grid.svg import grid_svg, size_of_picture
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartY
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
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"What the y axis shows, of a sweep: {', '.join(Quantity)}; of the roofline: "
            f"{', '.join(ChartY)}. The first if none.",
        ),
    ] = None,
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
        bool, typer.Option("--log", help="The y axis of a sweep is logarithmic; as suits it if none.")
    ] = False,
    linear: Annotated[bool, typer.Option("--linear", help="The y axis of a sweep is linear.")] = False,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="X=NAME,Y=NAME",
            help="A version over the values of its parameters: a heat map of two, bars of one; 'auto' takes "
            "those with the most values. --kernel matmul/triton_grouped names the version.",
        ),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Light on dark.")] = False,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The .svg or .png to write; - is stdout. Beside the session if none."
        ),
    ] = None,
) -> None:
    """Draw a session's roofline, with --sweep a kernel over its sizes, with --grid over parameters.

    With --json the sweep's values are printed; a picture is then drawn only into the file of --out.
    """
    if log and linear:
        refuse("--log and --linear are two scales of one axis; choose one.")
    session = load_or_refuse(file)
    if device:
        _show_device(session, device)
    if grid:
        if any((sweep, x, baseline, log, linear, as_json)):
            refuse("--sweep, --x, --baseline, --log, --linear and --json are not of a grid; leave them out.")
        grid_quantity = one_of(Quantity, "quantity")(y) if y else Quantity.TIME
        of_grid = choose_grid(session, grid, kernel, dtype, sizes_of(size or []), grid_quantity)
        _plot_grid(session, of_grid, file, out, dark=dark, as_table=table)
        return
    if not (sweep or table or as_json):
        if any((kernel, dtype, x, size, baseline, log, linear)):
            refuse(
                "--kernel, --dtype, --x, --size, --baseline, --log and --linear choose a sweep; add --sweep."
            )
        height = one_of(ChartY, "height of a roofline")(y) if y else ChartY.RATE
        check_target(target := out or beside(file).with_suffix(".svg"), file, SUFFIXES)
        _draw(_roofline(session, height, dark), (1280, 800), target)
        return
    quantity = one_of(Quantity, "quantity")(y) if y else Quantity.BANDWIDTH
    is_log = log if log or linear else None
    options = SweepOptions(kernel, dtype, quantity, None, baseline, is_log=is_log)
    options = choose_sweep(session, options, x, sizes_of(size or []))
    scene = build_sweep(session, options)
    if scene.is_empty:
        refuse(scene.why_empty)
    target = None
    if out or (sweep and not as_json):
        name = "-".join((file.stem, file_word(scene.kernel), scene.dtype.label if scene.dtype else ""))
        check_target(target := out or beside(file).with_name(f"{name}.svg"), file, SUFFIXES)
    _print_sweep(session, scene, target, as_table=table, as_json=as_json)
    if target:
        _draw(sweep_svg(session, options, dark=dark), SIZE_OF_PICTURE, target, is_said=not as_json)


def _plot_grid(
    session: Session, options: GridOptions, file: Path, out: Path | None, *, dark: bool, as_table: bool
) -> None:
    scene = build_grid(session, options)
    target = out
    if out is None and not as_table:
        target = beside(file).with_name(f"{file.stem}-{file_word(file_stem(scene))}.svg")
    if target:
        check_target(target, file, SUFFIXES)
        if as_table and target == STDOUT:
            refuse("--table prints on stdout, where --out - would draw; leave one out.")
    for line in grid_lines(scene) if as_table else ():
        say(line)
    if target:
        _draw(grid_svg(session, options, dark=dark), size_of_picture(scene), target)


def _show_device(session: Session, name: str) -> None:
    found = {one.id: one for one in session.devices}
    if name not in found:
        unknown("device of this session", name, found)
    session.show(found[name])


def _print_sweep(
    session: Session, scene: SweepScene, target: Path | None, *, as_table: bool, as_json: bool
) -> None:
    if as_table and as_json:
        refuse("--table and --json are two formats; choose one.")
    if target == STDOUT and (as_table or as_json):
        refuse("--table and --json print on stdout, where --out - would draw; leave one out.")
    if as_json:
        print_document(_document(session, scene))
    for line in lines_of(scene, session) if as_table else ():
        say(line)


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


def _roofline(session: Session, y: ChartY, dark: bool) -> str:
    from roofscope.app.presentation.roofline.svg import roofline_svg

    return roofline_svg(session, dark=dark, options=ChartOptions(y=y))


def _document(session: Session, scene: SweepScene) -> SweepDocument:
    return SweepDocument(
        session=str(session.path),
        device=session.device,
        kernel=scene.kernel,
        dtype=scene.dtype,
        quantity=scene.quantity,
        unit=scene.quantity.unit,
        axis=scene.axis.key if scene.axis else "",
        baseline=scene.baseline,
        implementations=swept_implementations(scene),
    )


def _draw(svg: str, size: tuple[int, int], target: Path, *, is_said: bool = True) -> None:
    try:
        put(picture(svg, size, target), target)
    except ExportError as error:
        refuse(str(error))
    if is_said and target != STDOUT:
        say(str(target))

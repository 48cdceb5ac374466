"""The commands and their options; what they do lies beside this file."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.ceilings import show_ceilings
from roofscope.app.cli.choice import (
    choose_device,
    choose_kernels,
    choose_labels,
    choose_libraries,
    choose_session,
    choose_sizes,
    dtype_of,
    make_jobs,
    one_of,
    sizes_of,
)
from roofscope.app.cli.doctor import print_checks
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.export import export_session, write_svg
from roofscope.app.cli.pivot import PivotValue, export_pivot
from roofscope.app.cli.run import run_jobs
from roofscope.app.cli.selftest import run_selftest
from roofscope.app.cli.targets import unwritable
from roofscope.app.cli.trace import Wanted, record_trace
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.devices.host import package_version
from roofscope.profiling.doctor import CheckState, check_window
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import TOUR, Quality, Regime
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.proof import ProofName
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load

cli = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Roofscope: CUDA, Triton, eager and compiled kernels, verified, timed, on a measured roofline. "
    "Without a command the window opens.",
)


@cli.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Open the window; with no screen, measure a quick plan here and now."""
    if context.invoked_subcommand is not None:
        return
    if has_screen():
        raise typer.Exit(_open_window([]))
    typer.echo("There is no screen, so Roofscope measures a quick plan here on the terminal.")
    typer.echo("(`main.py --help` lists the commands; sessions open in the window on any machine.)")
    raise typer.Exit(_run(kernels=list(TOUR)))


@cli.command()
def run(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernel names; none or 'all' for all.")] = None,
    provider: Annotated[
        list[Provider] | None,
        typer.Option(
            help="cuda, cuda_ext, triton, eager, compile; library.",
            parser=one_of(Provider, "provider"),
            metavar="NAME",
        ),
    ] = None,
    implementation: Annotated[list[str] | None, typer.Option(help="Such as triton_online.")] = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All four modes of torch.compile.")] = False,
    dtype: Annotated[
        list[Dtype] | None,
        typer.Option(
            help="float32, float16, bfloat16, or fp32, fp16, bf16; float32 if none, where a kernel has it.",
            parser=dtype_of,
            metavar="TYPE",
        ),
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help="axis=number, such as n=64Mi, over the preset's sizes.")
    ] = None,
    preset: Annotated[
        list[str] | None, typer.Option(help="small, medium, large; sweep for eight sizes.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cuda:0, cpu; the first GPU if there is one.")] = None,
    exact: Annotated[bool, typer.Option(help="0.25 % intervals instead of 1 %.")] = False,
    sustained: Annotated[bool, typer.Option(help="Heat the device for 3 s first.")] = False,
    fresh_ceilings: Annotated[bool, typer.Option(help="Measure the ceilings again.")] = False,
    library: Annotated[list[Path] | None, typer.Option(help="More folders of kernels, or of one.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="key=value, kept in the session; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The .roofscope file to write; its roofline goes beside it as .svg.")
    ] = None,
) -> None:
    """Verify and time kernels; print a table and write a session file."""
    raise typer.Exit(
        _run(
            kernels=kernels or [],
            providers=provider or [],
            implementations=implementation or [],
            all_modes=all_modes,
            dtypes=dtype or [],
            sizes=size or [],
            presets=preset or [],
            device_name=device,
            quality=Quality.EXACT if exact else Quality.QUICK,
            regime=Regime.SUSTAINED if sustained else Regime.BURST,
            fresh_ceilings=fresh_ceilings,
            roots=library or [],
            labels=label or [],
            out=out,
        )
    )


@cli.command()
def export(
    file: Annotated[Path, typer.Argument(help="A .roofscope session.")],
    csv: Annotated[bool, typer.Option("--csv", help="Points as CSV, SI units.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Points, ceilings and environment as JSON.")] = False,
    png: Annotated[bool, typer.Option("--png", help="The roofline as PNG.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="The roofline as SVG.")] = False,
    pivot: Annotated[
        str | None, typer.Option(help="A table of sizes along this axis by implementations.", metavar="AXIS")
    ] = None,
    value: Annotated[
        PivotValue,
        typer.Option(
            help=f"What --pivot shows: {', '.join(PivotValue)}.",
            parser=one_of(PivotValue, "value"),
            metavar="NAME",
        ),
    ] = PivotValue.MEDIAN,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; beside the session if not given.")
    ] = None,
) -> None:
    """Write a session's points or roofline in another format."""
    if pivot is not None:
        if csv or json or png or svg:
            refuse("--pivot makes a table of its own; leave --csv, --json, --png and --svg out.")
        typer.echo(export_pivot(file, pivot, value, out))
        return
    wanted = {"csv": csv, "json": json, "png": png, "svg": svg}
    formats = [name for name, is_wanted in wanted.items() if is_wanted]
    if not formats:
        refuse("Say what to export: --csv, --json, --png, --svg or --pivot AXIS.")
    for path in export_session(file, formats, out):
        typer.echo(str(path))


@cli.command()
def ceilings(
    device: Annotated[str | None, typer.Option(help="cuda:0, cpu; the first GPU if there is one.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept.")] = False,
) -> None:
    """Measure what a device can do at most: memory and arithmetic, and what its data sheet says."""
    devices = local_devices()
    raise typer.Exit(show_ceilings(choose_device(devices, device, default_device(devices)), fresh=fresh))


@cli.command()
def trace(
    file: Annotated[Path, typer.Argument(help="A .roofscope session recorded on this machine.")],
    implementation: Annotated[str, typer.Argument(help="Such as softmax/triton_online.")],
    dtype: Annotated[
        Dtype | None, typer.Option(help="Element type; any if none.", parser=dtype_of, metavar="TYPE")
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help="axis=number of a measured point; the largest if none.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the Chrome trace, .json or .json.gz.")] = None,
) -> None:
    """Record a torch.profiler trace of a measured point into its session."""
    wanted = Wanted(implementation, dtype, sizes_of(size or []))
    raise typer.Exit(record_trace(file, wanted, _scan([]), local_devices(), out))


@cli.command()
def selftest(
    device: Annotated[str | None, typer.Option(help="cuda:0, cpu; the first GPU if there is one.")] = None,
    proof: Annotated[
        list[ProofName] | None,
        typer.Option(
            help=f"Only this one; may be repeated: {', '.join(ProofName)}.",
            parser=one_of(ProofName, "proof"),
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The .roofscope file to write.")] = None,
) -> None:
    """Prove on this device that the measured number is the true one. Takes about three minutes."""
    path = choose_session(out)
    devices = local_devices()
    try:
        code = run_selftest(choose_device(devices, device, default_device(devices)), path, proof or [])
    except SessionError as error:
        refuse(str(error))
    typer.echo(f"Session: {path}")
    raise typer.Exit(code)


@cli.command()
def doctor() -> None:
    """Say what is available here, what is missing, and the exact fix."""
    print_checks()


@cli.command(name="open")
def open_file(file: Annotated[Path, typer.Argument(help="A .roofscope session.")]) -> None:
    """Open a session in the window."""
    try:
        load(file)
    except SessionError as error:
        refuse(str(error))
    if not has_screen():
        refuse("There is no screen to open a window on; try `main.py export FILE --svg`.")
    raise typer.Exit(_open_window([file]))


def has_screen() -> bool:
    """Whether Qt could open a window here, or was told to draw without one."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_window(files: list[Path]) -> int:
    pyside = package_version("pyside6-essentials")
    found = check_window(pyside, sys.version_info[:2])
    if pyside and found.state is CheckState.MISSING:  # before Qt is loaded, which would abort
        refuse(f"{found.finding.rstrip('.')}: {found.fix}")
    try:
        from roofscope.app.window.application import run_window
    except ImportError as error:
        refuse(f"The window cannot start ({error}); run `main.py doctor`, or install the `window` group.")
    return run_window(files)


def _scan(roots: list[Path]) -> Catalog:
    catalog = scan([LIBRARY, *roots])
    for problem in catalog.problems:
        typer.secho(problem.message, err=True, fg=typer.colors.YELLOW)
    return catalog


def _run(
    *,
    kernels: list[str],
    providers: list[Provider] | None = None,
    implementations: list[str] | None = None,
    all_modes: bool = False,
    dtypes: list[Dtype] | None = None,
    sizes: list[str] | None = None,
    presets: list[str] | None = None,
    device_name: str | None = None,
    quality: Quality = Quality.QUICK,
    regime: Regime = Regime.BURST,
    fresh_ceilings: bool = False,
    roots: list[Path] | None = None,
    labels: list[str] | None = None,
    out: Path | None = None,
) -> int:
    path = choose_session(out)
    chosen_labels = choose_labels(labels or [])
    picture = path.with_suffix(".svg")
    if picture.is_file():
        refuse(f"{picture}, where the roofline of this run would go, exists already; choose another name.")
    folders = choose_libraries(roots or [])
    catalog = _scan(folders)
    devices = local_devices()
    device = choose_device(devices, device_name, default_device(devices))
    jobs = make_jobs(
        choose_kernels(catalog, kernels),
        device,
        providers=providers or [],
        implementations=implementations or [],
        all_modes=all_modes,
        dtypes=dtypes or [],
        sizes=choose_sizes(sizes or [], presets or [], device),
        quality=quality,
        regime=regime,
    )
    try:
        code = run_jobs(
            catalog, folders, device, jobs, path, fresh_ceilings=fresh_ceilings, labels=chosen_labels
        )
        typer.echo(f"Session:  {path}")
        session = load(path)
    except SessionError as error:
        refuse(str(error))
    if any(point.measured for point in session.points):  # else the picture would be empty
        _draw(session, picture)
    return code


def _draw(session: Session, picture: Path) -> None:
    """Beside the session, which is whole without it: a folder that cannot be written is only told."""
    try:
        write_svg(session, picture)
    except OSError as error:
        typer.echo(f"The roofline {unwritable(picture, error)}", err=True)
    else:
        typer.echo(f"Roofline: {picture}")

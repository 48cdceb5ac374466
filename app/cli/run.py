"""``run``: carries a plan out on the terminal: progress, one line per outcome, a table at the end."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from roofscope.app.cli.adding import check_device, choose_file, of_this_run
from roofscope.app.cli.choice import (
    choose_folders,
    choose_labels,
    file_of_each,
    one_of,
    scan_kernels,
)
from roofscope.app.cli.documents import RunDocument, print_document, run_document
from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable
from roofscope.app.cli.options import (
    AsJson,
    DeviceNames,
    DtypeNames,
    KernelFolders,
    NewSession,
    Patience,
    SharedGpu,
    Sizes,
    TrustFolders,
)
from roofscope.app.cli.outcome_lines import OutcomeLines, shortfall
from roofscope.app.cli.own_file import FileOptions, choose_files
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.run_options import RunOptions, choose_plan, choose_run_devices, know_origins
from roofscope.app.cli.sweeps import Drawn, check_plot, check_sizes, draw_sweeps, sweep_lines
from roofscope.app.cli.table import print_table
from roofscope.app.cli.trace_recording import Recording, record_run
from roofscope.app.presentation.files import why_unwritable, write_file
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import is_file
from roofscope.profiling.planning.plan import Job, Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ceilings, record


def command(
    kernel: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KERNEL[/VERSION]",
            help="Such as softmax or softmax/triton_online; none or 'all' for all; or a file of yours as it "
            "stands: add.py, softmax.py:my_softmax.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION|FILE:NAME",
            help="What a file of yours must compute, in torch: 'torch.softmax(x, dim=-1)'.",
        ),
    ] = None,
    input_: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=SIZE[xSIZE][:TYPE]", help="A tensor that it takes: x=4096x1024:bf16."
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="How it is called, where more is needed: 'f(x, 1e-5)'."),
    ] = None,
    grid: Annotated[
        str | None, typer.Option(metavar="BLOCKS", help="Of a bare __global__ kernel: 'cdiv(n, 256)'.")
    ] = None,
    block: Annotated[str | None, typer.Option(metavar="THREADS", help="256, or '(16, 16)'.")] = None,
    provider: Annotated[
        list[Provider] | None,
        typer.Option(
            parser=one_of(Provider, "provider"),
            metavar="NAME",
            help=f"{', '.join(Provider)}; may be repeated.",
        ),
    ] = None,
    implementation: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Such as triton_online; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE,...",
            help="Values of a parameter that versions declare, each combination a variant: BLOCK=64,128; "
            "BLOCK=all, or all for every one; may be repeated.",
        ),
    ] = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All four modes of torch.compile.")] = False,
    dtype: DtypeNames = None,
    size: Sizes = None,
    preset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="small, medium, large; sweep for eight sizes.")
    ] = None,
    device: DeviceNames = None,
    exact: Annotated[bool, typer.Option("--exact", help="0.25 % intervals instead of 1 %.")] = False,
    sustained: Annotated[bool, typer.Option("--sustained", help="Heat the device for 3 s first.")] = False,
    normal: Annotated[
        bool,
        typer.Option("--normal", help="Inputs from N(0, 1) instead of [-1, 1]: products draw more power."),
    ] = False,
    fresh_ceilings: Annotated[
        bool, typer.Option("--fresh-ceilings", help="Measure the ceilings again.")
    ] = False,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Kept in the session; may be repeated."),
    ] = None,
    out: NewSession = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to the session that --out names, of the same GPU.")
    ] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Draw the roofline beside the session.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw each kernel over its sizes, GB/s by implementation: .svg or .png."
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print a row a size, a column an implementation, in GB/s.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where a time is unstable, above the roof, or disputed.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Then record a profiler trace of each point with a time.")
    ] = False,
    keep_code: Annotated[
        bool,
        typer.Option(
            "--keep-code", help="Keep what compilers make (PTX, SASS, ...); `roofscope source` shows it."
        ),
    ] = False,
    shared_gpu: SharedGpu = False,
    as_json: AsJson = False,
    patience: Patience = 1.0,
    retry_paused: Annotated[
        bool,
        typer.Option(
            "--retry-paused", help="Try a version that cost a worker again at its other sizes and types."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Find out what is wrong with it, and on which line, instead of measuring it: Triton's "
            "interpreter, launch blocking, compute-sanitizer, a map of the error.",
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Stay, and measure again what is saved: a line a save, until Ctrl+C ends it."
        ),
    ] = False,
    json_in: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take all of this from a JSON document instead, - is stdin; implies --json. `roofscope "
            "schema --request` says what it holds.",
        ),
    ] = None,
    interpret: Annotated[
        bool,
        typer.Option(
            "--interpret",
            help="Without a GPU: verify Triton in its interpreter and compile CUDA and Triton for --arch. "
            "Neither is timed.",
        ),
    ] = False,
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="NAME", help="With --interpret: sm_90 unless named, or 'RTX 4090'."),
    ] = None,
) -> None:
    """Verify and time kernels; print a table and write a session file.

    Exit codes: 0 all was measured, 1 something failed or is missing, 2 nothing was tried,
    75 the device is busy.
    """
    options = RunOptions(
        kernels=kernel or (),
        providers=provider or (),
        implementations=implementation or (),
        all_modes=all_modes,
        dtypes=dtype or (),
        sizes=size or (),
        presets=preset or (),
        device=device,
        quality=Quality.EXACT if exact else Quality.QUICK,
        regime=Regime.SUSTAINED if sustained else Regime.BURST,
        fill=Distribution.NORMAL if normal else Distribution.UNIFORM,
        fresh_ceilings=fresh_ceilings,
        folders=kernels or (),
        trust=trust,
        labels=label or (),
        out=out,
        append=append,
        svg=svg,
        plot=plot,
        table=table,
        strict=strict,
        as_json=as_json,
        patience=patience,
        retry_paused=retry_paused,
        shared_gpu=shared_gpu,
        keep_code=keep_code,
        file=FileOptions(reference or "", input_ or (), call or "", grid or "", block or ""),
        watch=watch,
        settings=set_ or (),
        debug=debug,
        interpret=interpret,
        architecture=arch,
        trace=trace,
    )
    raise typer.Exit(run(_or_requested(options, json_in)))


def _or_requested(options: RunOptions, source: Path | None) -> RunOptions:
    if source is None:
        return options
    if msgspec.structs.replace(options, as_json=False, trust=False) != RunOptions():
        refuse("--json-in says all that is to be run; leave the other options out, or write them into it.")
    from roofscope.app.cli.run_request import requested

    return msgspec.structs.replace(requested(source), trust=options.trust)


def run(options: RunOptions) -> int:
    """What the options ask for; returns the exit code."""
    if options.debug:
        from roofscope.app.cli.debug import debug

        return debug(options)
    if options.watch:
        from roofscope.app.cli.watch import watch

        return watch(options)
    return _measure(options)


def _measure(options: RunOptions) -> int:
    """Plan, measure, print; returns the exit code."""
    path, before = choose_file(options)
    labels = choose_labels(options.labels)
    folders = choose_folders(options.folders, is_trusted=options.trust)
    own = choose_files(options.kernels, options.file, is_trusted=options.trust)
    folders += [file.form for file in own]
    catalog = scan_kernels(folders)
    devices = choose_run_devices(options)
    check_device(before, devices)
    pictures = _pictures(options, path, devices)
    device = devices[0]  # several are of one kind, and the plan is the same for each
    jobs = choose_plan(options, catalog, own, device).jobs
    if options.plot or options.table:
        check_sizes(jobs)
    console = make_console(stderr=options.as_json)
    specs = {kernel.spec.name: kernel.spec for kernel in catalog.kernels}
    judged = Session(path, "", device=device, specs=specs)
    lines = OutcomeLines(console.width, judged)

    def line_of(gained: Gain) -> str | None:
        if not isinstance(gained, Point):
            return None
        if judged.origin(gained.origin) is None:
            with suppress(SessionError):  # the watch hears what befell the file
                know_origins(judged)
        return lines.of(gained)

    try:
        with progress_shown(console, line_of) as watch:
            ending = record(
                path,
                catalog,
                devices,
                [Run(job) for job in jobs],
                watch,
                CeilingCache(lambda text: console.print(text, markup=False, highlight=False)),
                kernel_roots=folders,
                ceilings=_ceilings(options, jobs),
                labels=labels,
                append=before is not None,
                patience=options.patience,
                may_share=options.shared_gpu,
                pauses=not options.retry_paused,
            )
        session = load(ending.path) if ending.path else None
    except SessionError as error:
        refuse(str(error))
    refuse_unusable(ending)
    if ending.busy:
        complain(ending.busy)
    if session is None:
        if options.as_json:
            print_document(RunDocument(session=None, device=device, points=(), problem=ending.busy))
        return BUSY if ending.busy else SOME_FAILED
    of_this_run(session, before)
    if session.path != path:  # the file was lost, and the run went on in another one
        pictures = file_of_each(devices, session.path.with_suffix(".svg")) if options.svg else {}
    traced = DONE
    if options.trace and not (ending.busy or ending.was_stopped):
        shares, patience = options.shared_gpu, options.patience
        traced = record_run(
            session, Recording(catalog, devices, folders, may_share=shares, patience=patience), console
        )
    drawn = _drawn(session, pictures, options.plot)
    code = _report(console, session, options, drawn, planned=sum(len(job.implementations) for job in jobs))
    return BUSY if ending.busy else code or traced


def _ceilings(options: RunOptions, jobs: Sequence[Job]) -> Ceilings:
    """They are measured where a time is to be judged by them, or somebody asks."""
    if options.fresh_ceilings:
        return Ceilings.MEASURE
    is_timed = any(not job.examines(one) for job in jobs for one in job.implementations)
    return Ceilings.KEEP if is_timed else Ceilings.LEAVE


def _pictures(options: RunOptions, path: Path, devices: Sequence[Device]) -> dict[Device, Path]:
    """Where the rooflines go; refused before the run if one, or the sweep, cannot be written there."""
    pictures = file_of_each(devices, path.with_suffix(".svg")) if options.svg else {}
    for picture in filter(is_file, pictures.values()):
        refuse(f"{picture}, where the roofline of this run would go, exists already; choose another name.")
    if options.plot:
        check_plot(options.plot)
        if options.plot in pictures.values():
            refuse(f"{options.plot} is where --svg draws the roofline; give --plot another name.")
    return pictures


def _report(console: Console, session: Session, options: RunOptions, drawn: Drawn, *, planned: int) -> int:
    """The table or the document, and what is wrong; returns the exit code."""
    missing, flagged = shortfall(session.points, planned=planned), _flagged(session) if options.strict else ""
    if options.as_json:
        print_document(run_document(session, " ".join(filter(None, (missing, flagged, drawn.problem)))))
    else:
        print_table(console, session)
        if missing:
            console.print(missing, markup=False, highlight=False)
        console.print(f"Session:  {session.path}", markup=False, highlight=False, soft_wrap=True)
    for line in (*drawn.lines, *(sweep_lines(session) if options.table else ())):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for problem in filter(None, (flagged, drawn.problem)):
        complain(problem)
    return SOME_FAILED if missing or flagged or drawn.problem else DONE


def _flagged(session: Session) -> str:
    """Whose times are not to be relied on, as a sentence; "" where there are none."""
    found = [(point, WARNING_FLAGS.intersection(flags_of(point, session))) for point in session.points]
    names = [f"{point.implementation.key} ({', '.join(sorted(flags))})" for point, flags in found if flags]
    if not names:
        return ""
    return f"--strict: {len(names)} of {len(session.points)} flagged: {'; '.join(names)}."


def _drawn(session: Session, pictures: Mapping[Device, Path], plot: Path | None) -> Drawn:
    """Rooflines beside the session, which is whole without them, and sweeps."""
    from roofscope.app.presentation.roofline.svg import roofline_svg

    shown = session.device
    lines: list[str] = []
    problems: list[str] = []
    for device, picture in pictures.items():
        session.show(device)
        if not any(point.measured and session.is_shown(point) for point in session.points):
            continue  # it would be empty
        try:
            write_file(picture, roofline_svg(session).encode())
        except OSError as error:
            problems.append(f"The roofline {why_unwritable(picture, error)}")
        else:
            lines.append(f"Roofline: {picture}")
    sweeps = draw_sweeps(session, plot) if plot else Drawn()
    if shown:
        session.show(shown)
    problem = " ".join(filter(None, (*problems, sweeps.problem)))
    return Drawn((*lines, *sweeps.lines), problem)

"""``run --debug``: says what is wrong with a version, and on which line; nothing is measured."""

import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich.console import Console

from roofscope.app.cli.choice import (
    choose_devices,
    choose_folders,
    choose_sizes,
    choose_versions,
    scan_kernels,
)
from roofscope.app.cli.documents import DebugDocument, print_document
from roofscope.app.cli.errors import DONE, SOME_FAILED, USAGE, refuse
from roofscope.app.cli.own_file import OwnFile, choose_files, is_file_word
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.run_options import RunOptions
from roofscope.app.presentation.debugging.map_text import map_lines
from roofscope.app.presentation.debugging.running import debugged
from roofscope.app.presentation.debugging.words import finding_lines, output_text, stage_text, summary_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.debug_question import default_sizes
from roofscope.profiling.planning.plan import PlanError, by_default, plan_jobs
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.results.debugging import DebugReport, Said
from roofscope.profiling.supervision.debug_run import DebugRequest


def debug(options: RunOptions) -> int:
    """Run each version that was named through every stage; returns the exit code: 1 where one was found."""
    _refuse_what_is_not_for_it(options)
    folders = choose_folders(options.folders, is_trusted=options.trust)
    own = choose_files(options.kernels, options.file, is_trusted=options.trust)
    catalog = scan_kernels([*folders, *(file.form for file in own)])
    device, *others = choose_devices(local_devices(), options.device)
    if others:
        refuse("--debug runs on one device; name it with --device.")
    wanted = [
        DebugRequest(kernel, implementation, workload, device, options.patience)
        for kernel, implementation in _versions(options, catalog, own)
        for workload in _workloads(options, kernel, implementation, device)
    ]
    if not wanted:
        refuse("Nothing to debug: no version matches the kernels, providers and types chosen.")
    console = make_console(stderr=options.as_json)
    with _stop_by_signal() as stop:
        reports = [_debug_one(console, request, stop) for request in wanted if not stop.is_set()]
    if options.as_json:
        print_document(DebugDocument(device=device, reports=tuple(reports)))
    if not any(report.has_run for report in reports):
        return USAGE
    return DONE if all(report.is_clean for report in reports) else SOME_FAILED


def _debug_one(console: Console, request: DebugRequest, stop: threading.Event) -> DebugReport:
    _say(console, f"{request.implementation.key} at {request.workload.label}")

    def hear(said: Said) -> None:
        if said.stage:
            _say(console, f"  {stage_text(said.stage)}")

    report = debugged(request, hear, stop.is_set)
    for finding in report.findings:
        _say(console, "")
        for line in finding_lines(finding):
            _say(console, line)
    for output in report.outputs:
        _say(console, "")
        for line in (output_text(output), *map_lines(output)):
            _say(console, line)
    _say(console, "")
    _say(console, summary_text(report))
    return report


def _versions(
    options: RunOptions, catalog: Catalog, own: Sequence[OwnFile]
) -> list[tuple[Kernel, Implementation]]:
    """Those that were named; of a file its own functions, of a kernel those that a plan takes."""
    if not options.kernels:
        refuse(
            "--debug needs a version or a file: `run softmax/triton_online --debug`, `run add.py --debug`."
        )
    names = [word for word in options.kernels if not is_file_word(word)] + [file.kernel for file in own]
    kernels, stems = choose_versions(catalog, names, options.implementations)
    return [
        (kernel, one)
        for kernel in kernels
        for one in kernel.implementations
        if (one.stem in stems if stems else _is_meant(kernel, one))
        and (not options.providers or one.provider in options.providers)
    ]


def _is_meant(kernel: Kernel, implementation: Implementation) -> bool:
    entry = kernel.entries.get(implementation.stem)
    if kernel.form:  # else it is the reference, eager or compiled
        return entry is not None and entry.call != kernel.spec.formula
    return by_default(kernel, implementation)


def _workloads(
    options: RunOptions, kernel: Kernel, implementation: Implementation, device: Device
) -> list[Workload]:
    """The sizes that were asked for, or the odd ones of verification."""
    dtypes = tuple(dtype for dtype in options.dtypes if dtype in kernel.spec.dtypes)
    if options.dtypes and not dtypes:
        return []
    if not (options.sizes or options.presets):
        chosen = dtypes or kernel.spec.dtypes[:1]
        return [
            Workload(kernel.spec.name, dtype, default_sizes(kernel, implementation, dtype))
            for dtype in chosen
        ]
    try:
        jobs = plan_jobs(
            [kernel],
            device=device.id,
            dtypes=dtypes,
            size_choices=choose_sizes(options.sizes, options.presets, device),
            stems=[implementation.stem],
        )
    except PlanError as error:
        refuse(str(error))
    return [job.workload for job in jobs]


def _refuse_what_is_not_for_it(options: RunOptions) -> None:
    given = {
        "--watch": options.watch,
        "--out": options.out is not None,
        "--svg": options.svg,
        "--plot": options.plot is not None,
        "--table": options.table,
        "--label": bool(options.labels),
    }
    if words := [word for word, is_given in given.items() if is_given]:
        refuse(f"--debug measures nothing and writes no session; leave {' and '.join(words)} out.")


@contextmanager
def _stop_by_signal() -> Generator[threading.Event]:
    """Ctrl+C ends the stage under way, and what was found so far is said."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)

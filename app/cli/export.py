"""``export``: writes a session's points, roofline and traces in other formats."""

import os
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.choice import one_of
from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.cli.options import SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.pivot import PivotValue, export_pivot
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, beside, check_target, put
from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.files import file_word
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartY
from roofscope.app.presentation.traces.exported import exported_json_gz, paired_json, paired_json_gz
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.results.session import Session, TraceInfo
from roofscope.profiling.results.session_reader import SessionError, load_trace


def command(
    file: SessionFile,
    csv: Annotated[bool, typer.Option("--csv", help="Points as CSV, SI units.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Points, ceilings and environment as JSON.")] = False,
    png: Annotated[bool, typer.Option("--png", help="The roofline as PNG.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="The roofline as SVG.")] = False,
    y: Annotated[
        ChartY,
        typer.Option(
            parser=one_of(ChartY, "height"),
            metavar="NAME",
            help="What the height of a point is in --png and --svg: its rate (FLOP/s), or its share of its "
            "own roof.",
        ),
    ] = ChartY.RATE,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A recorded trace as a Chrome trace, by its implementation (such as softmax/triton_online; "
            "the newest) or its number.",
        ),
    ] = None,
    perfetto: Annotated[
        bool,
        typer.Option(
            "--perfetto",
            help="Hand the trace to Perfetto by a page in your browser instead of writing it; nothing leaves "
            "this machine before you click there.",
        ),
    ] = False,
    pivot: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="A table of sizes along this axis by implementations."),
    ] = None,
    value: Annotated[
        PivotValue,
        typer.Option(
            parser=one_of(PivotValue, "value"),
            metavar="NAME",
            help=f"What --pivot shows: {', '.join(PivotValue)}.",
        ),
    ] = PivotValue.MEDIAN,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write; - is stdout. Beside the session if none; --pivot prints.",
        ),
    ] = None,
) -> None:
    """Write a session's points, roofline or traces in another format. Needs no GPU."""
    wanted = {"csv": csv, "json": json, "png": png, "svg": svg}
    formats = [name for name, is_wanted in wanted.items() if is_wanted]
    if pivot is not None:
        if formats or trace is not None:
            refuse("--pivot makes a table of its own; leave --csv, --json, --png and --svg out.")
        if said := export_pivot(file, pivot, value, out):
            say(said)
        return
    if perfetto:
        if trace is None or formats or out:
            refuse("--perfetto goes with --trace NAME alone: it writes no file.")
        hand_over(file, trace)
        return
    if not formats and trace is None:
        refuse("Say what to export: --csv, --json, --png, --svg, --pivot AXIS or --trace NAME.")
    if out and len(formats) + (trace is not None) > 1:
        refuse("--out names one file; ask for one format with it.")
    written = export_session(file, formats, out, y) if formats else []
    if trace is not None:
        written.append(export_trace(file, trace, out))
    for path in written:
        if path != STDOUT:
            say(str(path))


def export_session(source: Path, formats: list[str], out: Path | None, y: ChartY = ChartY.RATE) -> list[Path]:
    """Write each format beside the session, or to ``out`` (one format). Returns what was written."""
    session = load_or_refuse(source)
    targets = {suffix: out or beside(source).with_suffix(f".{suffix}") for suffix in formats}
    for suffix, target in targets.items():
        check_target(target, source, (f".{suffix}",))
    for suffix, target in targets.items():
        put(_WRITERS[suffix](session, y), target)
    return list(targets.values())


def export_trace(source: Path, name: str, out: Path | None) -> Path:
    """Write a trace that the session holds. Returns what was written."""
    info = _find_trace(load_or_refuse(source), name)
    target = out or beside(source).with_name(f"{source.stem}-{file_word(info.implementation.key)}.json.gz")
    check_target(target, source, TRACE_SUFFIXES)
    try:
        write_trace(load_trace(source, info.number), target)
    except (SessionError, TraceError) as error:
        refuse(str(error))
    return target


def hand_over(source: Path, name: str) -> None:
    """Open the page that hands a trace to Perfetto, and wait until it is done."""
    from roofscope.app.presentation.perfetto.server import PerfettoPage  # a web server and jinja2

    info = _find_trace(load_or_refuse(source), name)
    try:
        content = exported_json_gz(source, info.number)
    except (SessionError, TraceError) as error:
        refuse(str(error))
    page = PerfettoPage(lambda: content, info.implementation.key)
    try:
        say(f"Click on this page to hand the trace to Perfetto: {page.url}")
        webbrowser.open(page.url)
        page.wait()
    finally:
        page.close()
    if not page.was_given:
        refuse("Nobody asked for the trace within ten minutes; run it again.")


def write_trace(chrome_json_gz: bytes, target: Path) -> None:
    """As the name says: gzipped, or plain, with both ends of each arrow. Raises TraceError."""
    is_packed = target.suffix.lower() == ".gz"
    put(paired_json_gz(chrome_json_gz) if is_packed else paired_json(chrome_json_gz), target)


def _find_trace(session: Session, name: str) -> TraceInfo:
    if not session.traces:
        refuse(f"{session.path} holds no trace; `roofscope trace` records one.")
    found = [trace for trace in session.traces if name in (trace.implementation.key, str(trace.number))]
    if not found:
        unknown("trace", name, _trace_names(session.traces))
    return found[-1]


def _trace_names(traces: Sequence[TraceInfo]) -> list[str]:
    return list(dict.fromkeys(trace.implementation.key for trace in traces))


def _csv(session: Session, _: ChartY) -> bytes:
    from roofscope.profiling.analysis.export import csv_report

    return csv_report(session).encode()


def _json(session: Session, _: ChartY) -> bytes:
    from roofscope.app.presentation.why_record import why_records
    from roofscope.profiling.analysis.export import json_report

    return json_report(session, why_records(session)).encode()


def _svg(session: Session, y: ChartY) -> bytes:
    from roofscope.app.presentation.roofline.svg import roofline_svg

    return roofline_svg(session, options=ChartOptions(y=y)).encode()


def _png(session: Session, y: ChartY) -> bytes:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from roofscope.app.window.chart.render import render_roofline_png
    except ImportError as error:
        refuse(f"A PNG needs Qt, which is not here ({error}); export --svg, or install roofscope[window].")
    return render_roofline_png(session, ChartOptions(y=y))


_WRITERS: dict[str, Callable[[Session, ChartY], bytes]] = {
    "csv": _csv,
    "json": _json,
    "png": _png,
    "svg": _svg,
}

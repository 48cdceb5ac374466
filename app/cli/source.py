"""``source``: the files behind a point, what compilers made of them, and how two points' files differ."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import (
    KernelDocument,
    SourceDocument,
    SourceFileDocument,
    print_document,
)
from roofscope.app.cli.errors import SOME_FAILED, complain, refuse
from roofscope.app.cli.options import AsJson, DtypeName, PointSizes, PointWords, SessionFile
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.fact import Section
from roofscope.app.presentation.source.difference import difference, paired, unified_lines
from roofscope.app.presentation.source.failing_line import FailingLine, failing_line
from roofscope.app.presentation.source.generated import code_of, joined, why_no_code
from roofscope.app.presentation.source.highlight import Word, highlighted
from roofscope.app.presentation.source.launch import KernelFacts, kernels_of, launch_sections, why_no_launch
from roofscope.app.presentation.source.lesson import lesson_of
from roofscope.app.presentation.source.texts import SourceText, files_of, why_no_files
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load_code

_STYLES = {  # of a terminal, whose ground is not known: its own colours
    Word.COMMENT: "bright_black",
    Word.KEYWORD: "magenta",
    Word.STRING: "green",
    Word.NUMBER: "yellow",
    Word.FUNCTION: "blue",
    Word.TYPE: "cyan",
    Word.META: "yellow",
}
_DIFF_STYLES = {"-": "red", "+": "green", "@": "cyan", " ": ""}
_KINDS = tuple(CodeKind)


def command(
    file: SessionFile,
    point: PointWords,
    dtype: DtypeName = None,
    size: PointSizes = None,
    diff: Annotated[
        str | None, typer.Option(metavar="POINT2", help="How its files differ from another point's.")
    ] = None,
    inductor: Annotated[bool, typer.Option("--inductor", help="The code that Inductor made.")] = False,
    ttir: Annotated[bool, typer.Option("--ttir", help="Triton's code before the GPU is chosen.")] = False,
    ttgir: Annotated[bool, typer.Option("--ttgir", help="Triton's code with layouts.")] = False,
    llir: Annotated[bool, typer.Option("--llir", help="LLVM's code.")] = False,
    ptx: Annotated[bool, typer.Option("--ptx", help="PTX.")] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Machine code.")] = False,
    launch: Annotated[
        bool, typer.Option("--launch", help="Grid, block, registers, occupancy of each kernel.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the source of a point, its lesson first, and the line that failed.

    Generated code is there where it was measured with `run --keep-code`. Needs no GPU. Exit codes: 0 all is
    there, 1 a part of what was asked for is not, 2 nothing of it is.
    """
    session = load_or_refuse(file)
    sizes = sizes_of(size or [])
    has_number = diff is not None and point.isdecimal() != diff.isdecimal()
    chosen = point_named(session, point, *_workload(point, dtype, sizes, has_number))
    flags = dict(zip(_KINDS, (inductor, ttir, ttgir, llir, ptx, sass), strict=True))
    kinds = [kind for kind, is_wanted in flags.items() if is_wanted]
    if diff and (as_json or kinds or launch):
        refuse("--diff compares the files of two points as text; leave --json, --launch and the like out.")
    if as_json:
        texts, missing = _texts(session, chosen, kinds)
        if missing and not texts:
            refuse(" ".join(missing))
        print_document(_document(session, chosen, kinds))
        _end_with(missing)
        return
    console = make_console()
    if diff:
        other = point_named(session, diff, *_workload(diff, dtype, sizes, has_number))
        _print_difference(console, session, chosen, other)
    elif kinds or launch:
        _print_made(console, session, chosen, kinds, launch=launch)
    else:
        _print_files(console, session, chosen)


def _workload(
    words: str, dtype: Dtype | None, sizes: dict[str, int], has_number: bool
) -> tuple[Dtype | None, dict[str, int]]:
    """Of two points of which one is a number, --dtype and --size are meant for the other one."""
    return (None, {}) if has_number and words.isdecimal() else (dtype, sizes)


def _print_made(
    console: Console, session: Session, point: Point, kinds: Sequence[CodeKind], *, launch: bool
) -> None:
    """What there is of all that is asked for; of what there is not, why. Refuses where there is nothing."""
    launches = launch_sections(session, point) if launch else ()
    texts, missing = _texts(session, point, kinds)
    if launch and not launches:
        missing.append(why_no_launch(point))
    if not (texts or launches):
        refuse(" ".join(missing))
    for text in texts:
        if console.is_terminal:
            console.print(Text(f"==> {text.name} <==", "bold"))
        _print_text(console, text)
    _print_launches(console, point, launches)
    _end_with(missing)


def _end_with(missing: Sequence[str]) -> None:
    for sentence in missing:
        complain(sentence)
    if missing:
        raise typer.Exit(SOME_FAILED)


def _texts(session: Session, point: Point, kinds: Sequence[CodeKind]) -> tuple[list[SourceText], list[str]]:
    """The code of each kind, and why one is not there."""
    if kinds and code_of(session, point) is None:
        return [], [why_no_code(point)]
    codes = _codes(session, point) if kinds else ()
    found = {kind: joined(codes, kind) for kind in kinds}
    return [text for text in found.values() if text], [
        why_no_code(point, kind) for kind, text in found.items() if text is None
    ]


def _print_files(console: Console, session: Session, point: Point) -> None:
    files = files_of(session, point)
    if not files:
        refuse(why_no_files(session, point))
    mark = failing_line(point.outcome, files)
    if console.is_terminal:
        _print_lesson(console, point, files)
    elif mark:
        complain(f"{mark.name}, line {mark.line}: {mark.words or 'it failed here.'}")
    for number, file in enumerate(files):
        if number:
            console.print()
        if console.is_terminal or len(files) > 1:
            console.print(Text(f"==> {file.name} <==", "bold" if console.is_terminal else ""))
        _print_text(console, file, mark)


def _print_lesson(console: Console, point: Point, files: Sequence[SourceText]) -> None:
    console.print(Text(f"{point.implementation.title} (point {point.number})", "bold"))
    for paragraph in lesson_of(files).paragraphs:
        console.print(Text(paragraph))
    console.print()


def _print_text(console: Console, source: SourceText, mark: FailingLine | None = None) -> None:
    """Highlighted and with line numbers on a terminal; in a pipe as it is."""
    if not console.is_terminal:
        console.print(Text(source.text), soft_wrap=True)
        return
    width = len(str(len(source.lines)))
    for number, (line, runs) in enumerate(zip(source.lines, highlighted(source), strict=True), 1):
        is_failing = mark is not None and (mark.name, mark.line) == (source.name, number)
        shown = Text(line)
        for start, count, word in runs:
            shown.stylize(_STYLES[word], start, start + count)
        gutter = (f"{number:>{width}} ", "bold red" if is_failing else "bright_black")
        console.print(Text.assemble(gutter, shown), soft_wrap=True)
        if is_failing and mark:
            console.print(Text(f"{' ' * width} ^ {mark.words or 'failed here'}", "bold red"))


def _print_difference(console: Console, session: Session, point: Point, other: Point) -> None:
    """From this point to the other one, as ``diff`` has it: what the other one has more is marked by +."""
    mine, theirs = files_of(session, point), files_of(session, other)
    for files, whose in ((mine, point), (theirs, other)):
        if not files:
            refuse(why_no_files(session, whose))
    if [file.text for file in mine] == [file.text for file in theirs]:
        console.print(Text("Both points have the same source."))
        return
    for left, right in paired(mine, theirs):
        console.print(Text(f"--- {left.name} (point {point.number})", "bold"))
        console.print(Text(f"+++ {right.name} (point {other.number})", "bold"))
        found = difference(left.lines, right.lines)
        for mark, line in unified_lines(left.lines, right.lines, found):
            text = f"@@ {line} @@" if mark == "@" else f"{mark}{line}"
            console.print(Text(text, _DIFF_STYLES[mark]), soft_wrap=True)


def _codes(session: Session, point: Point) -> tuple[Code, ...]:
    kept = code_of(session, point)
    assert kept
    try:
        return load_code(session.path, kept.number)
    except SessionError as error:
        refuse(str(error))


def _print_launches(console: Console, point: Point, sections: Sequence[Section]) -> None:
    for number, section in enumerate(sections, 1):
        if number > 1:
            console.print()
        which = f"kernel {number} of {len(sections)}"
        where = f"{point.implementation.title}, point {point.number}, {which}"
        console.print(Text(f"==> {where} <==", "bold" if console.is_terminal else ""), soft_wrap=True)
        console.print(Text(section.title, "bold" if console.is_terminal else ""), soft_wrap=True)
        width = max(len(fact.name) for fact in section.facts)
        for fact in section.facts:
            console.print(Text(f"  {fact.name:<{width}}  {fact.value}"), soft_wrap=True)


def _document(session: Session, point: Point, kinds: Sequence[CodeKind]) -> SourceDocument:
    files = files_of(session, point)
    mark = failing_line(point.outcome, files)
    device = session.device_of(point)
    codes = _codes(session, point) if kinds else ()
    return SourceDocument(
        session=str(session.path),
        point=point.number,
        implementation=point.implementation.key,
        lesson=lesson_of(files).paragraphs,
        files=tuple(
            SourceFileDocument(name=file.name, language=str(file.language), text=file.text) for file in files
        ),
        failing_file=mark.name if mark else None,
        failing_line=mark.line if mark else None,
        kernels=tuple(_kernel(one, device) for one in kernels_of(point.measured)) if point.measured else (),
        code=tuple(code for code in codes if code.kind in kinds),
    )


def _kernel(facts: KernelFacts, device: Device | None) -> KernelDocument:
    found, launch, built = facts.occupancy(device), facts.launch, facts.built
    return KernelDocument(
        name=facts.name,
        launches_per_call=facts.profiled.calls if facts.profiled else None,
        time_s=facts.profiled.total_s if facts.profiled else None,
        grid=launch.grid if launch else None,
        block=launch.block if launch else None,
        cluster=built.cluster if built else None,
        stages=built.stages if built else None,
        constants=dict(built.constants) if built else {},
        registers=facts.registers,
        spill_bytes=built.spill_bytes if built else None,
        shared_bytes=facts.shared_bytes,
        occupancy=found.share if found else None,
        blocks_per_multiprocessor=found.blocks if found else None,
        limited_by=tuple(map(str, found.causes)) if found else (),
    )

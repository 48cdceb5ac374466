"""``pin``: keeps a point of a session in sight, with a note and tags, as the window does."""

from typing import Annotated

import typer

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import pin_document, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import POINT_HELP, AsJson, DtypeName, PointSizes, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.points import point_named
from roofscope.app.cli.sessions import load_or_refuse, refuse_shipped
from roofscope.app.presentation.compare.marks_text import mark_lines, why_no_pin, workload_name
from roofscope.profiling.analysis.comparison import Baselines
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.marks import Mark, pins_of, why_unfit, with_mark
from roofscope.profiling.results.session import Point, Session, timestamp
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_writer import SessionStore


def command(
    file: SessionFile,
    point: Annotated[
        str | None,
        typer.Argument(
            metavar="[POINT]",
            help=f"{POINT_HELP} Without it the pins, notes and tags of the session are listed.",
        ),
    ] = None,
    dtype: DtypeName = None,
    size: PointSizes = None,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Write this down of the point; empty takes it back.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="NAME", help="May be repeated.")] = None,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Unpin it; with --tag or --note take these back only."),
    ] = False,
    pin: Annotated[
        bool, typer.Option("--pin/--no-pin", help="Without a pin only the note and the tags are written.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Pin a point of a session, with a note and tags: the first pin of a workload is its baseline."""
    session = load_or_refuse(file)
    if point is None:
        if note is not None or tag or remove:
            refuse("Name the point that is meant, such as softmax/triton_online, or its number.")
        if dtype or size:
            refuse("--dtype and --size say which point of an implementation is meant; name one.")
        if as_json:
            print_document(pin_document(session))
            return
        for line in mark_lines(session) or [f"{file} has no pin, note or tag."]:
            say(line)
        return
    if not pin and (remove or (note is None and not tag)):
        refuse("--no-pin writes a note or tags and no pin; give --note or --tag with it.")
    chosen = point_named(session, point, dtype, sizes_of(size or []))
    before = session.marks.get(chosen.number, Mark())
    after = changed(before, note, tag or [], is_removal=remove, at=timestamp() if pin else None)
    asks_for_pin = after.is_pinned and not before.is_pinned
    if why := why_unfit(after) or (why_no_pin(chosen) if asks_for_pin else ""):
        refuse(why)
    refuse_shipped(file)
    if after != before:
        try:
            with SessionStore.append(file) as store:
                store.add_mark(chosen.number, after)
        except SessionError as error:
            refuse(str(error))
        session.marks = with_mark(session.marks, chosen.number, after)
    if as_json:
        print_document(pin_document(session))
        return
    say(one_line(_said(session, chosen, after)))


def _said(session: Session, point: Point, mark: Mark) -> str:
    """Such as ``Point 12, softmax bf16 32Ki × 4Ki, Triton online: pinned; tags release.``, for the user."""
    what = "nothing is left" if mark.is_empty else "pinned" if mark.is_pinned else "not pinned"
    words = [what, *(["its workload's first pin: the baseline"] if _is_baseline(session, point) else [])]
    words += [f"tags {', '.join(mark.tags)}"] * bool(mark.tags) + [f"note: {mark.note}"] * bool(mark.note)
    name = f"{workload_name(point)}, {point.implementation.label}"
    return f"Point {point.number}, {name}: {'; '.join(words)}."


def _is_baseline(session: Session, point: Point) -> bool:
    """Whether speed-ups of its workload are over this pin."""
    found = Baselines(session.points, pinned=pins_of(session.marks)).of(point)
    is_pinned = session.marks.get(point.number, Mark()).is_pinned
    return is_pinned and found is not None and found.number == point.number


def changed(mark: Mark, note: str | None, tags: list[str], *, is_removal: bool, at: str | None) -> Mark:
    """A mark after what the options ask for; ``at`` None writes no pin, and takes none away."""
    if is_removal:
        for tag in tags:
            mark = mark.untagged(tag)
        mark = mark if note is None else mark.noted("")
        return mark if tags or note is not None else mark.unpinned()
    for tag in tags:
        mark = mark.tagged(tag)
    mark = mark if note is None else mark.noted(note)
    return mark if at is None else mark.pinned(at)

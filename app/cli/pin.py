"""``pin``: keeps a point of a session in sight, with a note and tags, as the window does."""

from typing import Annotated

import typer

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import pin_document, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import POINT_HELP, AsJson, DtypeName, PointSizes, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.points import point_named
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.compare.marks_text import mark_lines
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.marks import Mark, pins_of, why_unfit
from roofscope.profiling.results.session import timestamp
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
    as_json: AsJson = False,
) -> None:
    """Pin a point of a session: the first pin is the baseline of its workload. With a note and tags."""
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
    chosen = point_named(session, point, dtype, sizes_of(size or []))
    before = session.marks.get(chosen.number, Mark())
    after = changed(before, note, tag or [], is_removal=remove, at=timestamp())
    if why := why_unfit(after):
        refuse(why)
    if after != before:
        try:
            with SessionStore.append(file) as store:
                store.add_mark(chosen.number, after)
        except SessionError as error:
            refuse(str(error))
        session.marks[chosen.number] = after
    if as_json:
        print_document(pin_document(session))
        return
    is_first = pins_of(session.marks)[:1] == (chosen.number,)
    what = "nothing is left" if after.is_empty else "pinned" if after.is_pinned else "not pinned"
    words = [what, *(["the first pin: the baseline"] if is_first and after.is_pinned else [])]
    words += [f"tags {', '.join(after.tags)}"] * bool(after.tags) + [f"note: {after.note}"] * bool(after.note)
    say(one_line(f"Point {chosen.number}, {chosen.label}: {'; '.join(words)}."))


def changed(mark: Mark, note: str | None, tags: list[str], *, is_removal: bool, at: str) -> Mark:
    """A mark after what the options ask for."""
    if is_removal:
        for tag in tags:
            mark = mark.untagged(tag)
        mark = mark if note is None else mark.noted("")
        return mark if tags or note is not None else mark.unpinned()
    for tag in tags:
        mark = mark.tagged(tag)
    return (mark if note is None else mark.noted(note)).pinned(at)

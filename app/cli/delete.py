"""``delete``: leaves points out of a session, or brings them back, as the window does."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import DeleteDocument, DeletedPoint, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson, DtypeName, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.points import point_named
from roofscope.app.cli.sessions import load_or_refuse, refuse_shipped
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Session, timestamp
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_writer import SessionStore


def command(
    file: SessionFile,
    point: Annotated[
        str | None,
        typer.Argument(
            metavar="[POINT]",
            help="Its number, or its implementation, such as softmax/triton_online. Without it the deleted "
            "points are listed.",
        ),
    ] = None,
    dtype: DtypeName = None,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=N[,...]", help="Of the point; the largest if none."),
    ] = None,
    bring_back: Annotated[
        bool, typer.Option("--bring-back", help="Have the point again; without POINT all of them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a point of a session: it stays in the file, and is in no table, figure or export."""
    session = load_or_refuse(file)
    tell = partial(say, err=as_json)
    if bring_back or point is not None:
        refuse_shipped(file)
    if bring_back:
        _bring_back(session, point, tell)
    elif point is None and not as_json:
        for one in session.deleted:
            say(one_line(f"{one.point.number}: {one.point.label}, deleted {one.mark.deleted_at}"))
        if not session.deleted:
            say(f"No point of {file} is deleted.")
    elif point is not None:
        chosen = point_named(session, point, dtype, sizes_of(size or []))
        mark = session.marks.get(chosen.number, Mark()).deleted(timestamp())
        _keep(session, {chosen.number: mark})
        back = f"roofscope delete {file} {chosen.number} --bring-back"
        tell(one_line(f"Point {chosen.number}, {chosen.label}: deleted; {back} has it again."))
    if as_json:
        print_document(_document(load_or_refuse(file)))


def _document(session: Session) -> DeleteDocument:
    return DeleteDocument(
        session=str(session.path),
        deleted=tuple(
            DeletedPoint(
                point=one.point.number,
                implementation=one.point.implementation.key,
                deleted_at=one.mark.deleted_at,
            )
            for one in session.deleted
        ),
    )


def _bring_back(session: Session, point: str | None, tell: Callable[[str], None]) -> None:
    known = {str(one.point.number): one for one in session.deleted}
    if point is not None and point not in known:
        numbers = ", ".join(known) or "none"
        refuse(f"{session.path} has no deleted point {one_line(point)[:40]}; deleted are: {numbers}.")
    chosen = [known[point]] if point else list(known.values())
    _keep(session, {one.point.number: one.mark.brought_back() for one in chosen})
    for one in chosen:
        tell(one_line(f"Point {one.point.number}, {one.point.label}: back."))
    if not chosen:
        tell(f"No point of {session.path} is deleted.")


def _keep(session: Session, marks: dict[int, Mark]) -> None:
    try:
        with SessionStore.append(session.path) as store:
            store.add_marks(marks)
    except SessionError as error:
        refuse(str(error))

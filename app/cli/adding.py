"""``run --append``: results that go into a session which is there, as they do in the window."""

from collections.abc import Sequence
from pathlib import Path

from roofscope.app.cli.choice import choose_session
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.run_options import RunOptions
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.session import Session


def choose_file(options: RunOptions) -> tuple[Path, Session | None]:
    """The session to write, and what it holds where it is added to."""
    if not options.append:
        return choose_session(options.out), None
    if options.out is None:
        refuse("--append adds to the session that --out names; name one.")
    if options.labels:
        refuse("--append leaves the session's labels as they are; leave --label out.")
    return options.out, load_or_refuse(options.out)


def check_device(before: Session | None, devices: Sequence[Device]) -> None:
    """Points of one chart are of one device, as in the window."""
    if before and before.device and before.own_device(devices) is None:
        refuse(
            f"{before.path} was recorded on another device ({before.device.name}) than this run measures on "
            f"({devices[0].name}); name another session, or leave --append out."
        )


def of_this_run(session: Session, before: Session | None) -> None:
    """Leave only what was added: the earlier results were judged when they were measured."""
    if before:
        earlier = {point.number for point in before.points}
        session.points = tuple(point for point in session.points if point.number not in earlier)

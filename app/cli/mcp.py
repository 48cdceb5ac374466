"""``mcp``: the tools for an assistant, over the Model Context Protocol on stdin and stdout."""

import importlib.util
import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from roofscope.app.cli.choice import choose_device
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import DeviceName
from roofscope.app.cli.output import say
from roofscope.app.cli.targets import check_session_target
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import SUFFIX, UserPaths, is_file
from roofscope.profiling.results.session_reader import SessionError, load

INSTALL = 'pip install "roofscope[mcp]"'


def command(
    session: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SESSION]",
            help="The .roofscope file that is the assistant's memory; made where it is not there. Without "
            "it agent.roofscope among your sessions, which goes on from conversation to conversation.",
        ),
    ] = None,
    device: DeviceName = None,
    tools: Annotated[
        bool, typer.Option("--tools", help="Print the tools with their schemas as JSON, and exit.")
    ] = False,
) -> None:
    """Serve an assistant five tools: what is here, measure a file, why a point, compare two, the session.

    Over stdin and stdout only: nothing listens. docs/agents.md says how to add it to a client.
    """
    if tools:
        say(json.dumps(described(), indent=2))
        return
    if importlib.util.find_spec("mcp") is None:
        refuse(f"The package mcp is not installed, which speaks the protocol; install it with {INSTALL}.")
    devices = local_devices()
    chosen = choose_device(devices, device, default_device(devices))
    path = _named(session, chosen.uuid, chosen.name) if session else _own(chosen.uuid)
    from roofscope.app.agents.server import serve
    from roofscope.app.agents.workbench import Workbench

    serve(Workbench(path, chosen))


def described() -> list[dict[str, object]]:
    from roofscope.app.agents.requests import schema_of
    from roofscope.app.agents.tools import TOOLS

    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": schema_of(tool.asks),
            "outputSchema": schema_of(tool.answers),
        }
        for tool in TOOLS
    ]


def _named(path: Path, uuid: str, name: str) -> Path:
    """Refused where it cannot be written to, or is of another device."""
    check_session_target(path)
    if not is_file(path):
        return path.absolute()
    try:
        known = load(path)
    except SessionError as error:
        refuse(str(error))
    if known.why_fixed:
        refuse(f"Nothing can be added to {path}: it {known.why_fixed}.")
    if known.points and uuid not in {one.uuid for one in known.devices}:
        refuse(f"{path} was recorded on another device than {name}; name another session.")
    return path.absolute()


def _own(uuid: str) -> Path:
    """The first of the program's own that is of this device, or free."""
    folder = UserPaths.of_user().sessions
    number = 1
    while True:
        path = folder / f"agent{f'-{number}' if number > 1 else ''}{SUFFIX}"
        if not is_file(path):
            return path
        try:
            known = load(path)
        except (SessionError, msgspec.MsgspecError):
            known = None
        if known and not known.why_fixed and uuid in {one.uuid for one in known.devices}:
            return path
        number += 1

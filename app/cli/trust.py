"""``trust``: the folders of kernels from elsewhere that may run here."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.output import say
from roofscope.app.cli.trusting import listing, survey_or_refuse
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.survey import user_name
from roofscope.profiling.planning.trust import Trust, TrustError, what_runs, whose


def command(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR", help="Folders of kernels; none to list them.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Trust them no longer.")] = False,
) -> None:
    """Trust folders of kernels that others own or may write to, or list those that are trusted.

    Kernels are programs, and run with all that you may do. On the command line your own need no trust.
    """
    trust = Trust(UserPaths.of_user().trusted)
    if not folders:
        _print_all(trust)
        return
    try:
        for folder in folders:
            if forget:
                _forget(trust, folder)
            else:
                _add(trust, folder)
    except TrustError as error:
        refuse(str(error))


def _add(trust: Trust, folder: Path) -> None:
    found = survey_or_refuse(folder)
    if not found.kernels:
        refuse(f"{printable(folder)} holds no kernel, and so nothing to trust.")
    trust.add(found)
    why = f" ({whose(found)})" if whose(found) else ""
    say(f"{printable(found.folder)} is trusted{why}: {what_runs(found)}.\n{listing(found)}")


def _forget(trust: Trust, folder: Path) -> None:
    if not trust.remove(folder):
        refuse(f"{printable(folder)} was not trusted.")
    say(f"{printable(folder)} is trusted no longer.")


def _print_all(trust: Trust) -> None:
    known = trust.folders
    for folder in known:
        owners = ", ".join(map(user_name, folder.owners)) or "your own"
        say(f"{printable(folder.path)} ({owners})")
    if not known:
        say("No folder from elsewhere is trusted.")

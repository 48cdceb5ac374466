"""``trust``: the folders of kernels from elsewhere that may run here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.documents import TrustDocument, TrustedFolderDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson
from roofscope.app.cli.output import say
from roofscope.app.cli.trusting import listing, survey_or_refuse
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.survey import user_name
from roofscope.profiling.planning.trust import Trust, TrustedFolder, TrustError, what_runs, whose


def command(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR", help="Folders of kernels; none to list them.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Trust them no longer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trust folders of kernels that others own or may write to, or list those that are trusted.

    Kernels are programs, and run with all that you may do. On the command line your own need no trust.
    """
    trust = Trust(UserPaths.of_user().trusted)
    tell = partial(say, err=as_json)
    if not folders and not as_json:
        _print_all(trust)
    try:
        for folder in folders or []:
            if forget:
                _forget(trust, folder, tell)
            else:
                _add(trust, folder, tell)
    except TrustError as error:
        refuse(str(error))
    if as_json:
        print_document(TrustDocument(folders=tuple(map(_document, trust.folders))))


def _document(folder: TrustedFolder) -> TrustedFolderDocument:
    return TrustedFolderDocument(path=folder.path, owners=tuple(map(user_name, folder.owners)))


def _add(trust: Trust, folder: Path, tell: Callable[[str], None]) -> None:
    found = survey_or_refuse(folder)
    if not found.kernels:
        refuse(f"{printable(folder)} holds no kernel, and so nothing to trust.")
    trust.add(found)
    why = f" ({whose(found)})" if whose(found) else ""
    tell(f"{printable(found.folder)} is trusted{why}: {what_runs(found)}.\n{listing(found)}")


def _forget(trust: Trust, folder: Path, tell: Callable[[str], None]) -> None:
    if not trust.remove(folder):
        refuse(f"{printable(folder)} was not trusted.")
    tell(f"{printable(folder)} is trusted no longer.")


def _print_all(trust: Trust) -> None:
    known = trust.folders
    for folder in known:
        owners = ", ".join(map(user_name, folder.owners)) or "your own"
        say(f"{printable(folder.path)} ({owners})")
    if not known:
        say("No folder from elsewhere is trusted.")

"""Asks once before a folder of kernels that is not the user's own is run."""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.output import say
from roofscope.profiling.paths import UserPaths, is_file, other_kind
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.survey import Survey, survey, survey_file
from roofscope.profiling.planning.trust import VARIABLE, Trust, TrustedFolder, TrustError, what_runs, whose

_MOST_LINES = 12


def trusted_folder(folder: Path, *, is_trusted: bool) -> Path:
    """The folder as it is known to the worker; refused where it is neither the user's own nor trusted."""
    found = survey_or_refuse(folder)
    _require_trust(found, lambda: survey_or_refuse(folder), "folder", is_trusted=is_trusted)
    return found.folder


def trust_file(file: Path, others: Sequence[Path], *, is_trusted: bool) -> None:
    """Refuses where a file, or one that runs with it, is neither the user's own nor trusted."""

    def look() -> Survey:
        try:
            return survey_file(file, others)
        except FileFault as error:
            refuse(f"{printable(file)} cannot be read: {error}.")

    _require_trust(look(), look, "file", is_trusted=is_trusted)


def _require_trust(found: Survey, look: Callable[[], Survey], what: str, *, is_trusted: bool) -> None:
    trust = Trust(UserPaths.of_user().trusted)
    if found.is_own or trust.covers(found):
        return
    if not is_trusted:
        _ask(found, what)
    _require_unchanged(found, look())
    try:
        trust.add(found)
    except TrustError as error:  # it is trusted for this time
        say(str(error), err=True, colour=typer.colors.YELLOW)


def _require_unchanged(found: Survey, fresh: Survey) -> None:
    """Somebody may have changed the folder while its user looked at the question."""
    if not TrustedFolder.of(found).covers(fresh):
        name = printable(found.folder)
        refuse(f"Nothing of {name} was run, because it has changed since it was looked at: {whose(fresh)}.")


def require_folder(path: Path, rule: str) -> None:
    """Refuse what is no folder, in a sentence that says what it is."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        return
    name = printable(path)
    try:
        what = "a file" if is_file(path) else other_kind(path)
    except OSError:
        what = ""
    refuse(f"{name} is {what}; {rule}." if what else f"There is no folder {name}; {rule}.")


def survey_or_refuse(folder: Path) -> Survey:
    require_folder(folder, "a folder of kernels is what can be trusted")
    try:
        return survey(folder)
    except FileFault as error:
        refuse(f"{printable(folder)} cannot be read: {error}.")


def listing(found: Survey) -> str:
    """What would run, a line a kernel."""
    lines = [f"  {kernel.name}: {', '.join(kernel.files)}" for kernel in found.kernels[:_MOST_LINES]]
    if (more := len(found.kernels) - _MOST_LINES) > 0:
        lines.append(f"  and {more} more")
    return "\n".join(lines)


def _ask(found: Survey, what: str) -> None:
    """Refuses, or returns where the user says yes."""
    name, why = printable(found.folder), whose(found)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        command = f"`roofscope trust {shlex.quote(name)}`, " if what == "folder" else ""
        contents = f"its {what_runs(found)}" if what == "folder" else ", ".join(found.kernels[0].files)
        refuse(
            f"{name} was not run, because {why}; look at {contents}, then {command}"
            f"give --trust, or name it in {VARIABLE}."
        )
    say(f"{name}: {why}. It holds {what_runs(found)}, which would run with your rights:", err=True)
    say(listing(found), err=True)
    if not typer.confirm(f"Trust this {what} from now on?", default=False, err=True):
        refuse(f"Nothing of {name} was run.")

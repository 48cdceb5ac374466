"""From a file, or its text, to the form by which it is measured: what is the user's own, or trusted."""

import os
import re
import shlex
from pathlib import Path

from msgspec import Struct

from roofscope.app.agents.requests import MOST_SOURCE, AgentFault, MeasureRequest, in_arguments
from roofscope.profiling.paths import UserPaths, is_file
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.one_file.complete import complete, keep, path_for
from roofscope.profiling.planning.one_file.draft import Asked, draft
from roofscope.profiling.planning.one_file.form import SOURCES, FormFault, is_form, read_form
from roofscope.profiling.planning.one_file.parts import called, running_files, survey_form
from roofscope.profiling.planning.survey import Survey, survey_file
from roofscope.profiling.planning.trust import Trust, whose

_NAME = re.compile(r"[A-Za-z_][\w\-]{0,80}(?:\.\w{1,40}){0,2}\.(?:py|cu|cpp|cc)")


class OpenedFile(Struct, frozen=True):
    """A form, what it measures, and what was guessed for it."""

    form: Path
    source: Path
    stems: tuple[str, ...] = ()
    guessed: str = ""  # a sentence


def open_file(request: MeasureRequest, folder: Path) -> OpenedFile:
    """The form of what is to be measured; made where there is none, or where the request says how.

    Text is kept in ``folder``. Raises AgentFault.
    """
    source = _written(request, folder) if request.source else _found(request.path)
    names = (request.function,) if request.function else ()
    says = any((request.reference, request.inputs, request.call, request.grid, request.block))
    try:
        if is_form(source):
            raise FormFault("it says how a file is measured; name that file")
        form = path_for(source, names)
        if is_file(form) and not says:
            survey = survey_form(form)
            _require_trust(survey)
            own = [called(call) for call in read_form(form).calls]
            if names and names[0] not in own:
                raise FormFault(
                    f"{form.name} measures {', '.join(own)}; give reference to measure {names[0]} beside it"
                )
            return OpenedFile(form, source)
        asked = Asked(
            source, names, request.reference, request.inputs, request.call, request.grid, request.block
        )
        found = draft(asked)
        _require_trust(survey_file(source, running_files(source, request.reference)))
        keep(complete(found, source.parent), form)
        _require_trust(survey_form(form))
    except FileFault as error:
        raise AgentFault(f"{printable(source.name)} cannot be read: {error}.") from error
    except FormFault as error:
        why = in_arguments(str(error))
        raise AgentFault(f"{printable(source.name)} was not measured: {why}.") from error
    guessed = found.was_guessed and f"Guessed from {source.name}: {in_arguments(found.was_guessed)}."
    return OpenedFile(form, source, guessed=guessed)


def _found(path: str) -> Path:
    if not path:
        raise AgentFault("Nothing says what to measure; give path, or source with a name.")
    try:
        source = Path(path).expanduser().resolve()
        source.stat()
    except FileNotFoundError:
        raise AgentFault(f"There is no file {printable(path[:300])}.") from None
    except (OSError, RuntimeError, ValueError) as error:  # a NUL, too long a name, links that lead round
        why = getattr(error, "strerror", None) or error
        raise AgentFault(f"{printable(path[:300])!r} cannot be opened: {why}.") from None
    if not is_file(source):
        raise AgentFault(f"{printable(path[:300])} is no file.")
    return source


def _written(request: MeasureRequest, folder: Path) -> Path:
    if request.path:
        raise AgentFault("Give path or source, not both.")
    if not _NAME.fullmatch(request.name) or request.name.endswith(".roofscope.py"):
        raise AgentFault(
            f"{printable(request.name[:100])!r} is no name for a kernel's file; give one such as gelu.py, of "
            f"letters, digits and underscores, that ends in {', '.join(SOURCES)}."
        )
    if len(request.source) > MOST_SOURCE:
        raise AgentFault(f"The source has {len(request.source)} characters, more than {MOST_SOURCE}.")
    if "\0" in request.source:
        raise AgentFault("The source has a NUL character, which no compiler reads.")
    try:
        content = request.source.encode()
    except UnicodeEncodeError:
        raise AgentFault("The source is no UTF-8 text: it has half a character.") from None
    path = folder / request.name
    try:
        write_own(path, content)
    except OSError as error:
        raise AgentFault(f"{printable(path)} cannot be written: {error.strerror}.") from error
    return path


def write_own(path: Path, content: bytes) -> None:
    """A file that nobody else may write, whatever the umask. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)  # never through a link that lies there
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _require_trust(found: Survey) -> None:
    if found.is_own or Trust(UserPaths.of_user().trusted).covers(found):
        return
    name = printable(found.folder)
    raise AgentFault(
        f"{name} was not measured, because {whose(found)}; only its user can trust it, by "
        f"`roofscope run {shlex.quote(name)} --trust`, after reading it, and no tool can."
    )

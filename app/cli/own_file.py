"""A kernel in one file of the user's, as it stands: from the words of ``run`` to its form, which is kept."""

import os
from collections.abc import Sequence
from pathlib import Path

import typer
from msgspec import Struct

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.output import say
from roofscope.app.cli.trusting import trust_file
from roofscope.profiling.paths import is_file
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.one_file.complete import complete, derive_again, keep, path_for
from roofscope.profiling.planning.one_file.draft import Asked, draft
from roofscope.profiling.planning.one_file.form import SOURCES, Form, FormFault, is_form, read_form
from roofscope.profiling.planning.one_file.parts import called, files_of_form, kernel_name, running_files


class OwnFile(Struct, frozen=True):
    """A form, the kernel that it makes, and the functions of the file that were named."""

    form: Path
    kernel: str
    names: tuple[str, ...]


class FileOptions(Struct, frozen=True):
    """What the options of ``run`` say of a file."""

    reference: str = ""
    inputs: Sequence[str] = ()
    call: str = ""
    grid: str = ""
    block: str = ""

    @property
    def says_anything(self) -> bool:
        return bool(self.reference or self.inputs or self.call or self.grid or self.block)


def is_file_word(word: str) -> bool:
    """Whether a word names a file, such as ``add.py`` or ``softmax.py:my_softmax``, and no kernel."""
    return Path(_split(word)[0]).suffix in SOURCES


def choose_files(words: Sequence[str], options: FileOptions, *, is_trusted: bool) -> list[OwnFile]:
    """Of the words those that name files; refused where options of a file have none."""
    files = [word for word in words if is_file_word(word)]
    if options.says_anything and not files:
        refuse("--reference, --input, --call, --grid and --block are of a file; name it, as in `run add.py`.")
    chosen = [choose_file(word, options, is_trusted=is_trusted) for word in files]
    require_distinct(chosen)
    return chosen


def choose_file(word: str, options: FileOptions, *, is_trusted: bool) -> OwnFile:
    """The form of a file; where there is none it is made of the options, and kept. Or a refusal."""
    name, functions = _split(word)
    source = _resolved(name)
    if not is_file(source):
        refuse(f"There is no file {printable(name)}.")
    try:
        form = source if is_form(source) else path_for(source, functions)
        if is_file(form) and not options.says_anything:
            said = read_form(form)
            _require_known(form, said, functions)
            running = files_of_form(form, said)
            trust_file(form, running, is_trusted=is_trusted)
            if said.is_old:
                _derive_again(form, said, running)
        elif is_form(source):
            raise FormFault("it says itself how its file is measured; edit it, or name the file")
        else:
            _make(form, source, functions, options, is_trusted=is_trusted)
    except FormFault as error:
        refuse(f"{printable(source.name)} was not run: {error}.")
    return OwnFile(form, kernel_name(form), functions)


def require_distinct(files: Sequence[OwnFile]) -> None:
    """Refuse two files of one name: a session could not tell their kernels apart."""
    forms: dict[str, Path] = {}
    for file in files:
        other = forms.setdefault(file.kernel, file.form)
        if other != file.form:
            refuse(
                f"{printable(other)} and {printable(file.form)} both make a kernel named "
                f"{printable(file.kernel)}; name one of them in each run, or rename one of the files."
            )


def _make(form: Path, source: Path, names: Sequence[str], options: FileOptions, *, is_trusted: bool) -> None:
    asked = Asked(
        source,
        tuple(names),
        _beside(options.reference, source.parent),
        tuple(options.inputs),
        options.call,
        options.grid,
        options.block,
    )
    found = draft(asked)
    trust_file(source, running_files(source, asked.reference), is_trusted=is_trusted)
    made = complete(found, source.parent)
    keep(made, form)
    trust_file(form, running_files(source, asked.reference), is_trusted=True)  # as was just said
    if found.was_guessed:
        say(f"Guessed from {source.name}: {found.was_guessed}.", err=True, colour=typer.colors.YELLOW)
    say(f"{form.name} beside {source.name} says how it is measured; edit it as you like.", err=True)


def _derive_again(form: Path, said: Form, running: Sequence[Path]) -> None:
    """Once: from then on the form says what its work was derived of."""
    old = f"{form.name} was written before forms said what their work was derived of"
    try:
        derive_again(form, said)
    except FormFault as error:
        say(f"{old}; it stays, because {error}.", err=True, colour=typer.colors.YELLOW)
        return
    trust_file(form, running, is_trusted=True)  # it was, and only its work is another
    say(f"{old}; FLOPs and bytes were derived again.", err=True, colour=typer.colors.YELLOW)


def _beside(reference: str, folder: Path) -> str:
    """A file that is named from here, as the form names it: from the folder that it lies in."""
    path, colon, name = reference.rpartition(":")
    if not (colon and path.endswith(".py") and Path(path).is_file()):
        return reference
    return f"{os.path.relpath(Path(path).resolve(), folder)}:{name}"


def _require_known(form: Path, said: Form, names: Sequence[str]) -> None:
    """Raises FormFault where the form measures other functions than those named."""
    own = [called(call) for call in said.calls]
    for name in names:
        if name not in own:
            raise FormFault(
                f"{form.name} measures {', '.join(own)}; give --reference to measure {name} as a kernel "
                "of its own, or add it to its CALL"
            )


def _resolved(name: str) -> Path:
    try:
        return Path(name).resolve()
    except (OSError, RuntimeError, ValueError):  # links that lead round, a name that no system takes
        return Path(name).absolute()


def _split(word: str) -> tuple[str, tuple[str, ...]]:
    path, colon, names = word.rpartition(":")
    if colon and Path(path).suffix in SOURCES:
        return path, tuple(filter(None, names.split(",")))
    return word, ()

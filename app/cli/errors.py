"""How a command ends: its exit codes, and a user's mistake as one sentence."""

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

import typer

from roofscope.app.cli.output import say

if TYPE_CHECKING:  # help loads nothing of the engine
    from roofscope.profiling.devices.device import Device
    from roofscope.profiling.supervision.recording import Ending

DONE, SOME_FAILED, USAGE = 0, 1, 2
INCONCLUSIVE = 3  # nothing failed, but the host's noise forbids to say that all passed
STOPPED = -1  # as SOME_FAILED, and by the user: what would come next is not begun; never an exit code
BUSY = 75  # EX_TEMPFAIL of sysexits.h: the same command may work later
OUTPUT_LOST = 74  # EX_IOERR: stdout is closed or its disk is full
_MOST_NAMES, _FEW_NAMES = 24, 8  # of those that are known, in a sentence
_LONGEST_NAME = 100
PIPE_CLOSED = 141  # as a shell reports a tool that SIGPIPE ended


def codes_of_each(devices: "Iterable[Device]", command: "Callable[[Device], int]") -> list[int]:
    """The exit code of each device in turn. A user who stops one means all of them."""
    codes: list[int] = []
    for device in devices:
        code = command(device)
        codes.append(SOME_FAILED if code == STOPPED else code)
        if code == STOPPED:
            break
    return codes


class Refused(typer.Exit):
    """A command that ends with one sentence, which was said on stderr."""

    def __init__(self, message: str) -> None:
        super().__init__(USAGE)
        self.message = message


def refuse(message: str) -> NoReturn:
    """End the program with one sentence. The code 2 tells scripts that nothing was tried."""
    complain(message)
    raise Refused(message)


def print_fault(sentence: str) -> None:
    """One JSON object on stdout, for a program that reads nothing else."""
    from roofscope.app.cli.documents import FaultDocument, print_document
    from roofscope.profiling.plain_text import one_line

    print_document(FaultDocument(error=one_line(sentence), exit_code=USAGE))


def refuse_unusable(ending: "Ending") -> None:
    """End the program where the device cannot be measured on, now or later."""
    if ending.unusable:
        refuse(ending.unusable)


def complain(message: str) -> None:
    """One sentence on stderr; the command goes on."""
    say(message, err=True, colour=typer.colors.RED)


def unknown(kind: str, name: str, known: Iterable[str]) -> NoReturn:
    """Refuse a name, with the nearest known one, or with as many as one reads."""
    names = list(map(str, known))
    near = _with_its_parts(name, names) or difflib.get_close_matches(name[:_LONGEST_NAME], names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {_some(names, name)}."
    refuse(f"There is no {kind} {name[:_LONGEST_NAME]!r}; {hint}")


def _with_its_parts(name: str, names: list[str]) -> list[str]:
    """``cross_entropy/library_liger`` for ``cross_entropy/liger``: of this kernel, with the rest in it."""
    kernel, slash, rest = name[:_LONGEST_NAME].partition("/")
    return [known for known in names if rest and known.startswith(f"{kernel}{slash}") and rest in known]


def _some(names: list[str], name: str) -> str:
    """All of a few; of many those that begin with the name or have it in them, then those most like it."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)

    def likeness(known: str) -> float:
        ratio = difflib.SequenceMatcher(None, name[:_LONGEST_NAME], known).ratio()
        return known.startswith(f"{name}/") + (name in known) + ratio

    chosen = set(sorted(names, key=likeness, reverse=True)[:_FEW_NAMES])
    shown = ", ".join(known for known in names if known in chosen)
    return f"{shown} and {len(names) - len(chosen)} more"

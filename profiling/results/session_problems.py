"""What a damaged or newer session file lacks, in sentences for the user."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from roofscope.profiling.results.session_contents import Contents
from roofscope.profiling.results.session_rows import Row
from roofscope.profiling.results.session_schema import FORMAT_VERSION

# What a row of each table is called, the most telling first.
_NOUNS = {
    "outcome": ("point", "points"),
    "trace": ("trace", "traces"),
    "code": ("generated code", "generated codes"),
    "counters": ("point's counters", "points' counters"),
    "mark": ("pin, note or tag", "pins, notes and tags"),
    "proof": ("proof", "proofs"),
    "job": ("job", "jobs"),
    "kernel": ("kernel's specification", "kernels' specifications"),
    "ceiling": ("ceiling", "ceilings"),
    "environment": ("environment", "environments"),
    "source": ("source file", "source files"),
    "label": ("label", "labels"),
    "session": ("the session's date and UUID",) * 2,
}


def problems_of(
    path: Path, contents: Contents, kept: Mapping[str, Sequence[Row]], unknown: Counter[str]
) -> tuple[str, ...]:
    """A sentence for each thing that a reader of the session must know; none of a whole file."""
    lost = {
        name: contents.expected(name) - len(kept[name]) - unknown[name]
        for name in _NOUNS
        if len(kept[name]) + unknown[name] < contents.expected(name)
    }
    problems: list[str] = []
    advice = f"save what is whole under another name, or restore {path} from a copy"
    if lost:
        is_one = len(lost) == 1 and sum(lost.values()) == 1
        problems.append(
            f"{_list(lost, contents)} {'is' if is_one else 'are'} damaged and left out; {advice}."
        )
    elif contents.is_incomplete:
        problems.append(f"{path} is damaged, but every row found in it is whole; {advice}.")
    if contents.is_sealed and contents.lacks_a_tally:
        problems.append(f"The count of rows in {path} is damaged, so that others may be missing too.")
    strange = {name: unknown[name] for name in _NOUNS if unknown[name]}
    left_out = f"{_list(strange, contents)} that it does not know are left out" if strange else ""
    if contents.version > FORMAT_VERSION:
        problems.append(
            f"{path} has session format {contents.version}, this Roofscope knows {FORMAT_VERSION}: it is for "
            f"viewing only{f', and {left_out}' if left_out else ''}; update Roofscope."
        )
    elif left_out:
        problems.append(f"{path} is of a newer Roofscope: {left_out}; update Roofscope.")
    return tuple(problems)


def _list(counts: Mapping[str, int], contents: Contents) -> str:
    """Such as ``3 of 293 points and 1 of 98 jobs``."""
    words = [_words(name, count, contents.expected(name)) for name, count in counts.items()]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _words(name: str, count: int, total: int) -> str:
    one, several = _NOUNS[name]
    return one if name == "session" else f"{count} of {total} {one if total == 1 else several}"

"""Reads what compute-sanitizer prints, of several versions: where it puts kernel and line has changed."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.debugging import Sanitized

_MOST_LOG = 1 << 22  # characters that are read
_LONGEST = 300
_MARK = re.compile(r"^=========[ \t]?(.*)$", re.MULTILINE)
# What begins an error; anything else, such as a host's backtrace, belongs to the one before.
_BEGINS = re.compile(
    r"(?:(?:Error|Warning|ERROR|WARNING): )?"
    r"(Invalid __\w+__ (?:read|write|atomic).*|Uninitialized __\w+__ memory read.*|Barrier error detected.*"
    r"|Race reported between .*|Potential \w+ hazard detected.*|Invalid synchronization.*|Misaligned .*"
    r"|Stack overflow.*|Hardware exception.*|Illegal .*)"
)
# at add(float *)+0x100 in /src/add.cu:12, or add():0x160 in add.cu:6
_NEW = re.compile(r"\bat (?P<kernel>.+?)(?:\+|:)0x[0-9a-f]+ in (?P<file>[^\n]+?):(?P<line>\d{1,7})(?=\s|$)")
# at 0x3c8 in /src/add.cu:12:add(float *)
_OLD = re.compile(
    r"\bat 0x[0-9a-f]+ in (?P<file>[^\n:]+(?::[\\/][^\n:]+)?):(?P<line>\d{1,7}):(?P<kernel>[^\n]+)"
)
_NO_LINE = re.compile(r"\bat 0x[0-9a-f]+ in (?P<kernel>[^\n]+)|\bat (?P<other>[^\n]+?)\+0x[0-9a-f]+")
_HAZARDS = re.compile(r"\s*\[\d+ hazards?\]")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_ADDRESS = re.compile(r"Address (0x[0-9a-f]+)")
_SIZE = re.compile(r"of size (\d+)")
_NEAREST = re.compile(r"and is ([\d,]+ bytes? (?:after|before|inside)[^\n]*)")


def sanitized(tool: str, log: str) -> tuple[Sanitized, ...]:
    """The errors, those of one line and one kind added up, in the order of the log."""
    found: dict[tuple[str, str, str, int], Sanitized] = {}
    for lines in _errors(log[:_MOST_LOG]):
        one = _read(tool, lines)
        key = one.text, one.kernel, one.file, one.line
        before = found.get(key)
        found[key] = replace(before, count=before.count + 1) if before else one
    return tuple(found.values())


def _errors(log: str) -> Iterator[list[str]]:
    """The lines of each error, without the tool's mark."""
    lines: list[str] = []
    for text in _MARK.findall(log):
        if _BEGINS.match(text.strip()):
            if lines:
                yield lines
            lines = [text.strip()]
        elif not text.strip():  # an empty line ends it
            if lines:
                yield lines
            lines = []
        elif lines:
            lines.append(text.strip())
    if lines:
        yield lines


def _read(tool: str, lines: list[str]) -> Sanitized:
    first = _BEGINS.match(lines[0])
    text = first[1] if first else lines[0]
    is_race = text.startswith("Race reported")
    whole = "\n".join(lines)
    kernel, file, number = _place(_HAZARDS.sub("", whole))
    if is_race:
        text = _race_text(lines)
    thread = _THREAD.search(whole)
    numbers = tuple(map(int, thread.groups())) if thread else ()
    address, size, nearest = _ADDRESS.search(whole), _SIZE.search(text), _NEAREST.search(whole)
    return Sanitized(
        tool,
        one_line(text)[:_LONGEST],
        one_line(kernel)[:_LONGEST],
        one_line(file)[:_LONGEST],
        number,
        numbers[:3],
        numbers[3:],
        address[1] if address else "",
        int(size[1]) if size else None,
        one_line(nearest[1])[:_LONGEST] if nearest else "",
    )


def _place(text: str) -> tuple[str, str, int]:
    """Kernel, file and line; "" and 0 where they are not known."""
    for pattern in (_OLD, _NEW):
        if found := pattern.search(text):
            return _name(found["kernel"]), found["file"].strip(), int(found["line"])
    found = _NO_LINE.search(text)
    return (_name(found["kernel"] or found["other"]), "", 0) if found else ("", "", 0)


def _name(kernel: str) -> str:
    """Without its parameters: ``add`` of ``add(float *, int)``."""
    return kernel.strip().partition("(")[0].strip()


def _race_text(lines: list[str]) -> str:
    """``Write access on line 13, Read access on line 14``: a race has two places or more."""
    found: list[str] = []
    for line in lines:
        access = re.search(r"\b(Read|Write|Atomic) access\b", line)
        place = _place(_HAZARDS.sub("", line))
        if access:
            found.append(f"{access[1]} access on line {place[2]}" if place[2] else f"{access[1]} access")
    return f"Race reported between {' and '.join(dict.fromkeys(found))}"

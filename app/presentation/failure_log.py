"""What a reader wants to see of a failure's log: the kernel's own lines first, the program's folded away."""

import re

from msgspec import Struct

_OURS_FILE = r"<frozen [^\"]*>|[^\"]*/main\.py|[^\"]*/profiling/(?:worker|supervision|planning)/[^\"]*"
_OURS = re.compile(rf'^(\s*)File "(?:{_OURS_FILE})", line \d+')
_FRAME = re.compile(r'^(\s*)File "([^"]*)", line \d+')
_LIBRARIES = (re.compile(r"/(?:site-packages|dist-packages)/([^/]+)"), re.compile(r"/lib/(python)3[^/]*/"))
_LISTING = "Extension modules:"  # of a fatal error: a kilobyte of names
_FEW = 2  # frames of libraries that stay: where it went in and where it ended


class FoldedLog(Struct, frozen=True):
    """``text`` is what stands at first; ``left_out`` says what the log has beside it, "" for nothing."""

    text: str
    left_out: str


def telling_lines(log: str) -> list[str]:
    """The log's lines without frames of this program, which are the same in each failure."""
    return _without_ours(log)[0]


def folded(log: str) -> FoldedLog:
    """Without the program's frames, and with long chains of libraries' frames as one line each."""
    lines, ours = _without_ours(log)
    kept, libraries = _fold_libraries(lines)
    parts = [f"{ours} of Roofscope"] if ours else []
    parts += [f"{libraries} of libraries"] if libraries else []
    left_out = f"Frames left out: {', '.join(parts)}" if parts else ""
    return FoldedLog("\n".join(kept).rstrip("\n"), left_out)


def _without_ours(log: str) -> tuple[list[str], int]:
    """The lines, and how many frames were left out."""
    kept: list[str] = []
    count = 0
    frame_indent: int | None = None  # of a frame that is left out, with its source line below it
    for line in log.splitlines():
        indent = len(line) - len(line.lstrip())
        if ours := _OURS.match(line):
            frame_indent = len(ours.group(1))
            count += 1
            continue
        if frame_indent is not None and indent > frame_indent and not line.lstrip().startswith('File "'):
            continue
        frame_indent = None
        if not line.startswith(_LISTING):
            kept.append(line)
    return kept, count


def _fold_libraries(lines: list[str]) -> tuple[list[str], int]:
    """Of each chain of frames in libraries the first and the last; the lines, and how many frames went."""
    kept: list[str] = []
    chain: list[list[str]] = []  # frames, each with the lines below it
    names: dict[str, None] = {}
    folded_count = 0

    def end_chain() -> None:
        nonlocal folded_count
        hidden = len(chain) - _FEW
        if hidden > 1:
            indent = chain[0][0][: len(chain[0][0]) - len(chain[0][0].lstrip())]
            middle = [f"{indent}... {hidden} frames of {', '.join(names)}"]
            chain[1:-1] = [middle]
            folded_count += hidden
        kept.extend(line for frame in chain for line in frame)
        chain.clear()
        names.clear()

    for line in lines:
        frame = _FRAME.match(line)
        found = [pattern.search(frame.group(2)) for pattern in _LIBRARIES] if frame else []
        if library := next(filter(None, found), None):
            names[library.group(1)] = None
            chain.append([line])
        elif chain and not frame and len(line) - len(line.lstrip()) > _indent(chain[-1][0]):
            chain[-1].append(line)
        else:
            end_chain()
            kept.append(line)
    end_chain()
    return kept, folded_count


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

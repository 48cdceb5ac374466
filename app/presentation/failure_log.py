"""What a reader wants to see of a failure's log: the kernel's own lines, not the program's."""

import re

_OURS_FILE = r"<frozen [^\"]*>|[^\"]*/main\.py|[^\"]*/profiling/(?:worker|supervision|planning)/[^\"]*"
_OURS = re.compile(rf'^(\s*)File "(?:{_OURS_FILE})", line \d+')
_LISTING = "Extension modules:"  # of a fatal error: a kilobyte of names


def telling_lines(log: str) -> list[str]:
    """The log's lines without frames of this program, which are the same in each failure."""
    kept: list[str] = []
    frame_indent: int | None = None  # of a frame that is left out, with its source line below it
    for line in log.splitlines():
        indent = len(line) - len(line.lstrip())
        if ours := _OURS.match(line):
            frame_indent = len(ours.group(1))
            continue
        if frame_indent is not None and indent > frame_indent and not line.lstrip().startswith('File "'):
            continue
        frame_indent = None
        if not line.startswith(_LISTING):
            kept.append(line)
    return kept

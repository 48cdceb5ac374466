"""What NVRTC can compile of a ``.cu`` that was written for nvcc: its device code, each line where it was.

A tutorial's file has a ``main``, host headers and launches beside its kernels; NVRTC knows none of them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from roofscope.profiling.planning.one_file.cpp_offers import closing, without_comments

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>[^\n]*", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_OF_STD = re.compile(r"^[ \t]*using\s+namespace\s+std\s*;", re.MULTILINE)
_ON_DEVICE = re.compile(r"\b(?:__global__|__device__|__constant__|__shared__)\b")
_NO_FUNCTION = re.compile(
    r"^\s*(?:template\s*<[^{]*>\s*)?(?:struct|class|union|enum|namespace|typedef|using|extern)\b"
)
_HOST_ONLY = ("cuda_runtime.h", "cuda_runtime_api.h", "cuda.h", "device_launch_parameters.h", "helper_cuda.h")


def device_text(source: str, folders: Sequence[Path]) -> str:
    """Without host functions and without headers that are in none of these folders."""

    def keep(match: re.Match[str]) -> str:
        name = match[1].strip()
        is_known = name not in _HOST_ONLY and any((folder / name).is_file() for folder in folders)
        return match[0] if is_known else ""

    text = _OF_STD.sub("", _INCLUDE.sub(keep, source))
    blanked = list(text)
    for start, end in _host_functions(text):
        for place in range(start, end):
            if blanked[place] != "\n":
                blanked[place] = " "
    return "".join(blanked)


def _host_functions(text: str) -> Iterator[tuple[int, int]]:
    """Where functions at the file's level begin and end that no device runs."""
    plain = without_comments(text)
    plain = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), plain)
    start, place = 0, 0
    while place < len(plain):
        sign = plain[place]
        if sign == ";":
            start = place + 1
        elif sign == "(":
            place = closing(plain, place)
        elif sign == "{":
            end = closing(plain, place, "{}")
            header = plain[start:place]
            if "(" in header and not _ON_DEVICE.search(header) and not _NO_FUNCTION.match(header):
                yield start, min(end + 1, len(plain))
            place, start = end, end + 1
        place += 1

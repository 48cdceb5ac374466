"""What NVRTC can compile of a ``.cu`` that was written for nvcc: its device code, each line where it was.

A tutorial's file has a ``main``, host headers and launches beside its kernels; NVRTC knows none of them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from roofscope.profiling.planning.one_file.cpp_offers import closing, without_comments

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>[^\n]*", re.MULTILINE)
_OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([\w./-]+)"')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_OF_STD = re.compile(r"^[ \t]*using\s+namespace\s+std\s*;", re.MULTILINE)
_ON_DEVICE = re.compile(r"\b(?:__global__|__device__|__constant__|__shared__)\b")
_NO_FUNCTION = re.compile(r"^\s*(?:template\s*<[^{]*>\s*)?(?:struct|class|union|enum|typedef|using)\b")
_KEPT = re.compile(
    r"__(?:device|constant|shared|managed|global)__|\b(?:const|constexpr|typedef|using|template|static_assert)\b"
    r"|^\s*(?:struct|class|union|enum)\b"
)
_BLOCK = re.compile(r"^\s*(?:inline\s+)?(?:namespace\b[^(]*|extern\s*\"[^\"]*\"\s*)$")
# Headers of CUDA that only a host can read.
_HOST_ONLY = re.compile(
    r"cuda_runtime(?:_api)?\.h|cuda\.h|device_launch_parameters\.h|helper_\w+\.h|cuda\w*[pP]rofiler\w*\.h|nvtx.*"
    r"|cu(?:blas|sparse|solver|fft|file|dnn|pti)\w*\.h|cu(?:tlass|te)/.*|nv(?:blas|rtc|JitLink|ml)\.h|thrust/.*"
)
# What <math.h>, <float.h>, <limits.h> and <sys/types.h> of a host say, which nvcc includes unasked.
_OF_HOST_HEADERS = (
    ("INFINITY", "__int_as_float(0x7f800000)"), ("NAN", "__int_as_float(0x7fffffff)"),
    ("FLT_MAX", "3.402823466e+38f"), ("FLT_MIN", "1.175494351e-38f"), ("FLT_EPSILON", "1.192092896e-07f"),
    ("INT_MAX", "2147483647"), ("INT_MIN", "(-2147483647 - 1)"), ("M_PI", "3.14159265358979323846"),
)  # fmt: skip
_TYPES_OF_HOST = "typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;"


def before_device_text(text: str) -> str:
    """Lines to stand in front of it: names that a host's headers define, and the number of its first line."""
    defined = [
        f"#define {name} {value}"
        for name, value in _OF_HOST_HEADERS
        if re.search(rf"\b{name}\b", text) and not re.search(rf"#\s*define\s+{name}\b", text)
    ]
    # cuBLAS' headers, which a device cannot read, include these.
    types = (("bf16", "bfloat16"), ("fp16", "half"))
    included = [
        f"#include <cuda_{short}.h>" for short, name in types if re.search(rf"__(?:nv_)?{name}", text)
    ]
    return "\n".join([*included, _TYPES_OF_HOST, *defined, "#line 1", ""])


def with_headers(text: str, path: Path, seen: set[Path] | None = None) -> str:
    """With the user's own headers in the place of their includes, each once: parts of them are a host's."""
    seen = set() if seen is None else seen
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _OWN_INCLUDE.match(line)
        header = path.parent / match[1] if match else path
        if match is None or not header.is_file():
            lines.append(line)
            continue
        if header.resolve() not in seen:
            seen.add(header.resolve())
            inner = with_headers(header.read_text(errors="replace"), header, seen)
            lines += [f'#line 1 "{header.name}"', inner]
        lines.append(f'#line {number + 1} "{path.name}"')
    return "\n".join(lines) + "\n"


def device_text(source: str, folders: Sequence[Path]) -> str:
    """Without what only a host has and without headers that are in none of these folders."""

    def keep(match: re.Match[str]) -> str:
        name = match[1].strip()
        is_known = not _HOST_ONLY.fullmatch(name) and any((folder / name).is_file() for folder in folders)
        return match[0] if is_known else ""

    text = _OF_STD.sub("", _INCLUDE.sub(keep, source))
    blanked = list(text)
    for start, end in _host_parts(text):
        for place in range(start, end):
            if blanked[place] != "\n":
                blanked[place] = " "
    return "".join(blanked)


def _host_parts(text: str) -> Iterator[tuple[int, int]]:
    """Where functions and variables at the file's level begin and end that no device has."""
    plain = without_comments(text)
    plain = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), plain)
    start, place = 0, 0
    while place < len(plain):
        sign = plain[place]
        if sign == ";":
            statement = plain[start:place]
            if statement.strip() and not _KEPT.search(statement):
                yield start + len(statement) - len(statement.lstrip()), place + 1
            start = place + 1
        elif sign == "(":
            place = closing(plain, place)
        elif sign == "}":  # of a namespace
            start = place + 1
        elif sign == "{":
            header = plain[start:place]
            if _BLOCK.match(header):
                start = place = place + 1
                continue
            end = closing(plain, place, "{}")
            start += len(header) - len(header.lstrip())  # directives in front of it stay
            if "(" in header and not _ON_DEVICE.search(header) and not _NO_FUNCTION.match(header):
                yield start, min(end + 1, len(plain))
            place, start = end, end + 1
        place += 1

"""What compilers made of an implementation: code that a run kept because the user asked for it.

It comes from a process that runs foreign code, so it is text and nothing else, and bounded.
"""

import zlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation

MOST_BYTES = 2 << 20  # of one text
MOST_TEXTS = 96  # of an implementation: five stages of 16 kernels, and Inductor's
_MOST_TOGETHER = 16 << 20  # bytes of all of them, as JSON
_MOST_UNPACKED = 17 << 20
_LONGEST_NAME = 200
_CUT = "\n[cut here: the compiler wrote more than a session keeps]\n"
_LEFT_OUT = "[left out, with what follows: the compiler made more code than a session keeps]\n"


class CodeKind(StrEnum):
    """In the order in which compilers make them."""

    INDUCTOR = "inductor"
    TTIR = "ttir"
    TTGIR = "ttgir"
    LLIR = "llir"
    PTX = "ptx"
    SASS = "sass"


class Code(Struct, frozen=True):
    """One text. ``name`` is the kernel's, or the file's that has several."""

    kind: CodeKind
    name: str
    text: str


# One more than are kept: the last says what was left out.
_Codes: Any = Annotated[tuple[Code, ...], Meta(max_length=MOST_TEXTS + 1)]


class CodeInfo(Struct, frozen=True):
    """Generated code in a session; the texts stay in the file until asked for."""

    number: int
    job: Job
    implementation: Implementation
    recorded_at: str
    byte_count: int  # packed


class CodeError(Exception):
    """Stored code cannot be read; the text is one sentence for the user."""


def bounded(codes: Iterable[Code]) -> tuple[Code, ...]:
    """What a session keeps of these: each cut to its bound with a word, and no more than fit together.

    The first that does not fit stands there by its name.
    """
    found: list[Code] = []
    left = _MOST_TOGETHER
    for code in codes:
        content = code.text.encode("utf-8", "replace")
        if len(content) > MOST_BYTES:
            content = content[:MOST_BYTES] + _CUT.encode()
        name = code.name.encode("utf-8", "replace").decode()[:_LONGEST_NAME]
        kept = Code(code.kind, name, content.decode("utf-8", "ignore"))
        left -= len(msgspec.json.encode(kept))  # a hostile text is six times as long there
        if left < 0 or len(found) == MOST_TEXTS:
            found.append(Code(code.kind, name, _LEFT_OUT))
            break
        found.append(kept)
    return tuple(found)


def pack(codes: Iterable[Code]) -> bytes:
    """As a session stores them: JSON, gzipped."""
    packer = zlib.compressobj(6, wbits=31)
    return packer.compress(msgspec.json.encode(bounded(codes))) + packer.flush()


def unpack(codes_json_gz: bytes) -> tuple[Code, ...]:
    """Raises CodeError where it is no such thing, or longer than any that was packed."""
    try:
        content = zlib.decompressobj(wbits=31).decompress(codes_json_gz, _MOST_UNPACKED + 1)
    except (zlib.error, TypeError) as error:  # SQLite's column holds whatever was put into it
        raise CodeError(f"The generated code is no gzip file ({error}); measure the point again.") from error
    if len(content) > _MOST_UNPACKED:
        raise CodeError("The generated code unpacks to more than a session keeps; measure the point again.")
    try:
        return decode(content, _Codes, most_bytes=_MOST_UNPACKED)
    except UnreadableError as error:
        raise CodeError(f"The generated code cannot be read ({error}); measure the point again.") from error

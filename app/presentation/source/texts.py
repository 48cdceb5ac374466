"""Texts that stand behind a point: its files, in the order in which a reader wants them."""

from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.plain_text import one_line, visible
from roofscope.profiling.results.session import Point, Session

MOST_CHARACTERS = 4 << 20  # of a text that is shown; a session may hold more of a hostile file
_CUT = "\n[cut here: the text is longer than what is shown]\n"


class Language(StrEnum):
    """What a text is written in, by which it is highlighted."""

    PYTHON = "Python"
    CUDA = "CUDA C++"
    CPP = "C++"
    PTX = "PTX"
    SASS = "SASS"
    MLIR = "MLIR"
    LLVM = "LLVM IR"
    INDUCTOR = "Inductor"  # Python, with kernels in C++ or Triton as its strings
    TEXT = "text"


_BY_SUFFIX = {
    "py": Language.PYTHON,
    "cu": Language.CUDA,
    "cuh": Language.CUDA,
    "cpp": Language.CPP,
    "h": Language.CPP,
    "ptx": Language.PTX,
    "sass": Language.SASS,
}


class SourceText(Struct, frozen=True):
    """A text with its name; nothing in it acts on what shows it."""

    name: str
    text: str
    language: Language

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


def shown_text(name: str, text: str, language: Language | None = None) -> SourceText:
    """The text as it may be shown: bounded, and without characters that act."""
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + _CUT
    plain = visible(cut).removesuffix("\n").expandtabs(4)
    suffix = name.rpartition(".")[2].lower()
    return SourceText(one_line(name), plain, language or _BY_SUFFIX.get(suffix, Language.TEXT))


def files_of(session: Session, point: Point) -> tuple[SourceText, ...]:
    """The files of a point's implementation as they were when it was planned; empty where none were kept.

    Of CUDA the kernel comes before its launcher.
    """
    files = session.sources.get(point.implementation.source_hash, ())
    found = (shown_text(file.name, file.text) for file in files)
    return tuple(sorted(found, key=lambda text: (text.language is Language.PYTHON, text.name)))


def why_no_files(session: Session, point: Point) -> str:
    """Why a point has no source to show; "" where it has."""
    if session.sources.get(point.implementation.source_hash):
        return ""
    return f"This session did not keep the files of {point.implementation.title}."


def file_names(point: Point) -> tuple[str, ...]:
    """What the files of an implementation are called in its kernel's folder."""
    return point.implementation.provider.file_names(point.implementation.stem)

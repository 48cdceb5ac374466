"""What an implementation's author says of it: the docstring or head comment of its files, in parts."""

import ast
import re
from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.source.texts import Language, SourceText

_LABEL = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?):\s+(?=\S)")
_FIRST = ("Lesson", "Idea", "Mapping", "Formula")  # as a reader wants them; other labels come after
_MOST_HEAD_LINES = 200


class Lesson(Struct, frozen=True):
    """The summary, and what stands under a label such as Idea."""

    summary: str = ""
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.summary or self.parts)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The Lesson before all else, where there is one."""
        labelled = [f"{name}: {text}" for name, text in self.parts]
        if self.parts and self.parts[0][0] == "Lesson":
            return (labelled[0], *([self.summary] if self.summary else ()), *labelled[1:])
        return (*([self.summary] if self.summary else ()), *labelled)


def lesson_of(files: Sequence[SourceText]) -> Lesson:
    """Of the first file that says something of itself."""
    return next((found for file in files if not (found := _of_file(file)).is_empty), Lesson())


def _of_file(file: SourceText) -> Lesson:
    if file.language is Language.PYTHON:
        return _parsed(_docstring(file.text))
    if file.language in (Language.CUDA, Language.CPP):
        return _parsed(_head_comment(file.lines))
    return Lesson()


def _docstring(text: str) -> str:
    try:
        return ast.get_docstring(ast.parse(text)) or ""
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # a file that does not compile is shown, too
        return _docstring_by_eye(text)


def _docstring_by_eye(text: str) -> str:
    match = re.match(r'\s*(?:#[^\n]*\n\s*)*[rR]?("""|\'\'\')(.*?)\1', text[: 1 << 16], re.DOTALL)
    return match.group(2) if match else ""


def _head_comment(lines: Sequence[str]) -> str:
    """The comment that a file begins with, of either kind, without its marks."""
    found: list[str] = []
    is_block = False
    for line in lines[:_MOST_HEAD_LINES]:
        bare = line.strip()
        if not found and not bare:
            continue
        if bare.startswith("//"):
            found.append(line.strip()[2:].removeprefix(" "))
        elif is_block or bare.startswith("/*"):
            is_block = "*/" not in bare
            found.append(bare.removeprefix("/*").split("*/")[0].removeprefix("*").removeprefix(" "))
        else:
            break
    return "\n".join(found)


def _parsed(text: str) -> Lesson:
    summary: list[str] = []
    parts: list[tuple[str, list[str]]] = []
    for line in text.strip().split("\n"):
        if match := _LABEL.match(line):
            parts.append((match.group(1), [line[match.end() :]]))
        else:
            (parts[-1][1] if parts and line.strip() else summary).append(line)
    labelled = [(name, _joined(lines)) for name, lines in parts]
    labelled.sort(key=lambda part: _FIRST.index(part[0]) if part[0] in _FIRST else len(_FIRST))
    return Lesson(_joined(summary), tuple(labelled))


def _joined(lines: Sequence[str]) -> str:
    """Lines that were broken for a file's width, as one."""
    return re.sub(r"\s+", " ", " ".join(lines)).strip()

"""What the words of a text are, by Pygments, which is imported when a text is first highlighted."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from roofscope.app.presentation.source.texts import Language, SourceText
from roofscope.app.presentation.tokens import Theme

MOST_LINES = 20_000  # that are highlighted; what follows is plain
_LONGEST_LINE = 2_000  # of a text whose lines are longer, none is highlighted: patterns may take seconds


class Word(StrEnum):
    """Kinds of words that have a colour of their own."""

    COMMENT = "comment"
    KEYWORD = "keyword"
    STRING = "string"
    NUMBER = "number"
    FUNCTION = "function"
    TYPE = "type"
    META = "meta"  # decorators, directives, the preprocessor


class CodeColours(Struct, frozen=True):
    """By kind of word, and the grounds of lines that differ; words have 4.5:1 on each of these grounds."""

    words: dict[Word, str]
    removed: str
    removed_mark: str
    added: str
    added_mark: str
    failing: str


_LIGHT = CodeColours(
    words={
        Word.COMMENT: "#566070",
        Word.KEYWORD: "#6f2da8",
        Word.STRING: "#1f6032",
        Word.NUMBER: "#8a3b00",
        Word.FUNCTION: "#124fa8",
        Word.TYPE: "#0a5a66",
        Word.META: "#7a4a00",
    },
    removed="#fdecea",
    removed_mark="#f8d0cb",
    added="#e8f5ec",
    added_mark="#c4e6cf",
    failing="#fbe3b5",
)
_DARK = CodeColours(
    words={
        Word.COMMENT: "#b0b8c4",
        Word.KEYWORD: "#c9a5f5",
        Word.STRING: "#8fd3a0",
        Word.NUMBER: "#f0b583",
        Word.FUNCTION: "#8cbcff",
        Word.TYPE: "#7fd1dc",
        Word.META: "#e2c178",
    },
    removed="#3b2426",
    removed_mark="#5a2f31",
    added="#1f3428",
    added_mark="#2a4b36",
    failing="#4a3a14",
)


def code_colours(theme: Theme) -> CodeColours:
    return _DARK if theme.is_dark else _LIGHT


Run = tuple[int, int, Word]  # first character of the line, how many, what they are

_TYPES = re.compile(
    r"(?:unsigned|signed|bool|char|short|int|long|float|double|void|half|__half2?|__nv_bfloat16(?:162)?|"
    r"(?:u?int|float)\d*(?:_t)?|SCALAR|tensor|memdesc)$"
)
_SASS = re.compile(
    r"(?P<comment>/\*.*?\*/|//.*)|(?P<meta>^\s*\.\w+\S*|^\s*[.$\w]+:|@!?U?P[\dT]+)"
    r"|(?P<keyword>\b(?<![.\w])[A-Z][A-Z0-9]{1,}(?:\.[A-Z0-9_.x]+)*(?=\s|;))"
    r"|(?P<number>\b0x[0-9a-f]+\b|(?<![\w.])-?\d+(?:\.\d+)?\b)|(?P<type>\bU?[RP](?:\d+|Z|T)\b)"
)


_WITHIN = re.compile(r"async_compile\.\w+\([^\n]*'''(?P<inner>\n.*?\n)'''", re.DOTALL)


def highlighted(source: SourceText) -> tuple[tuple[Run, ...], ...]:
    """By line, its words. Takes a second for 10,000 lines: not for the window's thread."""
    lines = source.lines
    if source.language is Language.TEXT or any(len(line) > _LONGEST_LINE for line in lines):
        return tuple(() for _ in lines)
    if source.language is Language.SASS:
        found = [_of_sass(line) for line in lines[:MOST_LINES]]
    else:
        text = "\n".join((*lines[:MOST_LINES], ""))
        found = _of_pygments(text, source.language)[:-1]
        if source.language is Language.INDUCTOR:
            _highlight_within(text, found)
    return tuple(found) + tuple(() for _ in lines[len(found) :])


def _highlight_within(text: str, found: list[tuple[Run, ...]]) -> None:
    """Kernels that Inductor writes as strings of its Python get the colours of their own language."""
    for match in _WITHIN.finditer(text):
        inner = match.group("inner")
        language = Language.CPP if "#include" in inner[:2000] else Language.PYTHON
        first = text.count("\n", 0, match.start("inner"))
        runs = _of_pygments(inner, language)
        found[first + 1 : first + len(runs) - 1] = runs[1:-1]


def _of_sass(line: str) -> tuple[Run, ...]:
    """Pygments has no lexer for machine code."""
    return tuple(
        (match.start(), match.end() - match.start(), Word(match.lastgroup))
        for match in _SASS.finditer(line)
        if match.lastgroup
    )


def _of_pygments(text: str, language: Language) -> list[tuple[Run, ...]]:
    runs: list[list[Run]] = [[] for _ in range(text.count("\n") + 1)]
    line, column = 0, 0
    for kind, value in _tokens(text, language):
        for number, piece in enumerate(value.split("\n")):
            if number:
                line, column = line + 1, 0
            if kind and piece and line < len(runs):
                runs[line].append((column, len(piece), kind))
            column += len(piece)
    return [tuple(each) for each in runs]


def _tokens(text: str, language: Language) -> Iterator[tuple[Word | None, str]]:
    from pygments import token as kinds

    by_type: dict[Any, Word | None] = {
        kinds.Comment.Preproc: Word.META,
        kinds.Comment.PreprocFile: Word.STRING,
        kinds.Comment: Word.COMMENT,
        kinds.Keyword.Type: Word.TYPE,
        kinds.Keyword.Constant: Word.NUMBER,
        kinds.Keyword: Word.KEYWORD,
        kinds.String: Word.STRING,
        kinds.Number: Word.NUMBER,
        kinds.Name.Function: Word.FUNCTION,
        kinds.Name.Class: Word.TYPE,
        kinds.Name.Decorator: Word.META,
        kinds.Name.Label: Word.META,
        kinds.Name.Builtin: Word.TYPE,
        kinds.Name.Variable: None,
        kinds.Operator.Word: Word.KEYWORD,
    }
    known: dict[Any, Word | None] = {}
    for _, kind, value in _lexer(language).get_tokens_unprocessed(text):
        if kind not in known:
            up = kind
            while up is not None and up not in by_type:
                up = up.parent
            known[kind] = by_type.get(up)
        word = known[kind]
        if word is None and _TYPES.match(value):
            word = Word.TYPE
        yield word, value


def _lexer(language: Language) -> Any:
    from pygments.lexers import get_lexer_by_name

    names = {
        Language.PYTHON: "python",
        Language.INDUCTOR: "python",
        Language.CUDA: "cuda",
        Language.CPP: "cpp",
        Language.PTX: "ptx",
        Language.MLIR: "mlir",
        Language.LLVM: "llvm",
    }
    return get_lexer_by_name(names[language])

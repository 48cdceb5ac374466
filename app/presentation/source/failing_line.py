"""The line of a user's file that a failure's log names."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from roofscope.app.presentation.source.texts import SourceText
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.outcome import Failed, Outcome

_MOST_LOG = 1 << 20  # characters that are searched
_LONGEST_WORDS = 400

# Python: File "/home/u/eager.py", line 8, in run
_PYTHON = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,7})')
# nvcc and NVRTC: cuda_naive.cu(12): error: ...; gcc and clang: cuda_naive.cu:12:5: error: ...
_COMPILER = re.compile(
    r"^([^\s(:][^\n(:]{0,1000})(?:\((\d{1,7})\)|:(\d{1,7})(?::\d{1,7})?): "
    r"(?:fatal |catastrophic )?error:? ?([^\n]*)",
    re.MULTILINE,
)
# Triton counts from the kernel's own first line and quotes the source from there: at 8:12:
_TRITON = re.compile(r"\bat (\d{1,7}):\d{1,7}:\n[ \t]*(?:@[^\n]*\n[ \t]*)*def (\w+)\(")
_UNNAMED = "default_program"  # as NVRTC calls a source that came without a name


class FailingLine(Struct, frozen=True):
    """``line`` counts from 1. ``words``: what the compiler says of it; "" where it says nothing."""

    name: str
    line: int
    words: str = ""


def failing_line(outcome: Outcome, files: Sequence[SourceText]) -> FailingLine | None:
    """The line that a failure is said to be at, in one of these files; of a traceback the innermost."""
    if not isinstance(outcome, Failed):
        return None
    log = f"{outcome.message}\n{outcome.log[-_MOST_LOG:]}"
    for found in (*_of_compilers(log, files), *_of_triton(log, files), *reversed([*_of_python(log, files)])):
        file = next(file for file in files if file.name == found.name)
        if 1 <= found.line <= len(file.lines):
            return found
    return None


def _of_compilers(log: str, files: Sequence[SourceText]) -> Iterator[FailingLine]:
    sources = [file.name for file in files if file.name.endswith((".cu", ".cuh"))]
    for path, bracketed, plain, words in _COMPILER.findall(log):
        name = _base(path)
        if name == _UNNAMED and len(sources) == 1:
            name = sources[0]
        if name in [file.name for file in files]:
            yield FailingLine(name, int(bracketed or plain), one_line(words)[:_LONGEST_WORDS])


def _of_triton(log: str, files: Sequence[SourceText]) -> Iterator[FailingLine]:
    for line, function in _TRITON.findall(log):
        for file in files:
            starts = [
                at
                for at, text in enumerate(file.lines, 1)
                if re.match(rf"\s*def {re.escape(function)}\(", text)
            ]
            if starts:
                yield FailingLine(file.name, starts[0] + int(line) - 1, _last_words(log))


def _of_python(log: str, files: Sequence[SourceText]) -> Iterator[FailingLine]:
    names = {file.name for file in files}
    for path, line in _PYTHON.findall(log):
        if _base(path) in names:
            yield FailingLine(_base(path), int(line), _last_words(log))


def _last_words(log: str) -> str:
    """A traceback ends with the error itself."""
    lines = [line for line in log.splitlines() if line.strip()]
    return one_line(lines[-1])[:_LONGEST_WORDS] if lines else ""


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].strip()

"""What a debug run has of one implementation, as the rules read it."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.debugging import Compared, Launched, Line, Overflow, Raised, Seen

Kind = TypeVar("Kind")


class Case:
    """``sources`` are the texts of the implementation's own files, by their paths."""

    def __init__(
        self, implementation: Implementation, seen: Sequence[Seen], sources: Mapping[str, str]
    ) -> None:
        self.implementation = implementation
        self.sources = sources
        self._seen = seen

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [one for one in self._seen if isinstance(one, kind)]

    @property
    def outputs(self) -> list[Compared]:
        return self.all(Compared)

    @property
    def wrong(self) -> list[Compared]:
        return [one for one in self.outputs if not one.is_right]

    @property
    def has_failed(self) -> bool:
        return bool(self.all(Raised))

    @property
    def last_launch(self) -> Launched | None:
        return next(iter(reversed(self.all(Launched))), None)

    def overflows(self, kernel: str) -> bool:
        return any(one.kernel == kernel for one in self.all(Overflow))

    def line(self, file: str, number: int) -> Line:
        """A line by the file's path or name; with no code where the file is none of the implementation's."""
        name = file.replace("\\", "/").rpartition("/")[2]
        for path, text in self.sources.items():
            if path.rpartition("/")[2] == name:
                lines = text.splitlines()
                return Line(path, number, lines[number - 1].strip() if 0 < number <= len(lines) else "")
        return Line(file, number)

    def first_line(self, pattern: re.Pattern[str]) -> Line | None:
        """The first line of code that has this in it."""
        for path, text in self.sources.items():
            for number, line in enumerate(_without_comments(path, text).splitlines(), 1):
                if pattern.search(line):
                    return self.line(path, number)
        return None


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def program_text(program: tuple[int, ...]) -> str:
    """``program 3``, or ``program (1, 2, 0)`` of a grid with several dimensions."""
    if len(program) > 1 and any(program[1:]):
        return f"program ({', '.join(map(str, program))})"
    return f"program {program[0] if program else 0}"


def grid_text(grid: tuple[int, ...]) -> str:
    used = list(grid)
    while len(used) > 1 and used[-1] == 1:
        used.pop()
    return " x ".join(map(str, used))


def _without_comments(path: str, text: str) -> str:
    """As many lines; only what is surely none is left out."""
    if path.endswith(".py"):
        text = _without_docstrings(text)
        return re.sub(r"#[^\n\"']*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _without_docstrings(text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.splitlines()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    lines[number - 1] = ""
            case _:
                pass
    return "\n".join(lines)

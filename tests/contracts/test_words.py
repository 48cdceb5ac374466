"""One vocabulary: comments, docstrings and Markdown use the words of the glossary in CONTRIBUTING.md."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "benchmarks", "docs", "kernels", "profiling", "tests")
FILES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "__init__.py", "main.py")
LEFT_OUT = ("tests/contracts/test_words.py",)  # it names the words

INSTEAD = {
    r"\brivals?\b": "implementations of the job",
    r"\bcontend(?:s|ers?|ing)?\b": "candidate, implementation",
    r"\bblam(?:e|es|ed|ing)\b": "what failed, and why",
    r"\bgarbage\b(?! collect)": "objects that are no longer referenced",
    r"\bpass_lines\b": "selftest_limits",
    r"\bbench\b": "testbed",
    r"\btold\b": "reported, shown, said",
    r"\bwho(?:m|so)?ever\b": "what, a program that, a user who",
    r"\banew\b": "again",
    r"\bfor ever\b": "without end, never",
    r"\blook(?:s|ed|ing)? on\b": "observe",
}
PATTERNS = {re.compile(word, re.IGNORECASE): instead for word, instead in INSTEAD.items()}
ANY = re.compile("|".join(INSTEAD), re.IGNORECASE)


def prose_of_python(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield from enumerate(text.splitlines(), node.body[0].lineno)


def prose_of_cuda(source: str) -> Iterator[tuple[int, str]]:
    for comment in re.finditer(r"//[^\n]*|/\*.*?\*/", source, re.DOTALL):
        yield from enumerate(comment[0].splitlines(), source.count("\n", 0, comment.start()) + 1)


def prose_of_markdown(source: str) -> Iterator[tuple[int, str]]:
    yield from enumerate(source.splitlines(), 1)


PROSE = {
    ".py": prose_of_python,
    ".cu": prose_of_cuda,
    ".cuh": prose_of_cuda,
    ".md": prose_of_markdown,
}


def findings(name: str, source: str) -> list[str]:
    """One line for each banned word: where it is, and what to say instead."""
    if not ANY.search(source):  # few files have such a word even in their code: the others need no parsing
        return []
    found: list[tuple[int, str, str]] = []
    for number, line in PROSE[Path(name).suffix](source):
        found += [(number, match[0], say) for word, say in PATTERNS.items() for match in word.finditer(line)]
    return [f"{name}:{number}: {word!r}; say: {say}" for number, word, say in sorted(found)]


def files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in PROSE)
    yield from (ROOT / name for name in FILES)


def is_left_out(name: str) -> bool:
    return any(name == left_out or name.startswith(f"{left_out}/") for left_out in LEFT_OUT)


def test_comments_and_documents_use_the_words_of_the_glossary() -> None:
    found: list[str] = []
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if not is_left_out(name):
            found += findings(name, path.read_text(encoding="utf-8"))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize("name", [*FOLDERS, *FILES, *LEFT_OUT])
def test_what_is_read_or_left_out_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize(
    ("name", "source", "lines"),
    [
        ("a.py", '"""Good.\n\nMeasured anew.\n"""\n', [3]),
        ("a.py", 'def run():\n    """Of rivals."""\n    told = 1  # not told\n', [2, 3]),
        ("a.py", 'rivals = "whoever looks on"\n', []),
        ("a.cu", "int rival;  // a Rival\n/* one\n   for ever */\n", [1, 3]),
        ("a.md", "# Words\n\nThe worker is blamed.\n", [3]),
        ("a.py", "# Python's garbage collector is not garbage; benchmarks bench nothing\n", [1, 1]),
    ],
)
def test_a_word_is_found_in_prose_only(name: str, source: str, lines: list[int]) -> None:
    assert [int(line.split(":")[1]) for line in findings(name, source)] == lines

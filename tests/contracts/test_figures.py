"""A comment of a kernel gives reasons; measured times, which go stale, are in docs/choices.md."""

import re
from pathlib import Path

import pytest

from roofscope.tests.contracts.test_words import PROSE, ROOT

# A time, a rate, or how many per cent faster or slower.
FIGURE = re.compile(
    r"\d ?(us|µs|ms|[GT]B/s|TFLOP/s)\b|\d ?% (less|more|faster|slower|off|of the time|at|on)\b"
)
KERNELS = ROOT / "kernels"


def figures(name: str, source: str) -> list[str]:
    lines = PROSE[Path(name).suffix](source)
    return [f"{name}:{number}: {line.strip()}" for number, line in lines if FIGURE.search(line)]


def test_comments_of_kernels_hold_no_measured_figures() -> None:
    found: list[str] = []
    for path in sorted(KERNELS.rglob("*")):
        if path.suffix in (".py", ".cu", ".cuh"):
            found += figures(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_files_that_the_document_names_exist() -> None:
    text = (ROOT / "docs" / "choices.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_0-9]+/[a-z_0-9]+\.\w+)`", text)
    assert named
    assert [name for name in named if not (KERNELS / name).exists()] == []


@pytest.mark.parametrize(
    ("name", "source", "lines"),
    [
        ("a.cu", "int x = 3;  // 1.9 us instead of 2.5\n// 4.2 TB/s\n", [1, 2]),
        ("a.cu", '// 16 bytes a thread\nasm("mov.u32 %0");\n', []),
        ("a.py", '"""Sums.\n\nTakes 5 % less time.\n"""\nLIMIT_US = "3 us"\n', [3]),
    ],
)
def test_a_figure_is_found_in_comments_only(name: str, source: str, lines: list[int]) -> None:
    assert [int(line.split(":")[1]) for line in figures(name, source)] == lines

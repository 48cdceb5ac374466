"""Each version of a kernel says what a student must know of it, and what the step before it lacks."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from roofscope.tests.contracts.test_words import PROSE, ROOT

KERNELS = ROOT / "kernels"
FOLDERS = sorted(path.parent for path in KERNELS.glob("*/spec.py"))
SHARED = KERNELS / "shared"
# Of those that compute by themselves; eager ones and libraries call others.
VERSION = re.compile(r"(?:cuda|triton|cute)_[a-z0-9_]+")
ANOTHER = re.compile(r"(?:\w+/)?(?:cuda|triton|cute)_[a-z0-9_]+")
TEXTBOOK = re.compile(r"naive|textbook")
PARTS = ("Formula:", "Mapping:", "Idea:")
ELSEWHERE = re.compile(r"^Formula, mapping and idea: shared/(\w+\.py)", re.MULTILINE)
A_FILE = re.compile(r"(?<![\w/.])(?:([a-z][a-z0-9_]*)/)?([a-z][a-z0-9_]*)(\.(?:cuh|cu|py))?\b")


def versions(folder: Path) -> list[Path]:
    """The files with their doc comments: of a CUDA pair the source."""
    paths = (path for path in folder.iterdir() if VERSION.fullmatch(path.stem))
    return sorted(path for path in paths if not path.with_suffix(".cu").exists() or path.suffix == ".cu")


def doc_comment(path: Path) -> str:
    """What stands at the top of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    lines = itertools.takewhile(lambda line: line.startswith("//"), text.splitlines())
    return "\n".join(line.removeprefix("//").strip() for line in lines)


EACH = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


@EACH
def test_each_version_has_its_formula_mapping_and_idea(folder: Path) -> None:
    for path in versions(folder):
        text = doc_comment(path)
        if elsewhere := ELSEWHERE.search(text):
            text = doc_comment(SHARED / elsewhere[1])
        assert [part for part in PARTS if f"\n{part} " not in text] == [], path.name


@EACH
def test_a_textbook_version_says_what_is_to_be_learned_from_it(folder: Path) -> None:
    for path in versions(folder):
        if TEXTBOOK.search(path.stem):
            assert "\nLesson: " in doc_comment(path), path.name


@EACH
def test_a_version_after_the_textbooks_names_what_it_goes_on_from(folder: Path) -> None:
    """Another version, of this kernel or of one before, or the shared code that says so."""
    every = versions(folder)
    if any(TEXTBOOK.search(path.stem) for path in every):
        for path in every:
            text = doc_comment(path)
            others = set(ANOTHER.findall(text)) - {path.stem}
            is_first = TEXTBOOK.search(path.stem)
            assert is_first or others or "shared/" in text, f"{path.name}: its Idea names no step before it"


def named(path: Path) -> Iterator[tuple[str, str]]:
    """The files that the comments of a file name: their folder and stem."""
    for _, line in PROSE[path.suffix](path.read_text(encoding="utf-8")):
        for folder, stem, suffix in A_FILE.findall(line):
            if (KERNELS / folder).is_dir() if folder else suffix or VERSION.fullmatch(stem):
                yield folder, stem


def test_versions_and_files_that_comments_name_exist() -> None:
    """Of shared code a version of any kernel, for there it is that of each that uses it."""
    known = {
        (path.parent.name, path.stem) for path in KERNELS.glob("*/*") if path.suffix in (".py", ".cu", ".cuh")
    }
    stems = {stem for _, stem in known}
    missing: list[str] = []
    for path in sorted(KERNELS.rglob("*.*")):
        for folder, stem in named(path) if path.suffix in (".py", ".cu", ".cuh") else ():
            own = folder or path.parent.name
            is_known = (own, stem) in known or (not folder and ("shared", stem) in known)
            if not is_known and not (path.parent == SHARED and not folder and stem in stems):
                missing.append(f"{path.parent.name}/{path.name}: {folder}/{stem}")
    assert missing == []


def test_each_kernel_stands_on_the_ladder_once() -> None:
    text = (KERNELS / "README.md").read_text(encoding="utf-8")
    steps = re.findall(r"^- \[(\w+)\]\((\w+)\):", text, re.MULTILINE)
    assert sorted(steps) == [(folder.name, folder.name) for folder in FOLDERS]


def test_the_families_of_the_ladder_name_versions_that_there_are() -> None:
    text = (KERNELS / "README.md").read_text(encoding="utf-8")
    table = text.partition("\n| family |")[2].partition("\n\n")[0]
    mentioned = set(re.findall(r"`(\w+)`", table))
    assert len(mentioned) > 20
    here = {path.stem for folder in FOLDERS for path in folder.iterdir()} | {
        folder.name for folder in FOLDERS
    }
    assert mentioned - here == set()

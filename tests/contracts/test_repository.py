"""What the repository holds, and what it must never hold."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.providers import Provider

ROOT = Path(__file__).parents[2]

TOP_LEVEL = {
    *(
        ".ci",
        ".clang-format",
        ".gitignore",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
    ),
    *(
        "__init__.py",
        "app",
        "assets",
        "benchmarks",
        "docs",
        "kernels",
        "main.py",
        "profiling",
        "py.typed",
        "pyproject.toml",
        "tests",
    ),
}

# Where packages come from is the own setting of each machine, never ours. Written so as not to match itself.
ADDRESSES = re.compile(
    r"(index[-_]url|find[-_]links|tool\.uv\.(index|sources)"
    r"|pypi[.]org|pythonhosted[.]org|download[.]pytorch[.]org|pypi[.]nvidia[.]com"
    r"|registry[.]npmjs|deb[.]debian[.]org|archive[.]ubuntu[.]com|https?://[^\s\"'<>]*/simple\b)"
)


@pytest.fixture(scope="module")
def committed() -> list[Path]:
    """Every file that git tracks."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def test_the_top_level_is_as_agreed(committed: list[Path]) -> None:
    assert {path.relative_to(ROOT).parts[0] for path in committed} <= TOP_LEVEL


def test_no_lock_file_is_committed(committed: list[Path]) -> None:
    """A lock names the index it was made with; the bounds in pyproject.toml are what we promise."""
    assert [path for path in committed if path.name == "uv.lock"] == []


def test_no_file_names_a_package_index(committed: list[Path]) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in committed
        if path != Path(__file__) and path.is_file()
        for match in ADDRESSES.finditer(path.read_bytes().decode(errors="replace"))
    ]
    assert found == []


def test_the_architecture_draws_every_module_of_the_engine_in_its_folder() -> None:
    """One line a folder: its name, then its modules. Proofs of the self-test are one module each, and so are
    providers: what those are, ``profiling/providers.py`` says.
    """
    drawn = _drawn((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    for folder in sorted({path.parent for path in (ROOT / "profiling").rglob("*.py")} - {ROOT / "profiling"}):
        if folder.name in ("selftest", "providers"):
            continue
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        modules -= {f"{provider}_compiled" for provider in Provider}
        assert modules <= drawn[folder.name], f"{folder.name}: {modules - drawn[folder.name]}"


def _drawn(text: str) -> dict[str, set[str]]:
    """The words in the line of each folder, by the folder's name."""
    found: dict[str, set[str]] = {}
    last = ""
    for line in text.splitlines():
        _, *parts = re.split(r"(\w+)/\s", line)
        for name, modules in zip(parts[::2], parts[1::2], strict=True):
            last = name
            found.setdefault(name, set(re.findall(r"\w+", modules)))  # the engine stands first
        if not parts and last in found and line.startswith("   "):  # the line before goes on
            found[last] |= set(re.findall(r"\w+", line))
    return found

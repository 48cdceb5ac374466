"""Who may import whom: by the source (import-linter) and by what a fresh interpreter really loads."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roofscope.tests.children import python

ROOT = Path(__file__).parents[2]

WINDOW = ["PySide6", "shiboken6", "pyqtgraph", "roofscope.app"]
ENGINES = ["torch", "triton", "cuda", "roofscope.profiling.worker"]

IMPORT = """
import importlib, sys

names, unwanted = sys.argv[1].split(), sys.argv[2].split()
for name in names:
    importlib.import_module(name)
    loaded = [module for module in unwanted if module in sys.modules]
    if loaded:
        sys.exit(f"importing {name} loads {', '.join(loaded)}")
"""


def modules(pattern: str, without: str = "-") -> list[str]:
    """Names of the modules whose files match; pkgutil would import the packages that are left out."""
    paths = sorted(path.relative_to(ROOT) for path in ROOT.glob(pattern) if path.stem != "__main__")
    names = [".".join(("roofscope", *path.with_suffix("").parts)).removesuffix(".__init__") for path in paths]
    return [name for name in names if not f"{name}.".startswith(f"{without}.")]


def test_import_contracts_hold() -> None:
    """The contracts are in pyproject.toml, under tool.importlinter."""
    command = python("from importlinter.cli import lint_imports_command as lint; lint()")
    result = subprocess.run(
        [*command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.fail(result.stdout + result.stderr, pytrace=False)


@pytest.mark.parametrize(
    ("names", "unwanted"),
    [
        (modules("app/**/*.py"), ENGINES),
        (modules("profiling/**/*.py", without="roofscope.profiling.worker"), ENGINES + WINDOW),
        (modules("kernels/*/spec.py"), ENGINES + WINDOW),
        (
            ["roofscope.main", *modules("app/cli/**/*.py"), *modules("app/presentation/**/*.py")],
            ENGINES + WINDOW[:-1],
        ),
        (["roofscope"], [*ENGINES, *WINDOW, "numpy", "pandas", "msgspec", "typer"]),
    ],
    ids=["app", "profiling", "specs", "no-qt", "door"],
)
def test_a_fresh_interpreter_does_not_load(names: list[str], unwanted: list[str]) -> None:
    assert names
    result = subprocess.run(
        [*python(IMPORT), " ".join(names), " ".join(unwanted)],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        pytest.fail(result.stderr, pytrace=False)


HELP = """
import sys

sys.argv = ["roofscope", "--help"]
import roofscope.main

try:
    roofscope.main.main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
unwanted = ("numpy", "pandas", "msgspec", "psutil", "rich.console", "importlib.metadata", "pynvml")
loaded = [name for name in (*unwanted, "roofscope.profiling") if name in sys.modules]
if loaded:
    sys.exit(f"--help loads {', '.join(loaded)}")
"""


def test_help_loads_nothing_that_measures_or_draws() -> None:
    """What a command needs is loaded when it is called; a user who asks for help must not wait for it."""
    result = subprocess.run(python(HELP), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.fail(result.stderr, pytrace=False)
    assert "Usage: roofscope [OPTIONS] COMMAND" in result.stdout


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_kernels_enter_by_the_door() -> None:
    """By reading, because import-linter sees packages only and a kernel's folder is none."""
    paths = sorted((ROOT / "kernels").rglob("*.py"))
    assert paths
    found = [
        f"{path.relative_to(ROOT)}: {name}" for path in paths for name in imports(path) if not _may(name)
    ]
    assert found == []


def _may(name: str) -> bool:
    """Whether a kernel may import it: the door, what says what is measured, other kernels; nothing of Qt."""
    if name.partition(".")[0] in {"PySide6", "shiboken6", "pyqtgraph"}:
        return False
    inside = ("roofscope.kernels.", "roofscope.profiling.planning.", "roofscope.profiling.paths")
    return not name.startswith("roofscope.") or name.startswith(inside)

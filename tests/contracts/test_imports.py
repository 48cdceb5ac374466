"""Who may import whom: by the source (import-linter) and by what a fresh interpreter really loads."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

IMPORT_ALL = """
import importlib, pathlib, sys

package, without, unwanted = sys.argv[1], sys.argv[2], sys.argv[3:]
# By file name: pkgutil.walk_packages would import the packages that are left out.
for path in sorted(pathlib.Path(package).rglob("*.py")):
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    if not (name + ".").startswith(without + ".") and path.stem != "__main__":
        importlib.import_module(name)
loaded = [name for name in unwanted if name in sys.modules]
sys.exit(f"importing {package} loads {', '.join(loaded)}" if loaded else 0)
"""


def test_import_contracts_hold() -> None:
    """The contracts are in pyproject.toml, under tool.importlinter."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"]
    result = subprocess.run(
        [*command, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.fail(result.stdout + result.stderr, pytrace=False)


@pytest.mark.parametrize(
    ("package", "without", "unwanted"),
    [
        ("app", "nothing", ["torch", "triton", "profiling.worker"]),
        ("profiling", "profiling.worker", ["torch", "triton", "PySide6", "pyqtgraph", "app"]),
    ],
    ids=["app", "profiling"],
)
def test_a_fresh_interpreter_stays_free_of(package: str, without: str, unwanted: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, package, without, *unwanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        pytest.fail(result.stderr, pytrace=False)

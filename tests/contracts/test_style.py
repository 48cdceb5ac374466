"""Style and types, by the tools and the settings of pyproject.toml and .clang-format."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--no-cache", "--output-format=concise"],
        ["ruff", "format", "--check", "--no-cache", "--output-format=concise"],
        ["pyright"],
    ],
    ids=["ruff-check", "ruff-format", "pyright"],
)
def test_is_clean(command: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.fail(f"{' '.join(command)}\n{result.stdout}{result.stderr}", pytrace=False)


def test_cuda_sources_are_laid_out() -> None:
    tool = pytest.importorskip(
        "clang_format", reason="clang-format is not installed here; it is in the group dev"
    )
    sources = [path for path in (ROOT / "kernels").rglob("*") if path.suffix in (".cu", ".cuh")]
    assert sources
    command = [tool.get_executable("clang-format"), "--dry-run", "-Werror", *sources]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.fail(f"clang-format -i would lay these out otherwise:\n{result.stderr}", pytrace=False)

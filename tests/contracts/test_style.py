"""Style and types, by the tools and the settings of pyproject.toml."""

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

"""The versions that the scripted assistant writes in Triton are right, as the interpreter runs them."""

import os
import subprocess
from pathlib import Path

import pytest

from roofscope.benchmarks.agent_versions import TRITON, Version
from roofscope.tests.children import python

CHECK = """
import runpy, sys, torch
gelu = runpy.run_path(sys.argv[1])["gelu"]
for n in (1, 1037, 4096):
    x = 4 * torch.randn(n)
    x[0] = 60.0
    right = torch.nn.functional.gelu(x.double(), approximate="tanh")
    off = float((gelu(x).double() - right).norm() / right.norm())
    assert off < 1e-6, f"n={n}: {off}"
"""


@pytest.mark.parametrize(
    "version", [one for one in TRITON if not one.is_refused], ids=lambda version: version.name
)
def test_a_version_is_right(version: Version, tmp_path: Path) -> None:
    (tmp_path / "gelu.py").write_text(version.source)
    done = subprocess.run(
        [*python(CHECK), str(tmp_path / "gelu.py")],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

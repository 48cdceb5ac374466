"""The versions that the scripted assistant writes in Triton are right, as the interpreter runs them."""

import json
import os
import subprocess

import pytest

from roofscope.benchmarks.agent_versions import TRITON, Version
from roofscope.tests.children import python

CHECK = """
import json, runpy, sys, traceback, torch

def check(path):
    gelu = runpy.run_path(path)["gelu"]
    for n in (1, 1037, 4096):
        x = 4 * torch.randn(n)
        x[0] = 60.0
        right = torch.nn.functional.gelu(x.double(), approximate="tanh")
        off = float((gelu(x).double() - right).norm() / right.norm())
        assert off < 1e-6, f"n={n}: {off}"

wrong = {}
for path in sys.argv[1:]:
    try:
        check(path)
    except Exception:
        wrong[path] = traceback.format_exc()
    else:
        wrong[path] = ""
print(json.dumps(list(wrong.values())))
"""
HONEST = [one for one in TRITON if not one.is_refused]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By version what is wrong with it, "" for nothing. In one process: its start takes longest."""
    folder = tmp_path_factory.mktemp("versions")
    paths = [folder / f"gelu_{number}.py" for number in range(len(HONEST))]
    for path, version in zip(paths, HONEST, strict=True):
        path.write_text(version.source)
    done = subprocess.run(
        [*python(CHECK), *map(str, paths)],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip((one.name for one in HONEST), json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("version", HONEST, ids=lambda version: version.name)
def test_a_version_is_right(version: Version, wrong: dict[str, str]) -> None:
    assert wrong[version.name] == ""

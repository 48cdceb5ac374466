"""Small kernels for tests of the worker: each a folder whose eager version behaves in one way."""

from pathlib import Path

SPEC = """
from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
SPEC = KernelSpec(
    name="{name}", title="{name}", formula="y = 2x", axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),), outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula("n", "n*s", "n*s"), tolerance=Tolerance(1e-6, 1e-3, 1e-2),
    presets=(Preset("small", {{"n": 65536}}),), odd_sizes=({{"n": 1237}},), large_magnitude=100.0,
)
"""
REFERENCE = "def run(x):\n    return x * 2\n"


def add_toy(root: Path, name: str, eager: str) -> Path:
    """A kernel ``y = 2x`` whose eager version is this source; returns its folder."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "spec.py").write_text(SPEC.format(name=name))
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "eager.py").write_text(eager)
    return folder

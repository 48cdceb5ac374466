"""A table of positions: its values do not depend on those of the input."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Positions",
    formula="y_i = i / n",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="n", read_bytes="0", write_bytes="n*s"),
    tolerance=Tolerance(float32=1e-6, float16=1e-3, bfloat16=8e-3),
    presets=(Preset("cpu", {"n": 2**16}), Preset("cuda", {"n": 2**22})),
    odd_sizes=({"n": 1237},),
    large_magnitude=100.0,
    dtypes=(Dtype.FLOAT32,),
)

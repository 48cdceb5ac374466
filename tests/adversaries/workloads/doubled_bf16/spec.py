"""Twice the input in bfloat16, so large that a thousand wrong elements are lost in one norm over all."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Doubled in bfloat16",
    formula="y = 2x",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="n", read_bytes="n*s", write_bytes="n*s"),
    tolerance=Tolerance(float32=1e-6, float16=1e-3, bfloat16=8e-3),
    presets=(Preset("cpu", {"n": 2**24}), Preset("cuda", {"n": 2**26})),
    odd_sizes=({"n": 1237},),
    large_magnitude=100.0,
    dtypes=(Dtype.BFLOAT16,),
)

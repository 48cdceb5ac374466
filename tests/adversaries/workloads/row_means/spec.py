"""Each row filled with one more than its mean, which is nearly one wherever the rows are long."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Row means",
    formula="y_ij = 1 + (Σ_k x_ik) / cols",
    axes=(Axis("rows", "rows"), Axis("cols", "elements of a row")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    tolerance=Tolerance(float32=1e-5, float16=2e-3, bfloat16=1.6e-2),
    presets=(Preset("cpu", {"rows": 16, "cols": 16384}), Preset("cuda", {"rows": 512, "cols": 16384})),
    odd_sizes=({"rows": 3, "cols": 1237},),
    large_magnitude=100.0,
    dtypes=(Dtype.FLOAT32,),
)

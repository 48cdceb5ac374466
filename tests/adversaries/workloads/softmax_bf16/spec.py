"""Softmax of very many rows in bfloat16: one wrong row is lost in one norm over all."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Softmax",
    formula="y_ij = exp(x_ij) / Σ_k exp(x_ik)",
    axes=(Axis("rows", "rows"), Axis("cols", "elements of a row")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula(flop_count="4*rows*cols", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    tolerance=Tolerance(float32=2e-6, float16=2e-3, bfloat16=8e-3),
    presets=(
        Preset("cpu", {"rows": 20000, "cols": 256}),
        Preset("cuda", {"rows": 32768, "cols": 1024}),
    ),
    odd_sizes=({"rows": 37, "cols": 131},),
    large_magnitude=100.0,
    dtypes=(Dtype.BFLOAT16,),
)

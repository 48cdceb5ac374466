"""A transposition, which is to be written out: a view of the input moves no byte."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Transposed",
    formula="y_ji = x_ij",
    axes=(Axis("rows", "rows of x"), Axis("cols", "columns of x")),
    inputs=(TensorSpec("x", ("rows", "cols")),),
    outputs=(TensorSpec("y", ("cols", "rows")),),
    work=WorkFormula(flop_count="0", read_bytes="rows*cols*s", write_bytes="rows*cols*s"),
    tolerance=Tolerance(float32=1e-7, float16=1e-7, bfloat16=1e-7),
    presets=(Preset("cpu", {"rows": 512, "cols": 256}), Preset("cuda", {"rows": 4096, "cols": 2048})),
    odd_sizes=({"rows": 37, "cols": 131},),
    large_magnitude=100.0,
    dtypes=(Dtype.FLOAT32,),
)

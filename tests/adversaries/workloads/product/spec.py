"""A product of matrices: work that is worth not doing, in a precision that is worth lowering."""

from pathlib import Path

from roofscope import Axis, Dtype, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name=Path(__file__).parent.name,
    title="Product",
    formula="c = a b",
    axes=(Axis("n", "rows and columns"),),
    inputs=(TensorSpec("a", ("n", "n")), TensorSpec("b", ("n", "n"))),
    outputs=(TensorSpec("c", ("n", "n")),),
    work=WorkFormula(flop_count="2*n**3", read_bytes="2*n*n*s", write_bytes="n*n*s"),
    tolerance=Tolerance(float32=1e-5, float16=2e-3, bfloat16=1.6e-2),
    presets=(Preset("cpu", {"n": 384}), Preset("cuda", {"n": 2048})),
    odd_sizes=({"n": 67},),
    large_magnitude=100.0,
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT32,),
)

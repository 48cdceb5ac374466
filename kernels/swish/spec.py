"""Swish, also called SiLU, element by element.

Compulsory work of n elements: 4n FLOP (exp, plus 1 and division of the sigmoid; product), 2n elements moved.
"""

from profiling.spec import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="swish",
    title="Swish (SiLU)",
    formula="y = x sigmoid(x)",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="4*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: a hardware exponential and reciprocal of 2^-22 each. The 16-bit types: the final rounding, at
    # most 2^-11 and 2^-8; the arithmetic before it is float32.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"n": 2**20}),
        Preset("medium", {"n": 2**24}),
        Preset("large", {"n": 2**26}),
    ),
    sweep=tuple({"n": 2**power} for power in range(14, 30, 2)),
    odd_sizes=({"n": 98433}, {"n": 98432}, {"n": 0}, {"n": 1}, {"n": 7}, {"n": 1031}),
    large_magnitude=1e4,  # exp(1e4) overflows: where it is a denominator, the result is 0
)

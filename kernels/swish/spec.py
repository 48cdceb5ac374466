"""Swish, also called SiLU, element by element.

Compulsory work of n elements: 4n FLOP (exp, plus 1 and division of the sigmoid; product), 2n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

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
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,  # exp(1e4) overflows: where it is a denominator, the result is 0
)

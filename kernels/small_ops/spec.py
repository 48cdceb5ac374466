"""A handful of small operations on one vector: what fusing them into one pass buys.

Compulsory work of n elements: 7n FLOP (maximum; exp, plus 1 and division of the sigmoid; tanh; product; sum),
2n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="small_ops",
    title="Small operations",
    formula="y = relu(x) + sigmoid(x) tanh(x)",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="7*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: a hardware exponential and reciprocal of 2^-22 each. The 16-bit types: eager rounds after each
    # of four operations, our own versions once.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,  # exp(-x) and its square overflow float32 from x = -44: their quotient gives NaN
)

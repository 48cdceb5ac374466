"""A chain of three pointwise operations: relu, then sigmoid, then times 2.

Compulsory work of n elements: 5n FLOP (maximum; exp, plus 1 and division of the sigmoid; product), 2n
elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="pointwise_chain",
    title="Pointwise chain",
    formula="y = 2 sigmoid(relu(x))",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="5*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: a hardware exponential and reciprocal of 2^-22 each. The 16-bit types: one rounding, for twice
    # a sigmoid is exact.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,
)

"""Sum of two vectors: the plainest stream, two reads and a write for one addition.

Compulsory work of n elements: n FLOP, 3n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="vector_add",
    title="Vector add",
    formula="z = x + y",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)), TensorSpec("y", ("n",))),
    outputs=(TensorSpec("z", ("n",)),),
    work=WorkFormula(flop_count="n", read_bytes="2*n*s", write_bytes="n*s"),
    # One rounding of the sum: at most half a unit in the last place, 2^-24, 2^-11 and 2^-8.
    tolerance=Tolerance(float32=1e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    odd_sizes=ODD_LENGTHS,
    sweep=tuple({"n": 2**power} for power in (12, 14, 16, 18, 20, 22, 24, 26)),
    large_magnitude=1e4,  # the sum stays within float16's 65504
)

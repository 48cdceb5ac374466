"""One operator alone: a relu, where there is nothing to fuse.

Compulsory work of n elements: n FLOP (a maximum), 2n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="relu",
    title="ReLU",
    formula="y = max(x, 0)",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="n", read_bytes="n*s", write_bytes="n*s"),
    # A maximum rounds nothing; what is allowed is less than one rounding.
    tolerance=Tolerance(float32=4e-8, float16=3e-4, bfloat16=2.2e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,
)

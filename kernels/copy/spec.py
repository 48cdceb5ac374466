"""Copy of a vector: the plainest stream, and the roof of all that read as much as they write.

Compulsory work of n elements: no FLOP, 2n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="copy",
    title="Copy",
    formula="y = x",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="0", read_bytes="n*s", write_bytes="n*s"),
    # Nothing is rounded. Less than half a unit in the last place, so that one rounding too many is found.
    tolerance=Tolerance(float32=5e-8, float16=4e-4, bfloat16=3e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=1e4,
)

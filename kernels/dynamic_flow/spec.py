"""A branch on the data: one function of every element where their sum is positive, another where it is not.

Compulsory work of n elements: 5n FLOP (the sum, and four for either function), 2n elements moved. The sum
must be known before the first result: beyond the caches x is read twice, so that two thirds of the roof is
the most there is.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="dynamic_flow",
    title="Branch on the data",
    formula="y = x / (1 + exp(-x)) if sum(x) > 0, else x / sqrt(1 + x^2)",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="5*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: four roundings and a hardware exponential; 16 bits: eager rounds each operator's result.
    tolerance=Tolerance(float32=2e-6, float16=2e-3, bfloat16=1.6e-2),
    presets=LENGTHS,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=60.0,  # exp(60) overflows float16: the quotient must become 0
    sweep=tuple({"n": 2**power} for power in (12, 16, 18, 20, 22, 24, 25, 26)),
    compares_modes=True,
)

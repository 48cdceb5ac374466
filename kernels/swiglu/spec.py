"""SwiGLU, the gate of many transformers' feed-forward layers, element by element.

Compulsory work of n elements: 5n FLOP (exp, plus 1 and division of the sigmoid; two products), 3n elements
moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="swiglu",
    title="SwiGLU",
    formula="y = a sigmoid(a) b",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("a", ("n",)), TensorSpec("b", ("n",))),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="5*n", read_bytes="2*n*s", write_bytes="n*s"),
    # float32: a hardware exponential and reciprocal of 2^-22 each. The 16-bit types: eager rounds twice, our
    # own versions once.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=200.0,  # products of up to 4e4 are within float16's 65504; exp(200) overflows float32
)

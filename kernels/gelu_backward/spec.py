"""Gradient of GELU in its tanh form, element by element: dx from dy and the x that went in.

With u = sqrt(2/pi) (x + 0.044715 x^3): dy/dx = (1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2.
Compulsory work of n elements: 18n FLOP (x^2; u in 4 more; tanh; plus 1 and half; u' in 3; 1 - tanh^2 in 2;
the second term's 3 products; their sum; times dy), 3n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTH_SWEEP, LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="gelu_backward",
    title="GELU backward (tanh form)",
    formula="dx = dy d/dx [0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))]",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("dy", ("n",)), TensorSpec("x", ("n",))),
    outputs=(TensorSpec("dx", ("n",)),),
    work=WorkFormula(flop_count="18*n", read_bytes="2*n*s", write_bytes="n*s"),
    # float32: about twenty roundings, a hardware exponential and reciprocal of 2^-22. The 16-bit types: the
    # final rounding, at most 2^-11 and 2^-8; the arithmetic before it is float32.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    sweep=LENGTH_SWEEP,
    odd_sizes=ODD_LENGTHS,
    large_magnitude=60.0,  # exp(2u) overflows float32 from x = 10
)

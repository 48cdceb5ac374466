"""GELU in its tanh form, element by element.

Compulsory work of n elements: 9n FLOP (x^2, x^3, times 0.044715, plus x, times sqrt(2/pi), tanh, plus 1,
times x, times 0.5), 2n elements moved.
"""

from roofscope import Axis, KernelSpec, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import LENGTHS, ODD_LENGTHS

SPEC = KernelSpec(
    name="gelu",
    title="GELU (tanh form)",
    formula="y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
    axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="9*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: about ten roundings and a hardware exponential of 2^-22. The 16-bit types: the final
    # rounding, at most 2^-11 and 2^-8; the arithmetic before it is float32.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=LENGTHS,
    odd_sizes=ODD_LENGTHS,
    sweep=tuple({"n": 2**power} for power in (12, 14, 16, 18, 20, 22, 24, 26)),
    # One is wrong at large magnitudes, the other takes half a minute of nvcc: for a look, not for every run.
    on_request=("triton_textbook", "cuda_ext_textbook"),
    large_magnitude=60.0,  # exp(2u) overflows float32 from x = 10: the textbook quotient gives NaN
)

"""SwiGLU, the gate of many transformers' feed-forward layers, element by element.

Compulsory work of n elements: 5n FLOP (exp, plus 1 and division of the sigmoid; two products), 3n elements
moved.
"""

from profiling.spec import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

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
    presets=(
        Preset("small", {"n": 2**20}),
        Preset("medium", {"n": 2**24}),
        Preset("large", {"n": 2**26}),
    ),
    sweep=tuple({"n": 2**power} for power in range(14, 30, 2)),
    odd_sizes=({"n": 98433}, {"n": 98432}, {"n": 0}, {"n": 1}, {"n": 7}, {"n": 1031}),
    large_magnitude=200.0,  # products of up to 4e4 are within float16's 65504; exp(200) overflows float32
)

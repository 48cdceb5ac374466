"""Eight pieces of an array, each half as long as the one before, each centred and scaled by itself.

Compulsory work of n elements: 5n FLOP (sum, difference, square and its sum as an FMA, scaling), 2n elements
moved. The lesson is in the build: a compiler that works for one length works again at the second, then for
many at once, and maybe once more for very short ones.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="changing_shapes",
    title="Pieces of many lengths",
    formula="y[p] = (x[p] - m_p) / sqrt(v_p + 1e-5), m_p and v_p mean and variance of piece p",
    axes=(Axis("n", "elements of all pieces"),),
    inputs=(TensorSpec("x", ("n",)),),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="5*n", read_bytes="n*s", write_bytes="n*s"),
    # float32: sums of many terms; the 16-bit types: eager rounds each operator's result, and the rounding of
    # the mean counts where elements are few.
    tolerance=Tolerance(float32=5e-6, float16=3e-3, bfloat16=3.4e-2),
    presets=(Preset("small", {"n": 2**16}), Preset("medium", {"n": 2**22}), Preset("large", {"n": 2**26})),
    odd_sizes=({"n": 98433}, {"n": 0}, {"n": 1}, {"n": 5}, {"n": 1031}),
    large_magnitude=60.0,  # its square is within float16
    sweep=tuple({"n": 2**power} for power in (10, 13, 16, 18, 20, 22, 24, 26)),
    compares_modes=True,
)

"""A chain of 100 matrix products, each of the last result with the same orthogonal matrix.

Compulsory work: 2n^3 FLOP a product; x and w are read once and y is written once, for what lies between could
stay on chip as far as this count goes. There is nothing to fuse: what compilers can do is choose a product
and launch it.
"""

from roofscope import Axis, Fill, KernelSpec, Pipe, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="matmul_chain",
    title="Chain of 100 products",
    formula="y = x w^100, product by product",
    axes=(Axis("n", "rows and columns of every matrix"),),
    # Orthogonal, so that a hundred products neither grow nor vanish.
    inputs=(TensorSpec("x", ("n", "n")), TensorSpec("w", ("n", "n"), fill=Fill.DERIVED)),
    outputs=(TensorSpec("y", ("n", "n")),),
    work=WorkFormula(flop_count="200*n**3", read_bytes="2*n*n*s", write_bytes="n*n*s"),
    # Ten times, the root of 100, what one product errs by: 0.4 of the unit roundoff in the 16-bit types,
    # where every result between is rounded, and 2^-25 sqrt(n/2) in float32.
    tolerance=Tolerance(float32=2.5e-5, float16=4e-3, bfloat16=3e-2),
    presets=(Preset("small", {"n": 256}), Preset("medium", {"n": 512}), Preset("large", {"n": 1024})),
    odd_sizes=({"n": 65}, {"n": 7}, {"n": 1}, {"n": 0}, {"n": 200}),
    large_magnitude=60.0,
    pipe=Pipe.TENSOR,
    sweep=tuple({"n": n} for n in (64, 128, 256, 512, 1024, 2048, 3072, 4096)),
    compares_modes=True,
)

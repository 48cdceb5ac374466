"""Copy of a vector: the plainest stream, and the roof of all that read as much as they write.

Compulsory work of n elements: no FLOP, 2n elements moved.
"""

from profiling.spec import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

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
    presets=(
        Preset("small", {"n": 2**20}),
        Preset("medium", {"n": 2**24}),
        Preset("large", {"n": 2**26}),
    ),
    sweep=tuple({"n": 2**power} for power in range(14, 30, 2)),
    # No multiple of a block, nor of a 16-byte access; then whole blocks short of a power of two.
    odd_sizes=({"n": 98433}, {"n": 98432}, {"n": 0}, {"n": 1}, {"n": 7}, {"n": 1031}),
    large_magnitude=1e4,
)

"""Two nested Python loops over one small operation: launches without end, or one kernel.

Compulsory work of outer x inner turns over n elements: 3 FLOP a turn and element, 2n elements moved. Each
turn halves what there is, so that errors do not grow.
"""

from roofscope import Axis, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula


def _turns(n: int, outer: int = 10, inner: int = 10) -> dict[str, int]:
    return {"n": n, "outer": outer, "inner": inner}


SPEC = KernelSpec(
    name="nested_loops",
    title="Nested loops",
    formula="y = y / 2 + x steps[i, j], for all i, for all j, from y = 0",
    axes=(
        Axis("n", "elements"),
        Axis("outer", "turns of the outer loop, rows of steps"),
        Axis("inner", "turns of the inner loop, columns of steps"),
    ),
    # Of one sign, so that no sum of theirs is small beside the roundings of its terms.
    inputs=(TensorSpec("x", ("n",)), TensorSpec("steps", ("outer", "inner"), fill=Fill.POSITIVE)),
    outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="3*outer*inner*n", read_bytes="(n + outer*inner)*s", write_bytes="n*s"),
    # The error of a turn is halved by each that follows: two roundings of the last place remain.
    tolerance=Tolerance(float32=2e-6, float16=2e-3, bfloat16=1.6e-2),
    presets=(
        Preset("small", _turns(2**16)),
        Preset("medium", _turns(2**20)),
        Preset("large", _turns(2**24)),
    ),
    odd_sizes=(_turns(98433, 3, 5), _turns(0), _turns(1, 1, 1), _turns(7, 2, 9), _turns(1031, 7, 1)),
    sweep=tuple(_turns(2**power) for power in range(10, 26, 2)),
    large_magnitude=60.0,  # twice its square is within float16
    compares_modes=True,
)

"""A loss of one's own in three lines: the mean square of a difference, and a tenth of its mean magnitude.

Compulsory work of n elements: 4n FLOP (difference, square, two sums; a magnitude is a change of sign);
predictions and targets are read once, one number is written.
"""

from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula

SPEC = KernelSpec(
    name="regression_loss",
    title="Regression loss",
    formula="loss = mean((p - t)^2) + 0.1 mean(|p - t|)",
    axes=(Axis("n", "predictions", minimum=1),),
    inputs=(TensorSpec("p", ("n",)), TensorSpec("t", ("n",))),
    outputs=(TensorSpec("loss", ("1",)),),
    work=WorkFormula(flop_count="4*n", read_bytes="2*n*s", write_bytes="s"),
    # All terms are positive. float32: a sum of 2^16 terms, taken one by one by a thread or a program, loses
    # a few of its last digits. The 16-bit types: eager rounds differences and squares, whose errors cancel in
    # the sum, then both means and the sum of them.
    tolerance=Tolerance(float32=2e-6, float16=2e-3, bfloat16=1.6e-2),
    presets=(
        Preset("small", {"n": 2**20}),
        Preset("medium", {"n": 2**24}),
        Preset("large", {"n": 2**26}),
    ),
    odd_sizes=({"n": 98433}, {"n": 98432}, {"n": 1}, {"n": 7}, {"n": 1031}),
    sweep=tuple({"n": 2**power} for power in range(14, 30, 2)),
    large_magnitude=60.0,  # the square of a difference of 120 is within float16
)

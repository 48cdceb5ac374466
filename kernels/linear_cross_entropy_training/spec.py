"""The last layer of a language model, its loss and both gradients in one call, as a training step needs them.

The gradient of each row's loss is known before: 1 / rows for a mean, a weight of each token in reinforcement
learning. So nothing has to wait for a backward pass, and the logits, which both passes need, are made once:
three products of 2 rows vocab hidden FLOP instead of the four of linear_cross_entropy and
linear_cross_entropy_backward. A version may keep what it has made of the logits of some rows in memory. As
in torch a row with label -100 is ignored: its loss is 0, and it has no part in the gradients. For any other
label that is no column, for which torch raises an error, ours give NaN as the loss.
"""

from roofscope import (
    Axis,
    Dtype,
    Element,
    Fill,
    KernelSpec,
    Pipe,
    Preset,
    TensorSpec,
    Tolerance,
    WorkFormula,
)
from roofscope.kernels.linear_cross_entropy_backward.spec import sizes

X, W = ("rows", "hidden"), ("vocab", "hidden")

SPEC = KernelSpec(
    name="linear_cross_entropy_training",
    title="Linear layer and cross-entropy, loss and gradients",
    formula="loss[r] = lse[r] - x[r] . w[label[r]], lse[r] = log(sum_c exp(x[r] . w[c])); "
    "d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])): dx = d w, dw = d^T x",
    axes=(
        Axis("rows", "rows of x, tokens"),
        Axis("vocab", "rows of w, classes", minimum=1),
        Axis("hidden", "columns of x and of w", minimum=1),
    ),
    inputs=(
        TensorSpec("x", X),
        TensorSpec("w", W),  # as torch.nn.Linear keeps its weight
        TensorSpec("labels", ("rows",), element=Element.INT64, fill=Fill.INTEGER, below="vocab"),
        TensorSpec("dloss", ("rows",)),
    ),
    outputs=(TensorSpec("loss", ("rows",)), TensorSpec("dx", X), TensorSpec("dw", W)),
    work=WorkFormula(
        flop_count="6*rows*vocab*hidden",
        read_bytes="(rows + vocab)*hidden*s + rows*(8 + s)",
        write_bytes="(rows + vocab)*hidden*s + rows*s",
    ),
    # Those of linear_cross_entropy_backward: d is rounded, its products once more, and eager rounds logits.
    tolerance=Tolerance(float32=1e-5, float16=4e-3, bfloat16=3e-2),
    presets=(
        Preset("small", sizes(256, 2048, 256)),
        Preset("medium", sizes(512, 32000, 512)),
        Preset("large", sizes(4096, 128_256, 4096)),
    ),
    odd_sizes=(
        sizes(131, 1003, 72),
        sizes(37, 257, 65),  # rows not on 16 bytes
        sizes(300, 40, 160),
        sizes(1, 700, 33),
        sizes(129, 513, 128),
        sizes(0, 64, 64),
        sizes(3, 1, 8),
    ),
    large_magnitude=4.0,  # logits of up to 16 hidden
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    on_request=("cuda_naive",),  # seconds a call at the large size
    sweep=(
        *(sizes(rows, 32000, 1024) for rows in (16, 128, 1024, 4096)),
        sizes(1024, 128_256, 2048),
        sizes(4096, 50257, 2048),
        sizes(4096, 128_256, 4096),
        sizes(8192, 128_256, 4096),
    ),
)

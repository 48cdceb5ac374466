"""Gradients of linear_cross_entropy, the last layer of a language model and its loss in one.

Compulsory work: the logits once more, because they were not kept, and the two products with their gradient,
of 2 rows vocab hidden FLOP each; the softmax is left out by custom. The logarithm of each row's sum of
exponentials (lse, base e) was kept: it turns a logit into its weight without a second look at the row. As in
torch a row with label -100 is ignored. Any other label that is no column, for which torch raises an error,
has no logit here.
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

X, W = ("rows", "hidden"), ("vocab", "hidden")


def sizes(rows: int, vocab: int, hidden: int) -> dict[str, int]:
    return {"rows": rows, "vocab": vocab, "hidden": hidden}


SPEC = KernelSpec(
    name="linear_cross_entropy_backward",
    title="Linear layer and cross-entropy, gradients",
    formula="d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])): dx = d w, dw = d^T x",
    axes=(
        Axis("rows", "rows of x, tokens"),
        Axis("vocab", "rows of w, classes", minimum=1),
        Axis("hidden", "columns of x and of w", minimum=1),
    ),
    inputs=(
        TensorSpec("x", X),
        TensorSpec("w", W),  # as torch.nn.Linear keeps its weight
        TensorSpec("labels", ("rows",), element=Element.INT64, fill=Fill.INTEGER, below="vocab"),
        TensorSpec("lse", ("rows",), element=Element.FLOAT32, fill=Fill.DERIVED),
        TensorSpec("dloss", ("rows",)),
    ),
    outputs=(TensorSpec("dx", X), TensorSpec("dw", W)),
    work=WorkFormula(
        flop_count="6*rows*vocab*hidden",
        read_bytes="(rows + vocab)*hidden*s + rows*(12 + s)",
        write_bytes="(rows + vocab)*hidden*s",
    ),
    # 16 bits: d is rounded, and its products once more.
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

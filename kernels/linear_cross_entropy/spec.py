"""The last layer of a language model and its loss in one: logits are made, used and forgotten.

Compulsory work: the product, of 2 rows vocab hidden FLOP; the softmax is left out by custom. x, w and labels
are read once, one loss a row is written: the rows x vocab logits, 1 GB in 16 bits at the large size, need not
touch memory. As in torch a row with label -100 is ignored: its loss is 0. For any other label that is no
column ours give NaN, where torch raises an error.
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


def sizes(rows: int, vocab: int, hidden: int) -> dict[str, int]:
    return {"rows": rows, "vocab": vocab, "hidden": hidden}


SPEC = KernelSpec(
    name="linear_cross_entropy",
    title="Linear layer and cross-entropy",
    formula="loss[r] = log(sum_c exp(x[r] . w[c])) - x[r] . w[label[r]]",
    axes=(
        Axis("rows", "rows of x, tokens"),
        Axis("vocab", "rows of w, classes", minimum=1),
        Axis("hidden", "columns of x and of w", minimum=1),
    ),
    inputs=(
        TensorSpec("x", ("rows", "hidden")),
        TensorSpec("w", ("vocab", "hidden")),  # as torch.nn.Linear keeps its weight
        TensorSpec("labels", ("rows",), element=Element.INT64, fill=Fill.INTEGER, below="vocab"),
    ),
    outputs=(TensorSpec("loss", ("rows",)),),
    work=WorkFormula(
        flop_count="2*rows*vocab*hidden",
        read_bytes="(rows + vocab)*hidden*s + 8*rows",
        write_bytes="rows*s",
    ),
    # One rounding of the loss; eager also rounds the logits, of which many are averaged.
    tolerance=Tolerance(float32=5e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", sizes(256, 2048, 256)),
        Preset("medium", sizes(512, 32000, 1024)),
        Preset("large", sizes(4096, 128_256, 4096)),
    ),
    odd_sizes=(
        sizes(131, 1003, 72),
        sizes(37, 257, 65),  # rows not on 16 bytes
        sizes(300, 40, 160),
        sizes(1, 5000, 33),
        sizes(129, 513, 128),
        sizes(0, 64, 64),
        sizes(3, 1, 8),
    ),
    large_magnitude=4.0,  # logits of up to 16 hidden
    pipe=Pipe.TENSOR,
    dtypes=(Dtype.FLOAT16, Dtype.BFLOAT16),
    on_request=("cuda_naive",),  # every block reads all of w
    sweep=(
        *(sizes(rows, 32000, 1024) for rows in (16, 128, 1024, 4096)),
        sizes(1024, 128_256, 2048),
        sizes(4096, 50257, 2048),
        sizes(4096, 128_256, 4096),
        sizes(8192, 128_256, 4096),
    ),
)

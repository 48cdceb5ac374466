"""Cross-entropy of each row of logits with a label: the loss of a language model, a token a row.

Compulsory work of rows x cols: 4 rows cols FLOP (maximum, difference, exp, sum); logits and labels are read
once, one loss a row is written. As in torch, a row with label -100 is ignored: its loss is 0. For any other
label that is no column our kernels give NaN, and read nothing beside the row, where torch raises an error.
"""

from roofscope import Axis, Element, Fill, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
from roofscope.profiling.planning.sizes import ODD_ROWS

SPEC = KernelSpec(
    name="cross_entropy",
    title="Cross-entropy",
    formula="loss[r] = log(sum_c exp(x[r, c])) - x[r, label[r]]",
    axes=(
        Axis("rows", "rows of logits, tokens"),
        Axis("cols", "columns of logits, the vocabulary", minimum=1),
    ),
    inputs=(
        TensorSpec("logits", ("rows", "cols")),
        TensorSpec("labels", ("rows",), element=Element.INT64, fill=Fill.INTEGER, below="cols"),
    ),
    outputs=(TensorSpec("loss", ("rows",)),),
    work=WorkFormula(flop_count="4*rows*cols", read_bytes="rows*cols*s + rows*8", write_bytes="rows*s"),
    # float32: hardware powers of 2^-22 and a sum of up to 2^18 positive terms, under a logarithm of about 12
    # that takes a fourth of what is left; a loss near 0, of the row's largest logit, has its digits
    # cancelled, but counts for little in the norm. The 16-bit types: the final rounding, at most 2^-11 and
    # 2^-8.
    tolerance=Tolerance(float32=2e-6, float16=1e-3, bfloat16=8e-3),
    presets=(
        Preset("small", {"rows": 128, "cols": 32768}),
        Preset("medium", {"rows": 1024, "cols": 50257}),
        Preset("large", {"rows": 4096, "cols": 128_256}),
    ),
    odd_sizes=(
        *ODD_ROWS,
        {"rows": 3, "cols": 50257},
        {"rows": 1, "cols": 131075},
    ),
    large_magnitude=1e4,  # exp(1e4) overflows every type: the maximum must come off first
    # Up to 32 Ki words by the number of tokens, then by the vocabulary.
    sweep=(
        *({"rows": rows, "cols": 32768} for rows in (16, 64, 256, 1024, 4096)),
        {"rows": 4096, "cols": 65536},
        {"rows": 4096, "cols": 128_256},
        {"rows": 2048, "cols": 262_144},
    ),
)

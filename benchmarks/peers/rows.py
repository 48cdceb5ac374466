"""The rows: what is compared with which peers, and each goal. A1 to F3 are families of the library.

Every row is to be as fast as the fastest of its peers. Not all have a serious one: a kernel that somebody
made for this task, be it a library's, PyTorch's own, or the one that Inductor fuses an elementwise task into.
Where eager and torch.compile compose the task of several kernels and nobody ships another, the row says so.

Where the data type does not matter, kernels of language models run in bfloat16, the rest in float32.
"""

from msgspec import Struct

from roofscope.benchmarks.peers.goals import AtLeast, Goal, OfCeiling
from roofscope.profiling.planning.sizes import cube
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.roofline.roofline import Mix

F32, F16, BF16 = Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16


class Row(Struct, frozen=True):
    """One workload: a kernel, a dtype, and sizes over those of the kernel's large preset."""

    name: str
    kernel: str
    dtype: Dtype
    sizes: dict[str, int] = {}
    goals: tuple[Goal, ...] = ()
    has_serious_peer: bool = True


BEST = (AtLeast(1.0),)


def of(fraction: float, mix: Mix) -> tuple[Goal, ...]:
    return (OfCeiling(fraction, mix), *BEST)


ROWS_OF_MODELS = ({"rows": 32768, "cols": 4096}, {"rows": 8192, "cols": 16384})

POINTWISE = (
    Row("A1", "vector_add", F32, goals=of(0.97, Mix.TRIAD)),
    Row("A2", "copy", F32, goals=of(0.98, Mix.COPY)),
    Row("A2", "transpose", F32, goals=of(0.93, Mix.COPY)),
    Row("A3", "gelu", F32, {"n": 2**26}, of(0.97, Mix.COPY)),
    Row("A3", "gelu", BF16, {"n": 2**26}, of(0.97, Mix.COPY)),
    Row("A4", "small_ops", F32, {"n": 2**26}, of(0.97, Mix.COPY)),
    Row("A4", "pointwise_chain", F32, {"n": 2**26}, of(0.97, Mix.COPY)),
    Row("A5", "bias_gelu", F32, goals=of(0.96, Mix.COPY)),
    Row("A5", "swish", F32, goals=of(0.96, Mix.COPY)),
    Row("A5", "swiglu", BF16, goals=of(0.96, Mix.TRIAD)),
    # Eager is some fifteen operators; Inductor fuses them.
    Row("A7", "adamw", F32, goals=of(0.97, Mix.TRIAD)),
    # Liger's works only in place, and on q and k at once, so it is no peer of this one; QuACK's is.
    Row("A6", "rope", BF16, goals=of(0.93, Mix.COPY)),
)
REDUCTIONS = (
    Row("B1", "row_sum", F32, goals=of(0.98, Mix.READ)),
    Row("B1", "row_sum", F32, {"rows": 1, "cols": 2**28}, of(0.98, Mix.READ)),
    Row("B2", "weighted_sum", F32, {"rows": 100_000, "cols": 4096}, of(0.98, Mix.READ)),
    Row("B3", "weighted_sum_backward", F32, {"rows": 100_000, "cols": 4096}, of(0.93, Mix.COPY), False),
    Row("B4", "cumsum", F32, goals=of(0.90, Mix.COPY)),
    Row("B4", "cumsum", F32, {"rows": 1, "cols": 2**27}, of(0.90, Mix.COPY)),  # CUB scans one row
    Row("B5", "histogram", F32, goals=of(0.93, Mix.READ)),
    Row("B7", "radix_sort", F32, goals=BEST),  # eager makes indices as well
    *(
        Row("B6", "top_k", BF16, {"rows": rows, "cols": cols}, of(0.80, Mix.READ))
        for rows, cols in ((4096, 32768), (1024, 131_072), (64, 262_144))
    ),
)
NORMS = (
    *(
        Row("C1", "softmax", BF16, {"rows": rows, "cols": cols}, BEST)
        # Liger does not take the longest rows.
        for rows, cols in ((2**19, 256), (32768, 4096), (8192, 16384), (2048, 65536), (512, 262_144))
    ),
    Row("C1", "softmax_backward", BF16, goals=BEST),
    *(
        Row(name, kernel, BF16, sizes, BEST)
        for name, kernel in (
            ("C2", "layer_norm"),
            ("C3", "rms_norm"),
            ("C3", "add_rms_norm"),
            ("C4", "layer_norm_backward"),
            ("C4", "rms_norm_backward"),
        )
        for sizes in ROWS_OF_MODELS
    ),
    *(
        Row("C5", "cross_entropy", BF16, {"rows": rows, "cols": cols}, of(0.95, Mix.READ))
        for rows, cols in ((16384, 32768), (4096, 128_256), (2048, 262_144))
    ),
)
QUANTISED = (
    Row("D1", "quantize_int8", BF16, {}, of(0.93, Mix.TRIAD), False),
    *(
        Row("D1", "rms_norm_quantize_fp8", BF16, sizes, of(0.93, Mix.TRIAD), False)
        for sizes in ROWS_OF_MODELS
    ),
    Row("D1", "dequantize_int8", BF16, goals=of(0.93, Mix.COPY)),
    Row("D2", "quantize_int4", BF16, {}, of(0.90, Mix.TRIAD), False),
    Row("D2", "dequantize_int4", BF16, goals=of(0.90, Mix.WRITE)),
    # Others pack their weights otherwise, so that their kernels compute another task.
    # The 16-bit product of this shape reads 3.9 times the bytes: 0.85 of the ceiling is 3.3 times as fast.
    Row("D3", "matmul_w4a16", BF16, {"m": 1}, of(0.85, Mix.READ), False),
    Row("D3", "matmul_w4a16", BF16, {"m": 16, "n": 8192}, BEST, False),
)
# Eager is cuBLAS in all of them.
PRODUCTS = (
    Row("E1", "matmul", F32, goals=(AtLeast(0.90, "eager", "cuda"), *BEST)),
    Row("E1", "matmul_tf32", F32, goals=BEST),
    Row("E1", "matmul", F16, goals=BEST),
    Row("E1", "matmul", BF16, {}, (AtLeast(0.95, "eager", "triton"), AtLeast(0.85, "eager", "cuda"), *BEST)),
    Row("E1", "matmul_fp8", BF16, goals=BEST),
    *(Row("E2", kernel, BF16, goals=BEST) for kernel in ("matmul_relu", "matmul_bias_gelu")),
    Row("E1", "matmul_fp8_blocks", BF16, goals=BEST),
    Row("E1", "matmul_fp8_blocks", BF16, {"m": 4096, "n": 7168, "k": 16384}, BEST),
    Row("E2", "linear_cross_entropy", BF16, {}, BEST),
    # Liger rounds the logits, which are large here: verification refuses it.
    Row("E2", "linear_cross_entropy_training", BF16, {}, BEST),
    # Eager is CUTLASS's.
    Row("E3", "grouped_matmul", BF16, goals=BEST),
    Row("E3", "grouped_matmul", BF16, {"experts": 8, "n": 4096, "k": 4096}, BEST),
)
# Eager is FlashAttention-2 in the gradients.
ATTENTION = (
    *(
        Row(
            *("F1", kernel, BF16, {"batch": 4, "heads": 16, "seq": 8192, "dim": dim}),
            (AtLeast(0.85, "library_cudnn", "triton"), AtLeast(1.0, "library_flash", "cuda"), *BEST),
        )
        for kernel in ("attention_causal", "attention")
        for dim in (128, 64)
    ),
    *(
        Row(
            *("F2", kernel, BF16, {"batch": 4, "heads": 16, "seq": 8192, "dim": dim}),
            (AtLeast(1.0, "eager", "triton"), *BEST),
        )
        for kernel in ("attention_backward_causal", "attention_backward")
        for dim in (128, 64)
    ),
)
GROUPED_QUERIES = (Row("F1", "attention_causal_gqa", BF16, goals=BEST),)
# Eager is FlashAttention-2. Sequences of 64 to 8192 tokens.
PACKED = tuple(Row("F1", "attention_varlen", BF16, {"batch": batch}, BEST) for batch in (16, 32, 64))
OTHER_DIMS = tuple(
    Row("F1", kernel, BF16, {"batch": 4, "heads": 16, "seq": 8192, "dim": dim}, BEST)
    for kernel in ("attention_causal", "attention")
    for dim in (96, 192, 256)
)
# Eager and torch.compile multiply what is masked too.
WINDOWS = tuple(
    Row("F1", "attention_sliding_window", BF16, sizes, BEST)
    for sizes in ({}, {"dim": 64}, {"kv_heads": 4, "group": 2, "dim": 256})
)
# Rows beside the usual: longer, fewer than multiprocessors, of an odd number of columns; and more sizes of
# products and of attention's gradients, whose tokens stay as many.
LONG_ROWS = tuple(
    Row(name, kernel, BF16, {"rows": rows, "cols": cols}, BEST)
    for name, kernel in (("C1", "softmax"), ("C2", "layer_norm"), ("C3", "rms_norm"))
    for rows, cols in ((8192, 65536), (4096, 262_144), (8, 131_072))
)
FEW_ROWS = tuple(
    Row("C4", kernel, BF16, {"rows": 8, "cols": 131_072}, BEST)
    for kernel in ("layer_norm_backward", "rms_norm_backward")
)
ODD_COLUMNS = (
    Row("A2", "transpose", F32, {"rows": 8191, "cols": 8193}, BEST),
    Row("B4", "cumsum", F32, {"cols": 4095}, BEST),
    Row("D1", "quantize_int8", BF16, {"cols": 4095}, BEST, False),
)
SMALLER_PRODUCTS = tuple(
    Row(name, kernel, BF16, cube(size), BEST)
    for size in (1024, 4096)
    for name, kernel in (("E1", "matmul"), ("E2", "matmul_relu"), ("E2", "matmul_bias_gelu"))
)
OTHER_LENGTHS = tuple(
    Row("F2", kernel, BF16, {"batch": batch, "heads": 16, "seq": seq, "dim": dim}, BEST)
    for kernel in ("attention_backward_causal", "attention_backward")
    for dim in (128, 64)
    for batch, seq in ((16, 2048), (8, 4096), (2, 16384))
)
# Eager and torch.compile gather the pages first, which nobody who decodes does. A cache of 537 MB each.
DECODING = tuple(
    Row("F3", "paged_decode", BF16, sizes, of(0.95, Mix.READ))
    for sizes in ({}, {"batch": 64, "group": 4, "pages": 32, "page": 64})
)
ROWS = (
    *POINTWISE,
    *REDUCTIONS,
    *NORMS,
    *QUANTISED,
    *PRODUCTS,
    *ATTENTION,
    *GROUPED_QUERIES,
    *PACKED,
    *OTHER_DIMS,
    *WINDOWS,
    *DECODING,
    *LONG_ROWS,
    *FEW_ROWS,
    *ODD_COLUMNS,
    *SMALLER_PRODUCTS,
    *OTHER_LENGTHS,
)

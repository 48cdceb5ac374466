"""Cross-entropy by QuACK, in the CuTe DSL: a row is read once, by a cluster of blocks where it is long.

The kernel as its function compiles it where no gradient is asked for, but with losses in the type of the
logits, as torch gives them: the function's own are float32, and to round them would take another launch.
"""

import functools
import math
from collections.abc import Callable

import torch
from cutlass import Int32, Int64, cute
from quack.compile_utils import make_fake_tensor
from quack.cross_entropy import CrossEntropy
from quack.cute_dsl_utils import torch2cute_dtype_map

from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 4 == 0 and cols <= 262144"
_IGNORED = -100


def run(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,). Gives (rows,)."""
    require_rows(logits, access_bytes=4)
    loss = logits.new_empty(logits.shape[0])
    kernel = _compiled(logits.dtype, logits.shape[1])
    kernel(logits, labels, None, loss, None, None, None, Int32(_IGNORED))
    return loss


@functools.cache
def _compiled(dtype: torch.dtype, cols: int) -> Callable[..., None]:
    """For any number of rows."""
    element, rows = torch2cute_dtype_map[dtype], cute.sym_int()
    return cute.compile(
        CrossEntropy(element, cols),
        make_fake_tensor(element, (rows, cols), math.gcd(128 // element.width, cols)),
        make_fake_tensor(Int64, (rows,)),
        None,
        make_fake_tensor(element, (rows,)),
        None,
        None,
        None,
        Int32(0),
        cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True),
        options="--enable-tvm-ffi",
    )

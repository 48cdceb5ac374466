"""A product of short types at a rate that the plain float units explain: the tensor cores idle.

Threshold: below the device's own measured FP32 ceiling. Above 0.3 of it no more is needed. Below, its source
must be recorded as a whole and multiply no matrices, and it must reach a fiftieth: a product as the textbook
has it, two loads for each FMA, does a twentieth (h200-tour, point 63), and what is slower yet has another
cause first, such as launches or a single block. What the
tensor pipe's ceiling leaves is the most that it saves.
"""

import re
from collections.abc import Sequence

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.spec import Dtype, Pipe
from roofscope.profiling.roofline.roofline import Bound

_BY_RATE = 0.3
_BY_SOURCE = 0.02
# PTX mma and wgmma, WMMA, CUTLASS, CuTe and cuBLAS; no gamma, Emma or comma.
_MMA = r"(?<![A-Za-z])(?:wg|[hidquw])?mma(?![a-z])"
_IN_CUDA = re.compile(rf"{_MMA}|{_MMA.upper()}|(?i:cutlass|cublas|cute::|cudnn)")
# Triton, and what PyTorch computes by such a product: also x @ w, of which a decorator is none.
_IN_PYTHON = re.compile(
    rf"\bdot(?:_scaled)?\(|{_MMA}"
    r"|\b_?(?:int|scaled)?_?(?:add|badd)?b?mm\(|\b(?:matmul|einsum|tensordot|linear|bilinear|inner|mv|addmv)\("
    r"|\bconv[123]d\(|\b(?:Linear|Conv[123]d|MultiheadAttention)\(|\bscaled_dot_product_attention\b"
    r"|\bflex_attention\b|flash_attn|cutlass|cublas|[\w\])][ \t]*@=?[ \t]*[\w(]"
)


_HEADER = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)
_MODULE = re.compile(r"^\s*(?:from|import)\s+(?:roofscope\.kernels\b|\.)", re.MULTILINE)


class TensorCores(Advice, frozen=True, kw_only=True, tag="tensor cores"):
    rate: float  # FLOP/s
    float_ceiling: float  # of the FP32 units
    tensor_ceiling: float
    without_matrix_code: bool  # its recorded source has none

    @property
    def is_near_floats(self) -> bool:
        """Whether the FP32 units explain its rate."""
        return self.rate >= _BY_RATE * self.float_ceiling


def tensor_cores(case: Case) -> TensorCores | None:
    spec, roof, rate = case.spec, case.roof, case.point.achieved_flop_rate
    if spec is None or spec.pipe is not Pipe.TENSOR or roof is None or not rate or not case.is_far:
        return None
    is_short = case.point.job.workload.dtype is not Dtype.FLOAT32 or roof.bound is Bound.TF32
    floats = case.roofline.best(Bound.FP32)
    if not is_short or roof.bound.is_memory or floats is None or rate > floats.value:
        return None
    own = [file for file in case.sources if not file.name.endswith(("spec.py", "reference.py"))]
    lacks = bool(own) and not any(map(multiplies_matrices, own)) and not _uses_others(own)
    if rate < (_BY_SOURCE if lacks else _BY_RATE) * floats.value:
        return None
    return TensorCores(
        rate=rate,
        float_ceiling=floats.value,
        tensor_ceiling=roof.value,
        without_matrix_code=lacks,
        saves_s=case.headroom_s,
        is_at_most=True,
    )


def _uses_others(own: Sequence[SourceFile]) -> bool:
    """Whether files that are not recorded may hold the product: headers, and modules that kernels share."""
    cuda = [file for file in own if not file.name.endswith(".py")]
    pattern = _HEADER if cuda else _MODULE
    return any(pattern.search(file.text) for file in cuda or own)


def multiplies_matrices(file: SourceFile) -> bool:
    """By its text without comments, which may speak of what they do not do."""
    if file.name.endswith(".py"):
        return bool(_IN_PYTHON.search(re.sub(r'""".*?"""|#[^\n]*', "", file.text, flags=re.DOTALL)))
    return bool(_IN_CUDA.search(re.sub(r"//[^\n]*|/\*.*?\*/", "", file.text, flags=re.DOTALL)))

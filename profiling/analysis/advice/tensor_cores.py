"""A product of short types at a rate that the plain float units explain: the tensor cores idle.

Threshold: below the device's own measured FP32 ceiling, of which it reaches a tenth at least where its
source does not multiply matrices, and 0.3 otherwise: what is slower has another cause first. What the
tensor pipe's ceiling leaves is the most that it saves.
"""

import re

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.spec import Dtype, Pipe
from roofscope.profiling.roofline.roofline import Bound

_BY_RATE = 0.3
# PTX mma and wgmma, WMMA, CUTLASS and Triton.
_MATRIX_CODE = re.compile(r"mma|tl\.dot|cutlass|cublas|torch\.(mm|matmul|addmm)", re.IGNORECASE)


class TensorCores(Advice, frozen=True, kw_only=True, tag="tensor cores"):
    rate: float  # FLOP/s
    float_ceiling: float  # of the FP32 units
    tensor_ceiling: float
    without_matrix_code: bool  # its recorded source has none


def tensor_cores(case: Case) -> TensorCores | None:
    spec, roof, rate = case.spec, case.roof, case.point.achieved_flop_rate
    if spec is None or spec.pipe is not Pipe.TENSOR or roof is None or not rate or not case.is_far:
        return None
    is_short = case.point.job.workload.dtype is not Dtype.FLOAT32 or roof.bound is Bound.TF32
    floats = case.roofline.best(Bound.FP32)
    if not is_short or roof.bound.is_memory or floats is None or rate > floats.value:
        return None
    own = [file.text for file in case.sources if not file.name.endswith(("spec.py", "reference.py"))]
    lacks = bool(own) and not any(_MATRIX_CODE.search(_code(text)) for text in own)
    if not lacks and rate < _BY_RATE * floats.value:
        return None
    return TensorCores(
        rate=rate,
        float_ceiling=floats.value,
        tensor_ceiling=roof.value,
        without_matrix_code=lacks,
        saves_s=case.headroom_s,
        is_at_most=True,
    )


def _code(text: str) -> str:
    """Without comments, which may speak of what they do not do."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|#(?!include)[^\n]*|\"\"\".*?\"\"\"", "", text, flags=re.DOTALL)

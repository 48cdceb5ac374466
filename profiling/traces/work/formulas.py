"""The work of an operator by its name and its recorded arguments."""

from collections.abc import Mapping
from typing import Any

from roofscope.profiling.traces.work import attention, elementwise, matmul
from roofscope.profiling.traces.work.call import UnknownWork, call_of
from roofscope.profiling.traces.work.operator_work import OperatorWork

__all__ = ("UnknownWork", "work_of")

_FORMULAS = {**elementwise.FORMULAS, **matmul.FORMULAS, **attention.FORMULAS}
_BY_INDEX = "which rows it reads depends on the indices"
_WHY_NOT = {
    "aten::embedding": _BY_INDEX,
    "aten::embedding_dense_backward": _BY_INDEX,
    "aten::gather": _BY_INDEX,
    "aten::index": _BY_INDEX,
    "aten::index_select": _BY_INDEX,
    "aten::cat": "the types of a list of tensors are not recorded",
    "aten::_fused_adamw_": "the types of a list of tensors are not recorded",
    "aten::_fused_adam_": "the types of a list of tensors are not recorded",
}


def work_of(name: str, arguments: Mapping[str, Any]) -> OperatorWork:
    """Raises UnknownWork with half a sentence. Nothing is guessed."""
    formula = _FORMULAS.get(name)
    if formula is None:
        if name.startswith("triton_"):
            raise UnknownWork("which of its tensors a fused kernel reads and which it writes is not recorded")
        if name.startswith("aten::_foreach_"):
            raise UnknownWork("the types of a list of tensors are not recorded")
        raise UnknownWork(_WHY_NOT.get(name, "no formula for it is here"))
    return formula(call_of(name, arguments))

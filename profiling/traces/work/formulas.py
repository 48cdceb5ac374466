"""The work of an operator by its name and its recorded arguments."""

from collections.abc import Mapping
from typing import Any

from roofscope.profiling.traces.work import (
    attention,
    convolution,
    elementwise,
    matmul,
    norms,
    reductions,
    resampling,
)
from roofscope.profiling.traces.work.call import UnknownWork, call_of
from roofscope.profiling.traces.work.operator_work import OperatorWork

__all__ = ("UnknownWork", "work_of")

_KINDS = (elementwise, reductions, norms, resampling, matmul, convolution, attention)
_FORMULAS = {name: formula for kind in _KINDS for name, formula in kind.FORMULAS.items()}
_BY_INDEX = "which elements it takes depends on the indices"
_INDEXED = (
    *(
        "aten::embedding",
        "aten::embedding_dense_backward",
        "aten::_embedding_bag",
        "aten::gather",
        "aten::take",
    ),
    *("aten::index", "aten::index_select", "aten::_index_put_impl_", "aten::index_put_", "aten::index_add_"),
    *("aten::index_copy_", "aten::index_fill_", "aten::scatter_", "aten::scatter_add_"),
    *("aten::nll_loss_forward", "aten::nll_loss_backward"),
)
_OF_LISTS = "the types of a list of tensors are not recorded"
_LISTS = (
    "aten::_foreach_",
    "aten::_fused_adam",
    "aten::_fused_sgd",
    "aten::_fused_adagrad",
    "aten::_amp_foreach",
)
_NO_STRIDES = "the trace has no strides"
_WHY_NOT = {
    **dict.fromkeys(
        _INDEXED,
        _BY_INDEX,
    ),
    **dict.fromkeys(("aten::cat", "aten::_cat", "aten::stack"), _OF_LISTS),
    **dict.fromkeys(("aten::nonzero", "aten::masked_select"), "how many elements it gives depends on them"),
    **dict.fromkeys(("aten::tril", "aten::triu"), "it need not read the half that it clears"),
    "aten::_cudnn_rnn": _OF_LISTS,
    "aten::cudnn_convolution_backward_weight": "of its taps only a size, which is no tensor, says how many",
    "aten::_local_scalar_dense": "it copies a number to the host",
}


def work_of(name: str, arguments: Mapping[str, Any]) -> OperatorWork:
    """Raises UnknownWork with half a sentence. Nothing is guessed."""
    formula = _FORMULAS.get(name)
    if formula is None:
        if name.startswith("triton_"):
            raise UnknownWork("which of its tensors a fused kernel reads and which it writes is not recorded")
        if name.startswith(_LISTS):
            raise UnknownWork(_OF_LISTS)
        raise UnknownWork(_WHY_NOT.get(name, "no formula for it is here"))
    work = formula(call_of(name, arguments))
    if not work.flop_count and work.read_bytes is None:
        raise UnknownWork(_NO_STRIDES)
    return work

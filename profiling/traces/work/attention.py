"""Attention by FlashAttention, by the memory-efficient kernels and by cuDNN.

Forward: two products, 2 b h pairs (d + dv) FLOPs. Backward: five, because the scores are computed again,
2 b h pairs (3 d + 2 dv) (Dao et al. 2022, "FlashAttention"; sdpa_flop and sdpa_backward_flop of
`torch.utils.flop_counter`). Pairs are those of a query and a key that the mask leaves: all of them, or with a
causal mask s (s + 1) / 2, as in this program's own kernels; torch's counter takes all of them there too. The
softmax between the products is not counted. Results are the output and a float32 sum a query.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from roofscope.profiling.traces.work.call import Call, Operand, itemsize, type_label, unknown
from roofscope.profiling.traces.work.operator_work import OperatorWork, bytes_of

_SUM_BYTES = 4  # float32


class _Form(Struct, frozen=True):
    """Where an operator has its arguments, of which -1 is none."""

    q: int  # k and v stand behind it
    heads_first: bool  # [b, h, s, d], else [b, s, h, d]
    unset: tuple[int, ...]  # lengths of sequences, windows, slopes: given, they leave other pairs
    bias: int = -1
    causal: int = -1  # a flag
    mask_type: int = -1  # 0 is none, 1 and 2 are causal
    keeps_sums: int = -1  # forward: a flag; -1 is always
    out: int = -1  # backward: the sums stand behind it, or at ``sums``
    sums: int = -1
    bias_gradient: int = -1


_FORWARD: Mapping[str, _Form] = {
    "aten::_flash_attention_forward": _Form(0, False, (3, 4, 11, 12, 13, 14), causal=8),
    "aten::_efficient_attention_forward": _Form(0, False, (4, 5, 12, 13), bias=3, mask_type=9, keeps_sums=10),
    # Those above these, which launch by themselves where a release has no operator below.
    "aten::_scaled_dot_product_flash_attention": _Form(0, True, (), causal=4),
    "aten::_scaled_dot_product_efficient_attention": _Form(0, True, (), bias=3, causal=6, keeps_sums=4),
    "aten::_scaled_dot_product_cudnn_attention": _Form(0, True, (), bias=3, causal=6, keeps_sums=4),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _Form(0, True, (), bias=5, causal=4),
    "aten::_cudnn_attention_forward": _Form(0, True, (4, 5, 13, 14), bias=3, causal=10, keeps_sums=8),
}
_BACKWARD: Mapping[str, _Form] = {
    "aten::_flash_attention_backward": _Form(1, False, (6, 7, 15, 16), causal=11, out=4, sums=5),
    "aten::_efficient_attention_backward": _Form(
        1, False, (6, 7, 18), bias=4, mask_type=14, out=5, sums=10, bias_gradient=15
    ),
    "aten::_scaled_dot_product_flash_attention_backward": _Form(1, True, (6, 7), causal=11, out=4, sums=5),
    "aten::_scaled_dot_product_efficient_attention_backward": _Form(
        1, True, (), bias=4, causal=11, out=5, sums=6
    ),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Form(
        1, True, (9, 10), bias=8, causal=14, out=4, sums=5
    ),
    "aten::_cudnn_attention_backward": _Form(1, True, (9, 10), bias=8, causal=14, out=4, sums=5),
}


class _Sizes(Struct, frozen=True):
    batch_heads: int
    queries: int
    keys: int
    depth: int
    value_depth: int

    def pairs(self, is_causal: bool) -> int:
        if not is_causal:
            return self.queries * self.keys
        if self.queries != self.keys:
            unknown("which pairs a causal mask leaves between sequences of two lengths is not recorded")
        return self.queries * (self.queries + 1) // 2


def _sizes(q: Operand, k: Operand, v: Operand, form: _Form) -> _Sizes:
    if any(len(each.dims) != 4 for each in (q, k, v)):
        unknown("its recorded shapes do not fit")
    batch, heads, queries = (
        q.dims[0],
        q.dims[1 if form.heads_first else 2],
        q.dims[2 if form.heads_first else 1],
    )
    keys = k.dims[2 if form.heads_first else 1]
    if q.dims[3] != k.dims[3] or k.dims[:3] != v.dims[:3] or k.dims[0] != batch:
        unknown("its recorded shapes do not fit")
    return _Sizes(batch * heads, queries, keys, q.dims[3], v.dims[3])


def _is_causal(call: Call, form: _Form) -> bool:
    if any(call.has(at) and call.dims[at] != [0] for at in form.unset if at < len(call.dims)):
        unknown("its lengths of sequences or its window are not recorded")
    if any(call.optional(at) for at in form.unset if not call.has(at)):
        unknown("its window leaves other pairs")
    if form.causal >= 0:
        return call.flag(form.causal)
    return call.number(form.mask_type) != 0


def _forward(call: Call) -> OperatorWork:
    form = _FORWARD[call.name]
    q, k, v = (call.tensor(form.q + at) for at in range(3))
    sizes, bias = _sizes(q, k, v, form), call.given(form.bias) if form.bias >= 0 else []
    sums = form.keeps_sums < 0 or call.flag(form.keeps_sums)
    rows = sizes.batch_heads * sizes.queries
    return OperatorWork(
        type_label(q.dtype),
        2 * sizes.batch_heads * sizes.pairs(_is_causal(call, form)) * (sizes.depth + sizes.value_depth),
        bytes_of([q, k, v, *bias]),
        rows * sizes.value_depth * itemsize(q.dtype) + rows * _SUM_BYTES * sums,
        multiplies=True,
    )


def _backward(call: Call) -> OperatorWork:
    form = _BACKWARD[call.name]
    q, k, v = (call.tensor(form.q + at) for at in range(3))
    sizes, bias = _sizes(q, k, v, form), call.given(form.bias) if form.bias >= 0 else []
    if bias and (form.bias_gradient < 0 or call.flag(form.bias_gradient)):
        unknown("whether the mask gets a gradient is not recorded")
    read = [call.tensor(form.q - 1), q, k, v, call.tensor(form.out), call.tensor(form.sums), *bias]
    return OperatorWork(
        type_label(q.dtype),
        2
        * sizes.batch_heads
        * sizes.pairs(_is_causal(call, form))
        * (3 * sizes.depth + 2 * sizes.value_depth),
        bytes_of(read),
        sum(each.elements * itemsize(each.dtype) for each in (q, k, v)),
        multiplies=True,
    )


FORMULAS: Mapping[str, Callable[[Call], OperatorWork]] = {
    **dict.fromkeys(_FORWARD, _forward),
    **dict.fromkeys(_BACKWARD, _backward),
}

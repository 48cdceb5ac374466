"""The work of recorded operators beside what torch gives for the same calls: results, and its counted FLOPs.

Each is called on the CPU under torch's own profiler, whose file is read back: so the places of arguments are
those of the torch that is installed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec import Struct
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from roofscope.profiling.traces.reading import open_trace
from roofscope.profiling.traces.work.formulas import work_of
from roofscope.profiling.traces.work.operator_work import OperatorWork

aten: Any = torch.ops.aten


class Case(Struct, frozen=True):
    """A call; the places of tensors that it need not read, and of those that it writes beside its results."""

    op: Any
    arguments: Callable[[], Sequence[Any]]
    unread: tuple[int, ...] = ()
    written: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"aten::{self.op.overloadpacket.__name__}"


def some(*dims: int, dtype: torch.dtype = torch.float32) -> Tensor:
    torch.manual_seed(1)
    return torch.randn(dims).to(dtype)


def recorded(case: Case, folder: Path) -> tuple[OperatorWork, Sequence[Any], Any]:
    """What is found in the trace, the arguments and the results."""
    arguments = case.arguments()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recording:
        results = case.op(*arguments)
    path = folder / "trace.json"
    recording.export_chrome_trace(str(path))
    trace = open_trace(path)
    at = next(at for at in range(len(trace.slices)) if trace.name_of(at) == case.name)
    return work_of(case.name, trace.arguments_of(at)), arguments, results


def byte_count(tensors: Sequence[Any]) -> int:
    return sum(one.nbytes for one in tensors if isinstance(one, Tensor) and one.dim())


def check_bytes(case: Case, work: OperatorWork, arguments: Sequence[Any], results: Any) -> None:
    read = [one for at, one in enumerate(arguments) if at not in case.unread]
    written = [
        *(results if isinstance(results, tuple) else (results,)),
        *(arguments[at] for at in case.written),
    ]
    assert work.read_bytes == byte_count(read)
    assert work.write_bytes == sum(one.nbytes for one in written)


X, IMAGE = (lambda: some(6, 50, 40)), (lambda: some(4, 8, 12, 10))
SAME = ([1, 1], [1, 1], [1, 1], False, [0, 0])
MULTIPLYING = [
    Case(aten.mm.default, lambda: (some(30, 20), some(20, 50))),
    Case(aten.addmm.default, lambda: (some(50), some(30, 20), some(20, 50))),
    Case(aten.bmm.default, lambda: (some(3, 30, 20), some(3, 20, 50))),
    Case(aten.baddbmm.default, lambda: (some(3, 30, 50), some(3, 30, 20), some(3, 20, 50))),
    Case(aten.convolution.default, lambda: (IMAGE(), some(16, 8, 3, 3), some(16), *SAME, 1)),
    Case(aten.convolution.default, lambda: (IMAGE(), some(16, 4, 3, 3), None, [2, 2], *SAME[1:], 2)),
    Case(
        aten.convolution.default,
        lambda: (IMAGE(), some(8, 16, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ),
]
MOVING = [
    Case(
        aten._slow_conv2d_forward.default, lambda: (IMAGE(), some(16, 8, 3, 3), [3, 3], None, [2, 2], [1, 1])
    ),
    Case(
        aten.mkldnn_convolution.default,
        lambda: (IMAGE(), some(16, 8, 3, 3), some(16), [1, 1], [2, 2], [1, 1], 1),
    ),
    Case(aten.mv.default, lambda: (some(30, 20), some(20))),
    Case(aten.addmv.default, lambda: (some(30), some(30, 20), some(20))),
    Case(aten.dot.default, lambda: (some(30), some(30))),
    Case(aten._int_mm.default, lambda: (some(32, 24, dtype=torch.int8), some(24, 16, dtype=torch.int8))),
    Case(aten._addmm_activation.default, lambda: (some(50), some(30, 20), some(20, 50))),
    Case(aten.where.self, lambda: (X() > 0, X(), X())),
    Case(aten.masked_fill_.Scalar, lambda: (X(), X() > 0, 1.0)),
    Case(aten.addcmul.default, lambda: (X(), X(), X())),
    Case(aten.lerp.Scalar, lambda: (X(), X(), 0.5)),
    Case(aten.lerp.Tensor, lambda: (X(), X(), X())),
    Case(aten.clamp.default, lambda: (X(), 0.0, 1.0)),
    Case(aten.clamp.Tensor, lambda: (X(), X(), X())),
    Case(aten.pow.Tensor_Tensor, lambda: (X(), X())),
    Case(aten.pow.Tensor_Scalar, lambda: (X(), 3.0)),
    Case(aten.logical_and.default, lambda: (X(), X())),
    Case(aten.isnan.default, lambda: (X(),)),
    Case(aten.normal_.default, lambda: (X(),), unread=(0,)),
    Case(aten.uniform_.default, lambda: (X(),), unread=(0,)),
    Case(aten.bernoulli_.float, lambda: (X(), 0.5), unread=(0,)),
    Case(aten.native_dropout.default, lambda: (X(), 0.5, True)),
    Case(aten.max.default, lambda: (X(),)),
    Case(aten.max.dim, lambda: (X(), 1)),
    Case(aten.min.dim, lambda: (X(), -1, True)),
    Case(aten.argmax.default, lambda: (X(), 1)),
    Case(aten.argmax.default, lambda: (X(),)),
    Case(aten.all.dim, lambda: (X() > 0, 1)),
    Case(aten.any.default, lambda: (X() > 0,)),
    Case(aten.var.correction, lambda: (X(), [1])),
    Case(aten.var_mean.correction, lambda: (X(), [0, 2])),
    Case(aten.std.default, lambda: (X(), False)),
    Case(aten.linalg_vector_norm.default, lambda: (X(), 2, [2])),
    Case(aten.cumsum.default, lambda: (X(), 2)),
    Case(aten.cumprod.default, lambda: (X(), 0)),
    Case(aten.sort.default, lambda: (X(), 1)),
    Case(aten.topk.default, lambda: (X(), 7, 1)),
    Case(aten.sum.default, lambda: (X(),)),
    Case(aten.sum.dim_IntList, lambda: (X(), [0, 2])),
    Case(aten.mean.dim, lambda: (X(), [-1], True)),
    Case(aten.native_group_norm.default, lambda: (IMAGE(), some(8), some(8), 4, 8, 120, 2, 1e-5)),
    Case(
        aten.native_batch_norm.default,
        lambda: (IMAGE(), some(8), some(8), some(8), some(8).abs(), True, 0.1, 1e-5),
        written=(3, 4),
    ),
    Case(
        aten.native_batch_norm_backward.default,
        lambda: (IMAGE(), IMAGE(), some(8), *[some(8)] * 4, True, 1e-5, [True, True, True]),
        unread=(3, 4),
    ),
    Case(
        aten.native_group_norm_backward.default,
        lambda: (IMAGE(), IMAGE(), some(4, 2), some(4, 2), some(8), 4, 8, 120, 2, [True, True, True]),
    ),
    Case(aten.native_layer_norm.default, lambda: (X(), [40], some(40), some(40), 1e-5)),
    Case(aten._softmax.default, lambda: (X(), 2, False)),
    Case(aten._softmax_backward_data.default, lambda: (X(), X(), 2, torch.float32)),
    Case(aten.max_pool2d_with_indices.default, lambda: (IMAGE(), [3, 3], [2, 2], [1, 1])),
    Case(aten.max_pool2d_with_indices.default, lambda: (IMAGE(), [3, 3], [2, 2], [1, 1], [1, 1], True)),
    Case(aten.avg_pool2d.default, lambda: (IMAGE(), [5, 3], [3, 3], [0, 1], True)),
    Case(aten.avg_pool2d.default, lambda: (IMAGE(), [2, 2])),
    Case(aten._adaptive_avg_pool2d.default, lambda: (IMAGE(), [1, 1])),
    Case(aten.upsample_nearest2d.default, lambda: (IMAGE(), [24, 20])),
    Case(aten.upsample_bilinear2d.default, lambda: (IMAGE(), [24, 20], True)),
    Case(aten.upsample_nearest2d_backward.default, lambda: (some(4, 8, 24, 20), [24, 20], [4, 8, 12, 10])),
]


@pytest.mark.parametrize("case", MULTIPLYING, ids=lambda case: case.name)
def test_flops_are_torchs_own_count(case: Case, tmp_path: Path) -> None:
    with FlopCounterMode(display=False) as counter:
        case.op(*case.arguments())
    work, arguments, results = recorded(case, tmp_path)
    assert work.flop_count == counter.get_total_flops() > 0
    check_bytes(case, work, arguments, results)


@pytest.mark.parametrize("case", MOVING, ids=lambda case: case.name)
def test_bytes_are_those_of_arguments_and_results(case: Case, tmp_path: Path) -> None:
    work, arguments, results = recorded(case, tmp_path)
    check_bytes(case, work, arguments, results)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_torchs_own_count_but_for_the_mask(causal: bool, tmp_path: Path) -> None:
    """Of a causal mask only the pairs that it leaves count; torch counts all."""
    q = some(2, 4, 32, 16)
    case = Case(aten._scaled_dot_product_flash_attention_for_cpu.default, lambda: (q, q, q, 0.0, causal))
    work, arguments, results = recorded(case, tmp_path)
    pairs = 32 * 33 // 2 if causal else 32 * 32
    assert work.flop_count == 2 * 2 * 4 * pairs * (16 + 16)
    check_bytes(case, work, arguments, results)

"""Gradients of attention over short sequences on a Hopper GPU: every way to share steps, early starts."""

import functools
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import (
    CATALOG,
    Tensors,
    random_inputs,
    reference,
    relative_error,
)

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.kernels.shared import wgmma_attention_backward
from roofscope.kernels.shared.short_attention_backward import Short
from roofscope.profiling.worker.build.providers import cuda

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="wgmma is in compute capability 9.0 only",
)
NAMES = ["attention_backward", "attention_backward_causal"]
PLANS = [  # dim and way
    *((64, Short("short_64", parts, stages, 1)) for parts, stages in ((1, 2), (1, 5), (2, 2), (8, 3))),
    *((64, Short("short_crowded_64", parts, stages, 1)) for parts, stages in ((1, 3), (4, 2))),
    *((128, Short("short_128", parts, stages, 1)) for parts, stages in ((1, 2), (1, 5), (2, 5), (8, 2))),
    *((128, Short("short_wide_128", 1, stages, 2)) for stages in (2, 4)),
]
SEQS = (1, 63, 64, 65, 257, 500, 1000)  # a part has no step, and a stage is filled again


@functools.cache
def built(name: str, dtype: Dtype) -> tuple[Kernel, Any, cuda.CudaProgram]:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    device = torch.device("cuda", 0)
    program = cuda.CudaProgram(kernel.folder / "cuda_wgmma.cu", dtype, "sm_90a", device)
    return kernel, load_module(kernel.folder / "cuda_wgmma.py"), program


@pytest.mark.parametrize("dtype", [Dtype.FLOAT16, Dtype.BFLOAT16], ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dim", "plan"), PLANS)
def test_gradients_are_right_however_steps_are_shared(
    dim: int, plan: Short, name: str, dtype: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, module, program = built(name, dtype)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: plan)
    for seq in SEQS:
        sizes = {"batch": 2, "heads": 3, "seq": seq, "dim": dim}
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        found = module.run(program, *inputs)
        for one, wanted in zip(found, reference(kernel, inputs), strict=True):
            assert relative_error((one,), (wanted,)) <= kernel.spec.tolerance.of(dtype), str(sizes)


@pytest.mark.parametrize(("dim", "plan"), PLANS)
def test_every_call_gives_the_same(dim: int, plan: Short, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, module, program = built("attention_backward", Dtype.BFLOAT16)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: plan)
    sizes = {"batch": 2, "heads": 3, "seq": 577, "dim": dim}
    inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    first = module.run(program, *inputs)
    for _ in range(5):
        assert all(map(torch.equal, module.run(program, *inputs), first))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dim", "plan"), [(64, None), (128, None), *PLANS])
def test_a_call_waits_for_the_one_in_front(
    dim: int, plan: Short | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a graph, kernels write the inputs of each two calls, of which the second follows the first.

    Without a plan by the kernels for long sequences, which start early too.
    """
    kernel, module, program = built(name, Dtype.BFLOAT16)
    monkeypatch.setattr(wgmma_attention_backward, "short_plan", lambda *_, **__: plan)
    for seq in (65, 321):
        sizes = {"batch": 2, "heads": 3, "seq": seq, "dim": dim}
        sources = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        others = tuple(tensor.flip(0, 1) for tensor in sources)  # other heads in the same places
        inputs = tuple(map(torch.clone, sources))
        module.run(program, *inputs)
        graph, outputs = torch.cuda.CUDAGraph(), list[Tensors]()
        with torch.cuda.graph(graph):
            for written in (others, sources, others):
                for to, of in zip(inputs, written, strict=True):
                    torch.add(of, 0, out=to)
                module.run(program, *inputs)
                outputs.append(module.run(program, *inputs))
        graph.replay()
        torch.cuda.synchronize()
        for written, found in zip((others, sources, others), outputs, strict=True):
            error = relative_error(found, reference(kernel, written))
            assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), str(sizes)

"""The gated delta rule where its chunked form is hard: gates that forget nothing, keys that are alike."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.kernels.gated_delta_rule import reference as judge
from roofscope.kernels.gated_delta_rule.reference import derive, run, unit
from roofscope.kernels.gated_delta_rule.spec import SPEC, sizes
from roofscope.profiling.planning.catalog import Kernel
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, eager, random_inputs, reference, relative_error

LONG = sizes(1, 64 * 40 + 3, 1, 1, 64)  # two segments, and more


def inputs_of(size: dict[str, int]) -> list[torch.Tensor]:
    return list(random_inputs(_kernel(), size, SPEC.dtypes[0]))


def _kernel() -> Kernel:
    kernel = CATALOG.kernel("gated_delta_rule")
    assert kernel is not None
    return kernel


def by_triton(interpreters: ProcessPoolExecutor, inputs: Tensors) -> Tensors:
    path = _kernel().folder / "triton_segments.py"
    names = [str(x.dtype).removeprefix("torch.") for x in inputs]
    arrays = [x.double().numpy() for x in inputs]
    outputs, _ = interpreters.submit(interpreter.run, path, names, arrays).result()
    return tuple(torch.from_numpy(output) for output in outputs)


@pytest.mark.parametrize("gates", [1.0, 0.05, 0.0])
def test_a_segment_begins_early_enough(interpreters: ProcessPoolExecutor, gates: float) -> None:
    """Where gates forget within a segment, across some of them, and never."""
    pytest.importorskip("triton", reason="Triton is not installed here")
    q, k, v, g, beta = inputs_of(LONG)
    inputs = (q, k, v, g * gates, beta)
    error = relative_error(by_triton(interpreters, inputs), reference(_kernel(), inputs))
    assert error <= SPEC.tolerance.of(SPEC.dtypes[0])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_keys_that_are_alike_can_be_told_apart(interpreters: ProcessPoolExecutor, noise: float) -> None:
    """The triangular system of a chunk has ones below its diagonal then, and its inverse cancels them."""
    pytest.importorskip("triton", reason="Triton is not installed here")
    q, k, v, g, _ = inputs_of(sizes(1, 200, 1, 1, 64))
    generator = torch.Generator().manual_seed(2)
    k = k[:, :1] + noise * torch.randn(k.shape, generator=generator).to(k.dtype)
    inputs = (q, k, v, torch.zeros_like(g), torch.ones_like(g))
    expected, limit = reference(_kernel(), inputs), SPEC.tolerance.of(SPEC.dtypes[0])
    assert relative_error(eager(_kernel(), inputs), expected) <= limit
    assert relative_error(by_triton(interpreters, inputs), expected) <= limit


@pytest.mark.parametrize(("seq", "groups", "magnitude"), [(1, 1, 1.0), (130, 3, 1.0), (200, 2, 8.0)])
def test_the_reference_says_what_the_recurrence_says(
    monkeypatch: pytest.MonkeyPatch, seq: int, groups: int, magnitude: float
) -> None:
    """It goes by pieces of chunks, of which the last may be short; here a token at a time."""
    monkeypatch.setattr(judge, "PIECE", 2 * judge.CHUNK)
    q, k, v = (
        magnitude * (2 * torch.rand(2, seq, heads, 16, dtype=torch.float64) - 1)
        for heads in (2, 2, 2 * groups)
    )
    g, beta = (x.double() for x in derive(q, k, v))
    keys, queries = (unit(x).repeat_interleave(groups, dim=2) for x in (k, q))
    state, right = torch.zeros(2, 2 * groups, 16, 16, dtype=torch.float64), torch.empty_like(v)
    for t in range(seq):
        state = g[:, t].exp()[..., None, None] * state
        answer = torch.einsum("bhk,bhkv->bhv", keys[:, t], state)
        written = beta[:, t, :, None] * (v[:, t] - answer)
        state = state + keys[:, t, :, :, None] * written[:, :, None, :]
        right[:, t] = torch.einsum("bhk,bhkv->bhv", queries[:, t], state) / 4
    torch.testing.assert_close(run(q, k, v, g, beta), right, rtol=1e-12, atol=1e-13)

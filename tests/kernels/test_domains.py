"""What sizes implementations state and what sizes they refuse are the same: on tensors without memory."""

import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from unittest.mock import MagicMock

import pytest
import torch

import roofscope
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.domain import first_inside, is_inside
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels.cases import implementations, name_of

pytest.importorskip("triton", reason="Triton is not installed here")
from roofscope.kernels.matmul_fp8_blocks import scaled_blocks
from roofscope.kernels.shared import (
    gluon_attention,
    loose_fp8,
    loose_tf32,
    wgmma_attention,
    wgmma_attention_backward,
    wgmma_matmul,
    wgmma_pitched,
)

COMPARED = ("liger", "quack", "fa4", "cub", "cublaslt", "flashinfer", "xqa")
OURS = [*implementations(Provider.TRITON, Provider.CUDA)]
LIBRARIES = [pair for pair in implementations(Provider.LIBRARY) if pair[1].variant in COMPARED]
HAS_CUTE = find_spec("nvidia_cutlass_dsl") is not None
OURS += implementations(Provider.CUTE) if HAS_CUTE else ()
# Where a limit may lie: before each of these numbers, at it and after it.
LIMITS = (
    *(1, 64, 128, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 2**17, 2**18, 2**19, 2**20, 65535 * 32),
    *(2**24 - 128, 2**25 - 128, 2**30, 2**31 - 2**20, 2**31 - 2**12, 65535 * 32768, 2**31),
)
CUTE = ("cutlass", "flash_attn", "flash_attn.cute", "flash_attn.cute.interface")
QUACK = (
    *("", ".compile_utils", ".cross_entropy", ".cute_dsl_utils", ".rmsnorm", ".rotary", ".softmax"),
    *(".gemm_interface", ".epilogue", ".epilogue.library"),
)
FLASHINFER = ("flashinfer", "flashinfer.decode", "flashinfer.topk")
LIGER = ("softmax", "rms_norm", "layer_norm", "fused_add_rms_norm", "swiglu", "cross_entropy", "utils")


@pytest.fixture(autouse=True)
def anything_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that take anything, and a Hopper: what is refused is refused for its sizes."""
    ligers = (f"liger_kernel{name}" for name in ("", ".ops", *(f".ops.{name}" for name in LIGER)))
    quacks = (f"quack{name}" for name in QUACK)
    for name in (*ligers, *quacks, *(() if HAS_CUTE else CUTE), *FLASHINFER, "cuda.compute"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    # The first launch ends a call of theirs as of ours: of few rows at a time there are millions.
    launcher = sys.modules["liger_kernel.ops.cross_entropy"].liger_cross_entropy_kernel
    launcher.__getitem__.return_value = no_launch
    for name in ("cross_entropy", "linear_cross_entropy_training"):  # may have been loaded with others
        monkeypatch.delitem(sys.modules, f"roofscope.kernels.{name}.library_liger", raising=False)
    monkeypatch.delitem(sys.modules, "roofscope.kernels.shared.fa4", raising=False)
    of_attention = (gluon_attention, wgmma_attention, wgmma_attention_backward)
    of_products = (loose_fp8, loose_tf32, scaled_blocks, wgmma_matmul, wgmma_pitched)
    for module in (roofscope, *of_attention, *of_products):
        monkeypatch.setattr(module, "needs_hopper", lambda *_: None)


def sizes_to_try(kernel: Kernel) -> Iterator[dict[str, int]]:
    """One axis at a time round the limits; the others are small, and such as no version refuses."""
    usual = {axis.name: 64 for axis in kernel.spec.axes}
    for small in (usual, dict.fromkeys(usual, 513) | ({"dim": 64} if "dim" in usual else {})):
        yield small
        for axis in kernel.spec.axes:
            sizes = {number + step for number in LIMITS for step in (-1, 0, 1, 8)}
            yield from ({**small, axis.name: size} for size in sorted(sizes) if size >= max(axis.minimum, 1))


def can_be_counted(kernel: Kernel, sizes: dict[str, int]) -> bool:
    """Whether torch counts the bytes of its tensors, in 64 bits."""
    shapes = (kernel.spec.shape(tensor, sizes) for tensor in kernel.spec.inputs)
    return all(math.prod(shape) < 2**59 for shape in shapes)


def takes(run: Callable[..., object], kernel: Kernel, sizes: dict[str, int], dtype: Dtype) -> bool:
    """Whether a version goes on to its launch, which fails here: there is no device and no memory."""
    inputs = [
        torch.empty(
            kernel.spec.shape(tensor, sizes), dtype=getattr(torch, tensor.element_at(dtype)), device="meta"
        )
        for tensor in kernel.spec.inputs
    ]
    try:
        run(*inputs)
    except Refusal:
        return False
    except Exception:  # noqa: BLE001  # of Triton, without a driver, or of a tensor without an address
        return True
    return True


def no_launch(*_: object, **__: object) -> None:
    """The first one ends the call: a refusal must come before it, and some calls have thousands more."""
    raise RuntimeError("there is no device")


def run_of(kernel: Kernel, version: Implementation) -> Callable[..., object]:
    run = load_module(kernel.folder / f"{version.stem}.py").run
    if version.provider is not Provider.CUDA:
        return run
    program = MagicMock()
    program.launch = no_launch
    return partial(run, program)


@pytest.mark.parametrize(("kernel", "version"), [*OURS, *LIBRARIES], ids=name_of)
def test_the_domain_is_what_the_code_takes(kernel: Kernel, version: Implementation) -> None:
    run, tried = run_of(kernel, version), 0
    for dtype in {dtype.itemsize: dtype for dtype in kernel.spec.dtypes}.values():
        others = [sizes for sizes in sizes_to_try(kernel) if can_be_counted(kernel, sizes)]
        usual = next(sizes for sizes in others if is_inside(version.domain, sizes, dtype))
        if not takes(run, kernel, usual, dtype):
            continue  # it refuses the dtype
        wrong = [
            sizes
            for sizes in others
            if is_inside(version.domain, sizes, dtype) is not takes(run, kernel, sizes, dtype)
        ]
        assert not wrong, f"domain {version.domain!r} in {dtype}, but at {wrong[:5]}"
        tried += len(others)
    assert tried


@pytest.mark.parametrize(
    ("kernel", "version"), [pair for pair in implementations(*Provider) if pair[1].domain], ids=name_of
)
def test_every_domain_has_an_odd_size_to_verify(kernel: Kernel, version: Implementation) -> None:
    for dtype in kernel.spec.dtypes:
        assert first_inside(version.domain, kernel.spec.odd_sizes, dtype) is not None

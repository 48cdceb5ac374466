"""What tests of users' files have an interpreting process do: see interpreter.py.

The process has no device, while files ask Triton for the active one: it says that it is the CPU.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.one_file.parts import REFERENCE, Parts, read_parts
from roofscope.profiling.planning.spec import Dtype, TensorSpec
from roofscope.profiling.worker.build.own_file import entry_module
from roofscope.profiling.worker.inputs import as_tuple


def errors(form: Path, dtype: str, sizes: dict[str, int]) -> dict[str, float]:
    """norm(y - reference) / norm(reference) of each function that a form calls, the worst of its outputs."""
    _stand_in_for_a_device()
    parts = read_parts(form)
    torch.manual_seed(0)
    sizes = {**parts.spec.presets[0].sizes, **sizes}
    inputs = [_tensor(one, Dtype(dtype), sizes) for one in parts.spec.inputs]
    right = _called(parts, REFERENCE, Dtype(dtype), [_exact(one) for one in inputs])
    own = [one.stem for one in parts.implementations if one.stem.startswith(("triton_", "eager_"))]
    return {stem: _worst(_called(parts, stem, Dtype(dtype), inputs), right) for stem in own}


def _called(parts: Parts, stem: str, dtype: Dtype, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return as_tuple(entry_module(parts.entries[stem], dtype).run(*(one.clone() for one in inputs)))


def _tensor(spec: TensorSpec, dtype: Dtype, sizes: dict[str, int]) -> torch.Tensor:
    shape = tuple(evaluate(one, sizes) for one in spec.shape)
    kind: torch.dtype = getattr(torch, spec.element_at(dtype))
    if kind.is_floating_point:
        return torch.randn(shape).to(kind)
    below = evaluate(spec.below, sizes) if spec.below else 2
    return torch.randint(0, below, shape).to(kind)


def _exact(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _worst(found: tuple[torch.Tensor, ...], right: tuple[torch.Tensor, ...]) -> float:
    assert [one.shape for one in found] == [one.shape for one in right]
    worst = 0.0
    for y, r in zip(found, right, strict=True):
        norm: Callable[[torch.Tensor], torch.Tensor] = torch.linalg.vector_norm
        worst = max(worst, norm(y.double() - r).item() / max(norm(r.double()).item(), 1e-30))
    return worst


def _stand_in_for_a_device() -> None:
    from triton.runtime import driver

    class _Utils:
        def get_device_properties(self, _device: object) -> dict[str, int]:
            return {
                "multiprocessor_count": 4, "max_num_regs": 65536, "max_shared_mem": 232448, "warpSize": 32,
            }  # fmt: skip

    class _Driver:
        utils = _Utils()

        def get_active_torch_device(self) -> torch.device:
            return torch.device("cpu")

        def get_current_target(self) -> Any:
            from triton.backends.compiler import GPUTarget

            return GPUTarget("cuda", 90, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, _device: object = None) -> int:
            return 0

        def get_benchmarker(self) -> Any:
            """No configuration is the fastest here: the first one is taken."""

            def once(call: Callable[[], object], **_: object) -> list[float]:
                call()
                return [1.0, 1.0, 1.0]

            return once

        def get_device_interface(self) -> Any:
            return torch.cuda

    active: Any = _Driver()
    driver.set_active(active)
    torch.cuda.get_device_capability = lambda device=None: (8, 0)
    torch.Tensor.is_cuda = property(lambda _: True)  # pyright: ignore[reportAttributeAccessIssue]

"""Random inputs of a workload, on the device, in sets to rotate through."""

import math
from collections.abc import Callable, Sequence

import torch

from roofscope.profiling.devices.device import CACHE_LAPS, Device
from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.spec import Distribution, Dtype, Element, Fill, KernelSpec, TensorSpec
from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.failures import WrongResult

InputSet = tuple[torch.Tensor, ...]
Derive = Callable[..., Sequence[torch.Tensor]]

_WIDE_COUNT = 2**24  # elements of an 8-bit type that are filled at once


class InputMaker:
    """Makes a spec's inputs for one dtype on one device from one seed.

    ``derive`` takes all inputs and returns those that the spec calls derived, in order, in any dtype.
    ``fill`` is of inputs whose spec leaves it open.
    """

    def __init__(
        self,
        spec: KernelSpec,
        dtype: Dtype,
        device: torch.device,
        seed: int,
        derive: Derive | None = None,
        fill: Distribution = Distribution.UNIFORM,
    ) -> None:
        self._spec = spec
        self._dtype = dtype
        self._derive = derive
        self._distribution = fill
        self.device = device
        self._generator = torch.Generator(device).manual_seed(seed)

    def make(self, sizes: dict[str, int], magnitude: float = 1.0) -> InputSet:
        """Random inputs; every call gives contents never seen before.

        Zeros or constants would not do: a matrix product runs 7 to 15 % faster on them.
        """
        inputs = tuple(
            torch.empty(layout.shape, dtype=getattr(torch, layout.dtype), device=self.device)
            for layout in self.layouts(sizes)
        )
        self.refresh(inputs, sizes, magnitude)
        return inputs

    def layouts(self, sizes: dict[str, int]) -> tuple[Layout, ...]:
        """Shape and dtype of each input."""
        return tuple(
            Layout(self._spec.shape(tensor, sizes), tensor.element_at(self._dtype))
            for tensor in self._spec.inputs
        )

    def refresh_all(self, blocks: InputSet, sets: Sequence[InputSet], sizes: dict[str, int]) -> None:
        """New contents for all sets; ``blocks`` are the tensors that hold them, one for each input.

        In one go where no input is derived from others: thousands of small sets take a launch each otherwise.
        """
        if any(tensor.fill is Fill.DERIVED for tensor in self._spec.inputs):
            for inputs in sets:
                self.refresh(inputs, sizes)
        else:
            self.refresh(blocks, sizes)

    def set_bytes(self, sizes: dict[str, int]) -> int:
        """Bytes of one set's tensors and of what a call writes for them, as they lie in memory."""
        return sum(
            math.prod(self._spec.shape(tensor, sizes)) * self._dtype_of(tensor).itemsize
            for tensor in (*self._spec.inputs, *self._spec.outputs)
        )

    def refresh(self, inputs: InputSet, sizes: dict[str, int], magnitude: float = 1.0) -> None:
        """Give tensors new contents in place, which exposes a call that caches by address."""
        for tensor, spec in zip(inputs, self._spec.inputs, strict=True):
            self._fill_as(tensor, spec, sizes, magnitude)
        self._derive_into(inputs)

    def _dtype_of(self, tensor: TensorSpec) -> torch.dtype:
        return getattr(torch, tensor.element_at(self._dtype))

    def _fill_as(
        self, tensor: torch.Tensor, spec: TensorSpec, sizes: dict[str, int], magnitude: float = 1.0
    ) -> None:
        generator = self._generator
        match spec.fill:
            case Fill.UNIFORM if self._distribution is Distribution.NORMAL:
                self._fill(tensor, lambda piece: piece.normal_(0.0, magnitude, generator=generator))
            case Fill.UNIFORM:
                self._fill(tensor, lambda piece: piece.uniform_(-magnitude, magnitude, generator=generator))
            case Fill.POSITIVE:
                self._fill(tensor, lambda piece: piece.uniform_(0.5, 1.5, generator=generator))
            case Fill.INTEGER:
                below = evaluate(spec.below, sizes)
                lowest = -below // 2 if spec.element is Element.INT8 else 0
                tensor.random_(lowest, max(lowest + below, lowest + 1), generator=generator)
            case Fill.DERIVED:
                pass  # from the others, once they have their contents

    def _derive_into(self, inputs: InputSet) -> None:
        fills = [spec.fill for spec in self._spec.inputs]
        derived = [tensor for tensor, fill in zip(inputs, fills, strict=True) if fill is Fill.DERIVED]
        if derived and self._derive:
            for tensor, values in zip(derived, self._derive(*inputs), strict=True):
                tensor.copy_(values)

    def _fill(self, tensor: torch.Tensor, draw: Callable[[torch.Tensor], object]) -> None:
        if tensor.element_size() > 1:
            draw(tensor)
            return
        # Torch has no random numbers of the 8-bit types. In pieces, because float32 is four times as large.
        whole = [tensor] if tensor.is_contiguous() else tensor.unbind()  # sets with room between them
        for piece in (piece for part in whole for piece in part.view(-1).split(_WIDE_COUNT)):
            wide = torch.empty_like(piece, dtype=torch.float32)
            draw(wide)
            piece.copy_(wide)


def widened(inputs: InputSet) -> InputSet:
    """Inputs for a reference: floating-point tensors in float64, integers unchanged."""
    return tuple(tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs)


_MOST_SETS = 4096


def sets_on(device: Device, make: Callable[[int], list[InputSet]], bytes_per_set: int) -> list[InputSet]:
    """The sets that calls rotate through on this device; ``make`` makes as many as it is asked for."""
    return make(set_count(bytes_per_set, device.last_level_cache_bytes or 0, free_bytes(device)))


def bytes_a_call(tensor_bytes: int, formula_bytes: int) -> int:
    """What a call brings into the cache: the tensors as they lie in memory, or what it touches of them.

    The spec's formula is believed only where it says less, as for a lookup in a large table: a formula that
    says too much would leave too few sets, and the cache warm.
    """
    return min(tensor_bytes, formula_bytes) if formula_bytes > 0 else tensor_bytes


def set_count(bytes_per_set: int, cache_bytes: int, room_bytes: int) -> int:
    """Sets needed so that rotating touches more than 3 x the cache, and each call finds the cache cold.

    There are at least 2, but no more than fit in a quarter of the room, the free memory, which may be 1.
    """
    fitting = max(1, room_bytes // 4 // max(bytes_per_set, 1))
    return min(cold_sets(bytes_per_set, cache_bytes), fitting, _MOST_SETS)


def cold_sets(bytes_per_set: int, cache_bytes: int) -> int:
    """The same wherever there is room."""
    return max(2, -(-CACHE_LAPS * cache_bytes // max(bytes_per_set, 1)))


def as_tuple(outputs: torch.Tensor | Sequence[torch.Tensor | None] | None) -> tuple[torch.Tensor, ...]:
    """The tensors that a call returned. Raises WrongResult where that is neither a tensor nor a sequence.

    None stands for an output that was not asked for, as functions return it that may have several.
    """
    if isinstance(outputs, torch.Tensor):
        return (outputs,)
    if isinstance(outputs, tuple | list):
        return tuple(one for one in outputs if one is not None)
    kind = type(outputs).__name__
    hint = "; its run lacks a return" if outputs is None else ""
    raise WrongResult(
        FailureKind.WRONG_SHAPE, f"returned a {kind}, not a torch.Tensor or a tuple of them{hint}."
    )

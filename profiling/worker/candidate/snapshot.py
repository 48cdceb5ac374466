"""Keeps what a call returned. Nothing here knows what is right.

Its outputs must be plain tensors in memory of their own: a view of an input, or one element that stands for
many, moves fewer bytes than the kernel is credited with.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import torch

from roofscope.profiling.results.outcome import FailureKind
from roofscope.profiling.worker.candidate.messages import Layout
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputSet

_INTEGER_POISON = 85  # for integer outputs, which have no NaN
_ORDINALS = ("first", "second", "third", "fourth")


def poison(stains: Sequence[Layout], device: torch.device) -> None:
    """Leave NaN in the memory that the allocator hands out next, for outputs like these.

    A call that returns memory without writing it then returns NaN and not an earlier correct result.
    """
    kept: list[torch.Tensor] = []
    for stain in stains:
        dtype: torch.dtype = getattr(torch, stain.dtype)
        value = math.nan if dtype.is_floating_point else _INTEGER_POISON
        kept.append(torch.empty(stain.shape, dtype=dtype, device=device).fill_(value))


def snapshot(inputs: InputSet, outputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Copies of what the outputs hold now, which exposes a call that fills them after it returned.

    For the same reason a tensor class of its own is refused: it may compute only when it is read. Raises
    WrongResult.
    """
    for output in outputs:
        if type(output) is not torch.Tensor:
            raise WrongResult(
                FailureKind.NOT_PLAIN,
                f"returned a {type(output).__name__}; return a torch.Tensor, whose values are there.",
            )
        # torch.compile leaves notes of its own there, but no method of a tensor.
        if own := [name for name in vars(output) if hasattr(torch.Tensor, name)]:
            raise WrongResult(
                FailureKind.NOT_PLAIN,
                f"returned a tensor with its own {', '.join(own)}; return one as torch makes it.",
            )
    if fault := alias_fault(inputs, outputs):
        raise WrongResult(FailureKind.ALIASED, fault)
    return tuple(torch.clone(output, memory_format=torch.contiguous_format) for output in outputs)


def alias_fault(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> str | None:
    """What is wrong with the memory that the outputs lie in, in a sentence; None where each has its own.

    A view of new memory is well, such as a transposed output, or two that are halves of one tensor.
    """
    held = [(number, output) for number, output in enumerate(outputs) if output.numel()]
    for number, output in held:
        what = f"its {_nth(number)} output" if len(outputs) > 1 else "its output"
        if _overlaps_itself(output):
            return (
                f"returned {what} of shape {tuple(output.shape)} with strides {output.stride()}, where "
                "several elements are one; write each to memory of its own."
            )
        for other, tensor in enumerate(inputs):
            if _meet(_extent(output), _extent(tensor)):
                source = f"its {_nth(other)} input" if len(inputs) > 1 else "its input"
                return f"returned {what} in the memory of {source}; write it to memory of its own."
    for (number, output), (other, second) in combinations(held, 2):
        if _meet(_extent(output), _extent(second)) and _share_an_element(output, second):
            pair = f"its {_nth(number)} and its {_nth(other)} output"
            return f"returned {pair} in the same memory; write each to memory of its own."
    return None


def _nth(number: int) -> str:
    return _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"


def _steps(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Stride and size of each dimension that has several elements, the closest first."""
    steps = zip(tensor.stride(), tensor.shape, strict=True)
    return sorted((stride, size) for stride, size in steps if size > 1)


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether a dimension steps by no more than those within it reach, so that elements may be the same."""
    reach = 0
    for stride, size in _steps(tensor):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of its first byte and of the byte after its last."""
    if not tensor.numel():
        return 0, 0
    reach = sum(stride * (size - 1) for stride, size in _steps(tensor))
    return tensor.data_ptr(), tensor.data_ptr() + (reach + 1) * tensor.element_size()


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _share_an_element(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors whose extents meet have a byte in common, found by marking those of the first."""
    start = min(one.data_ptr(), other.data_ptr())
    end = max(_extent(one)[1], _extent(other)[1])
    marks = torch.zeros(end - start, dtype=torch.bool, device=one.device)

    def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
        width = tensor.element_size()
        strides = [stride * width for stride in tensor.stride()]
        return marks.as_strided((*tensor.shape, width), (*strides, 1), tensor.data_ptr() - start)

    bytes_of(one).fill_(True)
    return bool(bytes_of(other).any())

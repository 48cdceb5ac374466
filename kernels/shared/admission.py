"""How a user's own tensors come to the kernels: contiguous whatever their strides, or refused in a sentence.

The kernels take contiguous tensors of one type on one device, and check none of it, because each check would
count in the time of a launch. The engine makes such tensors itself. A user's tensors are transposed views,
slices and weights of another type, and a kernel that reads these as one run of memory returns wrong numbers.
"""

import torch

from roofscope import Refusal

Tensor = torch.Tensor
Named = tuple[Tensor, str]  # a tensor and its dimensions by name: "rows cols"; "..." for any

_TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def admit(name: str, **tensors: Named) -> tuple[Tensor, ...]:
    """The tensors, contiguous: themselves where they are so already, else copies.

    Raises Refusal under ``name`` for what no copy can mend: something that is no dense tensor of
    floating-point elements, other dimensions, sizes that contradict each other, several types or devices.

    >>> x, w = admit("RMS norm", x=(x, "rows cols"), w=(w, "cols"))
    """
    sizes: dict[str, tuple[int, str]] = {}  # of each dimension, and the tensor that it was read from
    first = next(iter(tensors))
    for label, (tensor, dimensions) in tensors.items():
        _require_dense(name, label, tensor)
        _require_shape(name, label, tensor, dimensions, sizes)
        model = tensors[first][0]
        if tensor.device != model.device:
            raise Refusal(
                f"{name} takes tensors of one device; {first} is on {model.device} and {label} on "
                f"{tensor.device}: move one of them."
            )
        if tensor.dtype != model.dtype:
            raise Refusal(
                f"{name} takes tensors of one type; {first} has {_short(model.dtype)} and {label} "
                f"{_short(tensor.dtype)}: convert one of them."
            )
    # A view such as z.conj().imag holds its values negated, which only torch knows of.
    return tuple(tensor.contiguous().resolve_neg() for tensor, _ in tensors.values())


def _require_dense(name: str, label: str, tensor: object) -> None:
    if not isinstance(tensor, Tensor):
        raise Refusal(f"{name} takes tensors; {label} is of type {type(tensor).__name__}.")
    if tensor.layout != torch.strided or tensor.is_nested:
        kind = "nested" if tensor.is_nested else _short(tensor.layout)
        raise Refusal(f"{name} takes dense tensors; {label} is {kind}.")
    if tensor.dtype not in _TYPES:
        types = ", ".join(map(_short, _TYPES))
        raise Refusal(f"{name} takes elements of {types}; {label} has {_short(tensor.dtype)}.")


def _require_shape(
    name: str, label: str, tensor: Tensor, dimensions: str, sizes: dict[str, tuple[int, str]]
) -> None:
    """Enters the tensor's sizes, and raises Refusal where they are not those that are known."""
    if dimensions == "...":
        return
    names, shape = dimensions.split(), tuple(tensor.shape)
    wanted = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    if len(names) != len(shape):
        raise Refusal(f"{name} takes {label} of shape {wanted}; this one has {shape}.")
    for dimension, size in zip(names, shape, strict=True):
        known, source = sizes.setdefault(dimension, (size, label))
        if size != known:
            raise Refusal(
                f"{name} takes {label} of shape {wanted}, with {dimension} = {known} as {source} has it; "
                f"this one has {shape}."
            )


def _short(of_torch: object) -> str:
    return str(of_torch).removeprefix("torch.")

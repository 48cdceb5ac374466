"""What one call of a reference computes and reads, operation by operation, as PyTorch dispatches it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from roofscope.profiling.worker.derive.op_flops import flops_of

# These take rows that the data chooses, so that what they read of a tensor is not known.
CHOOSING = frozenset(("embedding", "gather", "index", "index_select", "masked_select", "take"))
# Not read: only the form of these arguments counts.
_FORM_ONLY = frozenset(
    (
        *("empty_like", "full_like", "ones_like", "zeros_like", "is_same_size", "fill_", "zero_"),
        *("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"),
    )
)
_Piece = tuple[Any, tuple[int, ...], tuple[int, ...]]  # offset, shape and strides of a view


def _formula_of(packet: Any, name: str) -> Any:
    """The FLOPs of a product, as torch.utils.flop_counter has them; None where it has none."""
    if packet not in flop_registry and "attention_for_cpu" in name:  # torch 2.11 counts only the GPU's
        packet = getattr(torch.ops.aten, name.replace("_for_cpu", ""), packet)
    return flop_registry.get(packet)


class Count(TorchDispatchMode):
    """Counts while it is entered. ``inputs`` are the tensors of the call, real or fake."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.matrix_flops = 0  # of products that the matrix units can do, attention and convolution
        self.other_flops = 0
        self.uncounted: Counter[str] = Counter()
        self.choosing: set[str] = set()  # operations that choose what they read
        self.is_tf32 = False
        self.is_masked = False  # attention with a mask: all products are counted, also those that it hides
        self._inputs = [*inputs]
        self._by_storage = {_storage(one): number for number, one in enumerate(inputs)}
        self._pieces: list[dict[_Piece, int]] = [{} for _ in inputs]
        self._made: set[int] = set()
        self._captured: dict[int, tuple[torch.Tensor, int]] = {}

    @property
    def read_elements(self) -> list[int]:
        """Of each input, at most: those of all different parts of it that something reads."""
        return [
            min(elements_of(one), sum(pieces.values()))
            for one, pieces in zip(self._inputs, self._pieces, strict=True)
        ]

    @property
    def captured_bytes(self) -> int:
        """Of tensors that the reference brings itself, such as the weights of a module."""
        return sum(size for _, size in self._captured.values())

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        packet, name = func._overloadpacket, func._overloadpacket.__name__
        if _formula_of(packet, name) is None and torch.is_inference_mode_enabled():
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        outputs = tuple(one for one in tree_leaves(result) if isinstance(one, torch.Tensor))
        arguments = _named(func, args, kwargs)
        if formula := _formula_of(packet, name):
            self._add_product(formula, name, args, kwargs, arguments, result)
        elif name == "_int_mm":
            self.matrix_flops += 2 * arguments["self"].numel() * arguments["mat2"].shape[1]
        else:
            flops = flops_of(name, arguments, outputs) if func.namespace == "aten" else None
            if flops is None and func.namespace != "prim":  # which asks for a tensor's form
                self.uncounted[f"{func.namespace}.{name}"] += 1
            self.other_flops += flops or 0
        self._note_reads(func, name, args, kwargs)
        if not func.is_view:
            self._made |= {_storage(one) for one in outputs}
        return result

    def _add_product(
        self,
        formula: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arguments: dict[str, Any],
        result: Any,
    ) -> None:
        """By torch.utils.flop_counter."""
        flops = int(formula(*args, **kwargs, out_val=result))
        if "attention" in name:
            flops = _seen(flops, arguments)
            masks = (arguments.get(key) for key in ("attn_mask", "attn_bias"))
            self.is_masked |= any(mask is not None for mask in masks)
        first = next((one for one in tree_leaves(args) if isinstance(one, torch.Tensor)), None)
        if first is not None and first.dtype == torch.float32:
            self.is_tf32 |= bool(torch.backends.cuda.matmul.allow_tf32)
        self.matrix_flops += flops

    def note_returned(self, outputs: Iterable[torch.Tensor]) -> None:
        """A result that is a view of an input must be copied to be computed: that part is read, too."""
        for tensor in outputs:
            if (number := self._by_storage.get(_storage(tensor))) is not None:
                self._note_piece(number, tensor)

    def _note_piece(self, number: int, tensor: torch.Tensor) -> None:
        piece = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        self._pieces[number][piece] = elements_of(tensor)

    def _note_reads(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if func.is_view or func.namespace == "prim" or name in _FORM_ONLY:
            return
        for tensor in _tensors(args, kwargs):
            storage = _storage(tensor)
            number = self._by_storage.get(storage)
            if number is None:
                if storage not in self._made:
                    self._captured.setdefault(storage, (tensor, elements_of(tensor) * tensor.element_size()))
                continue
            self._note_piece(number, tensor)
            if name in CHOOSING and tensor.dim() and tensor.is_floating_point():
                self.choosing.add(name)


def elements_of(tensor: torch.Tensor) -> int:
    """Different elements, each counted once: an expanded dimension repeats them."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride or not size else 1
    return count


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    return (one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor))


def _named(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in func._schema.arguments]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _seen(flops: int, arguments: dict[str, Any]) -> int:
    """Of causal attention, where query i sees keys 0 to i, only the pairs that it sees."""
    if not arguments.get("is_causal"):
        return flops
    queries, keys = arguments["query"].shape[-2], arguments["key"].shape[-2]
    seen = sum(min(row + 1, keys) for row in range(queries))
    return flops * seen // (queries * keys) if seen else 0

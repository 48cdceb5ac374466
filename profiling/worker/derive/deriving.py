"""Derives the work of one question: runs the reference on fake tensors, at one or at several sizes."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct
from msgspec.structs import replace
from torch._subclasses.fake_tensor import FakeTensorMode

from roofscope.profiling.planning.derivation import Derivation, Question, tensor_bytes
from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.loading import load_module
from roofscope.profiling.planning.polynomial import MOST_AXES, at_steps, fitted, grid
from roofscope.profiling.planning.spec import Dtype, Element, Multiply, Pipe, TensorSpec, WorkFormula
from roofscope.profiling.worker.derive.counting import Count
from roofscope.profiling.worker.inputs import as_tuple

_MOST_REAL_BYTES = 1 << 30  # of tensors with contents, where a reference needs those
_FLOAT64 = "float64"


class _Seen(Struct, frozen=True):
    """One call, at one choice of sizes."""

    matrix_flops: int
    other_flops: int
    read_elements: tuple[int, ...]  # of each input
    whole_elements: tuple[int, ...]
    captured_bytes: int
    outputs: tuple[tuple[tuple[int, ...], str], ...]  # shape and dtype
    uncounted: dict[str, int]
    choosing: tuple[str, ...]
    is_tf32: bool
    is_masked: bool
    is_real: bool  # its branches depend on the data, which were random
    device: str  # of the tensors

    @property
    def is_product(self) -> bool:
        return self.matrix_flops > 0 and self.matrix_flops >= self.other_flops

    @property
    def flop_count(self) -> int:
        return self.matrix_flops if self.is_product else self.matrix_flops + self.other_flops


def derivation(question: Question, until: float) -> Derivation:
    """What the reference computes and moves. Raises what it raises."""
    run = getattr(load_module(Path(question.path)), question.function)
    here = _seen(run, question, question.sizes)
    dtypes = _output_dtypes(question, here)
    over_axes = _over_axes(run, question, here, dtypes, until) if question.sizes else None
    work, outputs = over_axes or (_constants(question, here, dtypes), _outputs(here, dtypes, question.dtype))
    is_matrix = here.is_product
    return Derivation(
        work=WorkFormula(
            work.flop_count, work.read_bytes, work.write_bytes, _sentences(question, here, over_axes is None)
        ),
        outputs=outputs,
        pipe=Pipe.TENSOR if is_matrix else Pipe.VECTOR,
        multiplies=Multiply.TF32 if is_matrix and here.is_tf32 and question.dtype is Dtype.FLOAT32 else None,
        uncounted=tuple(sorted(here.uncounted)),
    )


def _seen(run: Callable[..., Any], question: Question, sizes: Mapping[str, int]) -> _Seen:
    """On fake tensors; on real ones where it looks at contents and they are not too large."""
    try:
        return _call(run, question, sizes)
    except Exception:
        if torch.cuda.is_available():  # it brings tensors that lie there
            with suppress(Exception):
                return _call(run, question, sizes, device="cuda")
        if _total_bytes(question, sizes) > _MOST_REAL_BYTES:
            raise
    return _call(run, question, sizes, is_real=True)


def _call(
    run: Callable[..., Any],
    question: Question,
    sizes: Mapping[str, int],
    *,
    device: str = "cpu",
    is_real: bool = False,
) -> _Seen:
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if not is_real:
            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        inputs = [_tensor(one, question.dtype, sizes, device, is_real=is_real) for one in question.inputs]
        with Count(inputs) as count:
            result = run(*inputs)
        outputs = as_tuple(result)
        count.note_returned(outputs)
    return _Seen(
        count.matrix_flops,
        count.other_flops,
        tuple(count.read_elements),
        tuple(one.numel() for one in inputs),
        count.captured_bytes,
        tuple((tuple(one.shape), str(one.dtype).removeprefix("torch.")) for one in outputs),
        dict(count.uncounted),
        tuple(sorted(count.choosing)),
        count.is_tf32,
        count.is_masked,
        is_real,
        device,
    )


def _tensor(
    spec: TensorSpec, dtype: Dtype, sizes: Mapping[str, int], device: str, *, is_real: bool
) -> torch.Tensor:
    shape = tuple(evaluate(dimension, sizes) for dimension in spec.shape)
    kind: torch.dtype = getattr(torch, spec.element_at(dtype))
    if not is_real:
        return torch.empty(shape, dtype=kind, device=device)
    if kind.is_floating_point:
        return (torch.rand(shape) + 0.5).to(kind)
    below = evaluate(spec.below, sizes) if spec.below else 2
    return torch.randint(0, max(below, 1), shape).to(kind)


def _total_bytes(question: Question, sizes: Mapping[str, int]) -> int:
    values = {**sizes, "s": question.dtype.itemsize}
    return evaluate(tensor_bytes(question.inputs), values)


def with_types_of_subject(question: Question, found: Derivation) -> Derivation:
    """With the element types that the implementation returns. Raises what it raises without contents."""
    run = load_module(Path(question.subject)).run
    asked = _call(run, question, question.sizes).outputs
    if len(asked) != len(found.outputs):
        return found
    outputs = tuple(
        replace(one, element=None if kind == question.dtype else Element(kind))
        for one, (_, kind) in zip(found.outputs, asked, strict=True)
    )
    return replace(found, outputs=outputs, work=replace(found.work, write_bytes=tensor_bytes(outputs)))


def _output_dtypes(question: Question, here: _Seen) -> tuple[str, ...]:
    """The reference's own; one that computes in float64 means the workload's type by it."""
    return tuple(str(question.dtype) if kind == _FLOAT64 else kind for _, kind in here.outputs)


def _outputs(
    here: _Seen, dtypes: Sequence[str], dtype: Dtype, shapes: Sequence[Sequence[str]] | None = None
) -> tuple[TensorSpec, ...]:
    names = ["y"] if len(dtypes) == 1 else [f"y{number}" for number in range(len(dtypes))]
    forms = shapes or [[str(size) for size in shape] for shape, _ in here.outputs]
    return tuple(
        TensorSpec(name, tuple(form), None if kind == dtype else Element(kind))
        for name, form, kind in zip(names, forms, dtypes, strict=True)
    )


def _constants(question: Question, here: _Seen, dtypes: Sequence[str]) -> WorkFormula:
    """At these sizes only, yet at every element type: bytes of the workload's type are multiples of ``s``."""
    typed, other = 0, here.captured_bytes
    for count, tensor in zip(here.read_elements, question.inputs, strict=True):
        if tensor.element:
            other += count * tensor.element.itemsize
        else:
            typed += count
    terms = [f"{typed}*s"] * bool(typed) + [str(other)] * bool(other)
    outputs = _outputs(here, dtypes, question.dtype)
    return WorkFormula(str(here.flop_count), " + ".join(terms) or "0", tensor_bytes(outputs))


def _over_axes(
    run: Callable[..., Any], question: Question, here: _Seen, dtypes: Sequence[str], until: float
) -> tuple[WorkFormula, tuple[TensorSpec, ...]] | None:
    """As formulas over the axes; None where no polynomial of them fits, or time runs out."""
    sizes = question.sizes
    if here.is_real or len(sizes) > MOST_AXES or not all(size > 0 for size in sizes.values()):
        return None
    seen = {(1,) * len(sizes): here}
    for steps in grid(len(sizes)):
        if steps in seen:
            continue
        if time.monotonic() > until:
            return None
        try:
            seen[steps] = _call(run, question, at_steps(sizes, steps), device=here.device)
        except Exception:  # noqa: BLE001 - it does not take these sizes
            return None
        if len(seen[steps].outputs) != len(here.outputs):
            return None
    product = here.is_product
    flops = fitted(sizes, lambda at: seen[at].matrix_flops + (0 if product else seen[at].other_flops))
    shapes: list[list[str]] = []
    for number, (shape, _) in enumerate(here.outputs):
        form = [
            fitted(sizes, lambda at, number=number, place=place: seen[at].outputs[number][0][place])
            for place in range(len(shape))
        ]
        if any(one is None for one in form):
            return None
        shapes.append([one for one in form if one is not None])
    outputs = _outputs(here, dtypes, question.dtype, shapes)
    read = _read_formula(question, seen)
    if flops is None or read is None:
        return None
    return WorkFormula(flops, read, tensor_bytes(outputs)), outputs


def _read_formula(question: Question, seen: Mapping[tuple[int, ...], _Seen]) -> str | None:
    if all(one.read_elements == one.whole_elements and not one.captured_bytes for one in seen.values()):
        return tensor_bytes(question.inputs)
    parts: list[str] = []
    for number, tensor in enumerate(question.inputs):
        elements = fitted(question.sizes, lambda at, number=number: seen[at].read_elements[number])
        if elements is None:
            return None
        size = tensor.element.itemsize if tensor.element else "s"
        parts.append(f"({elements})*{size}")
    captured = fitted(question.sizes, lambda at: seen[at].captured_bytes)
    return None if captured is None else " + ".join([*parts, captured])


def _sentences(question: Question, here: _Seen, is_fixed: bool) -> str:
    """How the work was found, and what is not in it."""
    found = ["Derived from the reference: inputs read once, outputs written once, by shapes and types."]
    if here.is_product:
        found.append(
            "FLOPs of the reference's products, attention and convolutions by torch.utils.flop_counter."
        )
        if here.other_flops:
            found.append(f"Its {here.other_flops:,} other FLOPs are left out: other units do them.")
    else:
        found.append("FLOPs of its operations, each by its formula.")
    if here.uncounted:
        names = ", ".join(f"{name} ({count}x)" for name, count in sorted(here.uncounted.items()))
        found.append(f"Not counted, because their FLOPs are not known: {names}.")
    for tensor, read, whole in zip(question.inputs, here.read_elements, here.whole_elements, strict=True):
        if read < whole:
            found.append(f"Of {tensor.name} the reference reads {read:,} of {whole:,} elements.")
    if here.choosing:
        found.append(
            f"{', '.join(here.choosing)} reads what its indices choose; those tensors count as read whole."
        )
    if here.captured_bytes:
        found.append(f"It also reads {here.captured_bytes:,} bytes of tensors of its own.")
    if here.is_masked:
        found.append("Attention with a mask counts also the pairs that the mask hides.")
    if here.is_real:
        found.append("It branches on contents: counted on random ones.")
    if question.sizes and is_fixed:
        found.append("They hold for these sizes only.")
    elif question.sizes:
        found.append("The formulas hold at multiples of the sizes that they were derived at.")
    return " ".join(found)

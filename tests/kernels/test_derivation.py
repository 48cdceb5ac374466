"""The work that is derived from a kernel's eager version is what its spec states."""

import time
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import flop_registry

from roofscope.app.notebook.arguments import arguments_of
from roofscope.app.notebook.workspace import fixed
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.derivation import Derivation, Question
from roofscope.profiling.planning.formula import evaluate
from roofscope.profiling.planning.spec import Dtype, Element, Multiply, Pipe, TensorSpec
from roofscope.profiling.worker.derive.deriving import derivation, with_types_of_subject
from roofscope.tests.kernels.cases import CATALOG, name_of

# What is read and multiplied depends on what their tensors hold; where work is derived, nobody knows that.
BY_CONTENTS = {"attention_varlen", "grouped_matmul"}
# A workload has the type of one of its tensors; measure refuses integers alone, such as those of a histogram.
ALL = [
    kernel
    for kernel in CATALOG.kernels
    if any(one.element_at(kernel.spec.dtypes[0]) in set(Dtype) for one in kernel.spec.inputs)
    and kernel.spec.name not in BY_CONTENTS
]
# FLOPs derived from eager.py over those of the spec where they differ, as sizes grow, and why.
DIFFERS: dict[str, tuple[Fraction, str]] = {
    "attention_backward_causal": (Fraction(2), "the mask is a tensor, so the hidden half is counted too"),
    "attention_sliding_window": (
        Fraction(8, 3),
        "the mask is a tensor; of 2048 queries it leaves 3/8 of pairs",
    ),
    "cross_entropy": (Fraction(5, 4), "eager writes log-probabilities: one more difference an element"),
    "dynamic_flow": (Fraction(4, 5), "the spec counts the change of sign in exp(-x)"),
    "layer_norm_backward": (Fraction(13, 12), "eager's formula has one product an element more"),
    "quantize_int4": (Fraction(7, 3), "the spec counts no clamp, no offset and one product for two"),
    "quantize_int8": (Fraction(2), "the spec counts no clamp and one product for two"),
    "top_k": (Fraction(0), "no comparison of a sort is counted"),
    "weighted_sum_backward": (Fraction(2, 3), "only the product counts, not dx, which other units write"),
}
# Operators of eager.py whose work no formula gives.
UNCOUNTED = {"gated_delta_rule": ("aten.linalg_solve_triangular",), "top_k": ("aten.sort",)}
# Of these the pipe is another one than the spec says, for the same reason.
OTHER_PIPE = {"weighted_sum_backward"}


def derived(kernel: Kernel, sizes: dict[str, int]) -> Derivation:
    """As roofscope.measure derives it for eager.py and tensors of these sizes."""
    spec, eager = kernel.spec, str(kernel.folder / "eager.py")
    tensors = [
        torch.empty(
            spec.shape(one, sizes), dtype=getattr(torch, one.element_at(spec.dtypes[0])), device="meta"
        )
        for one in spec.inputs
    ]
    arguments = arguments_of(load_module(kernel.folder / "eager.py").run, tensors, {})
    question = Question(eager, fixed(arguments), arguments.dtype, subject=eager)
    found = derivation(question, time.monotonic() + 600)
    return found if spec.name == "dynamic_flow" else with_types_of_subject(question, found)  # needs contents


def derived_over_axes(kernel: Kernel, sizes: dict[str, int]) -> Derivation:
    eager = str(kernel.folder / "eager.py")
    question = Question(eager, kernel.spec.inputs, kernel.spec.dtypes[0], sizes)
    return derivation(question, time.monotonic() + 600)


def measured_dtype(kernel: Kernel) -> Dtype:
    """Of the workload that measure makes: the first tensor's that a workload can have, else the spec's."""
    dtype = kernel.spec.dtypes[0]
    types = [one.element_at(dtype) for one in kernel.spec.inputs]
    return next(Dtype(one) for one in types if one in set(Dtype))


def values(kernel: Kernel, sizes: dict[str, int]) -> dict[str, int]:
    return {**sizes, "s": kernel.spec.dtypes[0].itemsize}


@pytest.mark.parametrize("kernel", ALL, ids=name_of)
def test_bytes_and_outputs_are_those_of_the_spec(kernel: Kernel) -> None:
    spec, sizes = kernel.spec, kernel.spec.odd_sizes[0]
    found, stated = derived(kernel, sizes), spec.work_at(sizes, spec.dtypes[0])
    at = {"s": measured_dtype(kernel).itemsize}
    if stated.flop_count:  # as tests/kernels/test_specs.py has it: else not all has to be read
        assert evaluate(found.work.read_bytes, at) == pytest.approx(stated.read_bytes, rel=0.01)
    assert evaluate(found.work.write_bytes, at) == pytest.approx(stated.write_bytes, rel=0.01)
    assert [spec.shape(one, at) for one in found.outputs] == [spec.shape(one, sizes) for one in spec.outputs]
    dtype = spec.dtypes[0]
    types = [one.element_at(measured_dtype(kernel)) for one in found.outputs]
    assert types == [one.element_at(dtype) for one in spec.outputs]


@pytest.mark.parametrize("kernel", ALL, ids=name_of)
def test_flops_are_those_of_the_spec_or_differ_for_a_reason(kernel: Kernel) -> None:
    """Equal for products, attention and convolution; elsewhere per-row terms, which specs lack, are few."""
    spec, sizes = kernel.spec, kernel.spec.presets[0].sizes
    sizes = {**sizes, **({"rows": 16} if kernel.spec.name == "row_loop" else {})}  # a loop over rows
    found, stated = derived(kernel, sizes), spec.work_at(sizes, spec.dtypes[0]).flop_count
    flops = evaluate(found.work.flop_count, values(kernel, sizes))
    assert found.uncounted == UNCOUNTED.get(spec.name, ())
    expected, _ = DIFFERS.get(spec.name, (Fraction(1), ""))
    if spec.pipe is Pipe.TENSOR and spec.name not in DIFFERS:
        assert flops == stated
    elif stated:
        assert flops / stated == pytest.approx(float(expected), rel=0.01)
    else:
        assert flops == 0
    assert (found.pipe is spec.pipe) is (spec.name not in OTHER_PIPE)


@pytest.mark.parametrize("name", ["attention", "attention_causal"])
def test_attention_counts_where_torch_knows_only_that_of_a_gpu(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torch 2.11 is: a reference in float64 on the CPU has another operation than on a GPU."""
    (kernel,) = (one for one in ALL if one.spec.name == name)
    sizes = kernel.spec.presets[0].sizes
    expected = derived(kernel, sizes)
    for left_out in [one for one in flop_registry if "attention_for_cpu" in str(one)]:
        monkeypatch.delitem(flop_registry, left_out)
    found = derived(kernel, sizes)
    assert found.work == expected.work
    assert "Not counted" not in found.work.derived


@pytest.mark.parametrize("name", ["matmul", "softmax", "attention_causal", "matmul_chain", "row_sum"])
def test_formulas_over_the_axes_hold_at_other_sizes(name: str) -> None:
    kernel = CATALOG.kernel(name)
    assert kernel
    sizes = kernel.spec.presets[0].sizes
    found = derived_over_axes(kernel, dict(sizes))
    larger = {axis: 7 * size for axis, size in sizes.items()}
    stated, at = kernel.spec.work_at(larger, kernel.spec.dtypes[0]), values(kernel, larger)
    assert evaluate(found.work.flop_count, at) == stated.flop_count
    assert evaluate(found.work.read_bytes, at) == stated.read_bytes
    assert evaluate(found.work.write_bytes, at) == stated.write_bytes


REFERENCE = """
import torch
TABLE = torch.ones(1000)
def half(x):
    return x[: len(x) // 2] + 1
def unused(x, y):
    return x * 2
def own(x):
    return x + TABLE[: len(x)]
def sorts(x):
    return torch.sort(x * 2).values
def looks_up(x, rows):
    return x[rows]
def in_double(x):
    return x.double() * 2
def with_dropout_off(x):
    with torch.inference_mode():
        return torch.matmul(x, x)
def tf32(x):
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return x @ x
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
def looks(x):
    return x * 2 if x.sum() > 0 else x + x * 3
"""


def ask(tmp_path: Path, function: str, *inputs: TensorSpec, dtype: Dtype = Dtype.FLOAT32) -> Derivation:
    (tmp_path / "reference.py").write_text(REFERENCE)
    question = Question(str(tmp_path / "reference.py"), inputs, dtype, function=function)
    return derivation(question, time.monotonic() + 600)


def test_what_is_read_in_part_counts_in_part(tmp_path: Path) -> None:
    found = ask(tmp_path, "half", TensorSpec("x", ("100",)))
    assert found.work.read_bytes == "50*s"
    assert "Of x the reference reads 50 of 100 elements." in found.work.derived


def test_what_is_not_read_counts_nothing(tmp_path: Path) -> None:
    found = ask(tmp_path, "unused", TensorSpec("x", ("100",)), TensorSpec("y", ("100",)))
    assert found.work.read_bytes == "100*s"
    assert "Of y the reference reads 0 of 100 elements." in found.work.derived


def test_tensors_of_its_own_count(tmp_path: Path) -> None:
    found = ask(tmp_path, "own", TensorSpec("x", ("100",)))
    assert evaluate(found.work.read_bytes, {"s": 4}) == 800
    assert "It also reads 400 bytes of tensors of its own." in found.work.derived


def test_an_unknown_operation_is_named_and_not_guessed(tmp_path: Path) -> None:
    found = ask(tmp_path, "sorts", TensorSpec("x", ("100",)))
    assert found.uncounted == ("aten.sort",)
    assert found.work.flop_count == "100"
    assert "Not counted, because their FLOPs are not known: aten.sort (1x)." in found.work.derived


def test_rows_that_indices_choose_are_said_to_count_whole(tmp_path: Path) -> None:
    rows = TensorSpec("rows", ("5",), Element.INT64, below="100")
    found = ask(tmp_path, "looks_up", TensorSpec("x", ("100", "8")), rows)
    assert evaluate(found.work.read_bytes, {"s": 4}) == 100 * 8 * 4 + 5 * 8
    assert "index reads what its indices choose; those tensors count as read whole." in found.work.derived


def test_a_reference_in_float64_means_the_type_of_the_workload(tmp_path: Path) -> None:
    found = ask(tmp_path, "in_double", TensorSpec("x", ("100",)), dtype=Dtype.BFLOAT16)
    assert [one.element for one in found.outputs] == [None]


def test_composite_operations_of_inference_mode_are_taken_apart(tmp_path: Path) -> None:
    found = ask(tmp_path, "with_dropout_off", TensorSpec("x", ("10", "10")))
    assert (found.work.flop_count, found.uncounted) == ("2000", ())


def test_tf32_is_seen_where_the_reference_asks_for_it(tmp_path: Path) -> None:
    assert ask(tmp_path, "tf32", TensorSpec("x", ("10", "10"))).multiplies is Multiply.TF32


def test_a_reference_that_looks_at_contents_is_run_with_contents(tmp_path: Path) -> None:
    found = ask(tmp_path, "looks", TensorSpec("x", ("100",)))
    assert "It branches on contents: counted on random ones." in found.work.derived

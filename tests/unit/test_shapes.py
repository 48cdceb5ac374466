"""Shapes drawn at random: their kinds and bounds, and that a seed gives the same ones always."""

import math
from collections import Counter

import pytest
from msgspec.structs import replace

from roofscope.benchmarks.peers.rows import ROWS
from roofscope.benchmarks.peers.table import OURS, candidates
from roofscope.benchmarks.shapes import drawing
from roofscope.benchmarks.shapes.drawing import CannotDraw, Kind, Shape, Span, draw, drawing_of, fits
from roofscope.benchmarks.shapes.lines import Planned, planned, usual_dtype
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype

CATALOG = scan()
NAMES = list(dict.fromkeys(row.kernel for row in ROWS))
H100_BYTES = 80 * 2**30


def kernel_of(name: str) -> Kernel:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    return kernel


def drawn(
    name: str, seed: int = 1, count: int = 40, memory_bytes: int = H100_BYTES, dtype: Dtype | None = None
) -> tuple[Shape, ...]:
    kernel = kernel_of(name)
    dtype = dtype or usual_dtype(kernel)
    return draw(kernel.spec, dtype, seed=seed, count=count, memory_bytes=memory_bytes)


def plans_of(kernel: Kernel) -> list[Planned]:
    return planned(
        kernel, Dtype.BFLOAT16, seed=1, count=4, device="cuda:0", memory_bytes=H100_BYTES, first_id=9
    )


def test_a_hunt_may_name_its_peers() -> None:
    kernel = kernel_of("softmax")
    named = planned(
        kernel,
        Dtype.BFLOAT16,
        seed=1,
        count=1,
        device="cuda:0",
        memory_bytes=H100_BYTES,
        first_id=1,
        peers=["eager", "library_quack"],
    )
    theirs = [one.stem for one in named[0].job.implementations if one.provider not in OURS]
    assert theirs == ["eager", "library_quack"]
    everyone = plans_of(kernel)[0].job.implementations
    assert [one for one in named[0].job.implementations if one.provider in OURS] == [
        one for one in everyone if one.provider in OURS
    ]


def test_a_size_is_log_uniform() -> None:
    span = Span(1, 2**20 - 1)
    counts = Counter(int(math.log2(span.drawn((i + 0.5) / 20_000))) // 5 for i in range(20_000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(count == pytest.approx(5000, rel=0.02) for count in counts.values())
    assert {span.drawn(0.0), span.drawn(1 - 2**-53)} == {1, 2**20 - 1}
    assert Counter(Span(values=(64, 128)).drawn(i / 10) for i in range(10)) == {64: 5, 128: 5}


@pytest.mark.parametrize("name", NAMES)
def test_a_third_has_odd_columns_and_a_third_few_long_rows(name: str) -> None:
    shapes = drawn(name)
    assert Counter(shape.kind for shape in shapes) == {Kind.ANY: 14, Kind.ODD: 13, Kind.LONG: 13}
    known = drawing_of(kernel_of(name).spec)
    for shape in shapes:
        sizes = shape.workload.sizes
        if shape.kind is Kind.ODD:
            assert all(sizes[axis] % 2 for axis in known.odd), sizes
        if shape.kind is Kind.LONG:
            assert all(span.low <= sizes[axis] <= span.high for axis, span in known.long.items()), sizes


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_new_and_within_their_bounds(name: str) -> None:
    kernel, shapes = kernel_of(name), drawn(name)
    assert len({shape.workload.label for shape in shapes}) == 40
    stems = candidates(kernel, usual_dtype(kernel))
    ours = [one for one in kernel.implementations if one.stem in stems and one.provider in OURS]
    for shape in shapes:
        sizes, dtype = shape.workload.sizes, shape.workload.dtype
        work = kernel.spec.work_at(sizes, dtype)
        assert drawing.LEAST_BYTES <= work.byte_count <= drawing.MOST_BYTES
        assert work.flop_count <= drawing.MOST_FLOPS
        assert kernel.spec.problem_with(sizes) is None
        # None of the library's falls short for want of a version.
        assert any(is_inside(one.domain, sizes, dtype) for one in ours)


@pytest.mark.parametrize("name", ["softmax", "matmul", "attention", "matmul_w4a16", "copy"])
def test_all_orders_of_magnitude_occur(name: str) -> None:
    sizes = [
        list(shape.workload.sizes.values()) for shape in drawn(name, count=150) if shape.kind is Kind.ANY
    ]
    known = drawing_of(kernel_of(name).spec)
    for values, span in zip(zip(*sizes, strict=True), known.spans.values(), strict=True):
        if span.values:
            assert set(values) == set(span.values)
        else:
            assert max(values) / min(values) > (span.high / span.low) ** 0.5


def test_a_seed_gives_the_same_shapes_in_any_order_and_number() -> None:
    before = {name: drawn(name) for name in NAMES}
    assert {name: drawn(name) for name in reversed(NAMES)} == before
    assert drawn("softmax", count=7) == before["softmax"][:7]
    assert drawn("softmax", seed=2) != before["softmax"]
    assert drawn("softmax", dtype=Dtype.FLOAT32)[0].workload.sizes != before["softmax"][0].workload.sizes


def test_a_seed_gives_what_it_gave() -> None:
    """Random numbers of another Python or machine would be other shapes under the same seed."""
    found = [tuple(shape.workload.sizes.values()) for shape in drawn("softmax", seed=7, count=3)]
    assert found == [(10, 27386), (25847, 2195), (7, 196871)]


def test_a_small_device_gets_small_shapes() -> None:
    kernel = kernel_of("softmax")
    for shape in drawn("softmax", memory_bytes=4 * 2**30):
        work = kernel.spec.work_at(shape.workload.sizes, shape.workload.dtype)
        assert work.byte_count <= 4 * 2**30 // drawing.PART_OF_MEMORY


def test_large_devices_get_the_same_shapes() -> None:
    assert drawn("attention", memory_bytes=141 * 2**30) == drawn("attention")


def test_a_shape_that_ours_refuse_is_drawn_all_the_same() -> None:
    """It falls short; drawn again, it would be one that nobody hears of."""
    kernel = kernel_of("layer_norm")
    refused = replace(
        kernel, implementations=tuple(replace(one, domain="cols < 1") for one in kernel.implementations)
    )
    assert [plan.shape for plan in plans_of(refused)] == [plan.shape for plan in plans_of(kernel)]


def test_bounds_are_those_of_bytes_and_work() -> None:
    spec = kernel_of("layer_norm").spec
    assert fits(spec, Dtype.BFLOAT16, {"rows": 2, "cols": 2**21}, H100_BYTES)
    assert not fits(spec, Dtype.BFLOAT16, {"rows": 2, "cols": 2**21}, 2**28)
    assert not fits(spec, Dtype.BFLOAT16, {"rows": 2, "cols": 64}, H100_BYTES)


def test_what_cannot_be_drawn_is_one_sentence() -> None:
    with pytest.raises(CannotDraw, match=r"^Shapes of conv_net are not drawn: nothing is known of the axes"):
        drawn("conv_net")
    with pytest.raises(CannotDraw, match=r"^Of 20000 shapes of softmax with any none fits this device"):
        drawn("softmax", memory_bytes=1)


def test_the_dtype_is_that_of_the_comparison() -> None:
    assert usual_dtype(kernel_of("softmax")) is Dtype.BFLOAT16
    assert usual_dtype(kernel_of("row_sum")) is Dtype.FLOAT32
    assert usual_dtype(kernel_of("gelu")) is Dtype.BFLOAT16
    assert usual_dtype(kernel_of("relu")) is Dtype.BFLOAT16  # in no row


def test_a_job_compares_our_good_versions_with_every_peer() -> None:
    plans = plans_of(kernel_of("softmax"))
    assert [plan.job.id for plan in plans] == ["job-9", "job-10", "job-11", "job-12"]
    stems = {implementation.stem for implementation in plans[0].job.implementations}
    assert stems >= {"cuda_registers", "triton_registers", "eager", "compile_default", "library_liger"}
    assert not any("naive" in stem or "textbook" in stem for stem in stems)

"""From the plan bar's state to jobs."""

import msgspec
import pytest

from roofscope.app.presentation.words import parse_sizes
from roofscope.app.window.plan_choice import PlanChoice, dtypes_hint, plan, sizes_hint
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, PlanError
from roofscope.profiling.planning.spec import Dtype


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return scan()


def jobs(catalog: Catalog, choice: PlanChoice, *names: str) -> tuple[Job, ...]:
    checked = {
        kernel.spec.name: kernel.implementations for kernel in catalog.kernels if kernel.spec.name in names
    }
    return plan(choice, catalog.kernels, checked, first_id=7)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("rows=4096, cols=1000", ({"rows": 4096, "cols": 1000},)),
        ("n = 4Ki", ({"n": 4096},)),
        ("n=4k; n=1M", ({"n": 4000}, {"n": 1_000_000})),
        ("n=1_000_000", ({"n": 1_000_000},)),
        ("n=0", ({"n": 0},)),
        (" ; ", ()),
        ("n=2^10..2^12", ({"n": 1024}, {"n": 2048}, {"n": 4096})),
        ("n = 1Ki .. 5000", ({"n": 1024}, {"n": 2048}, {"n": 4096})),
        ("n=1..2^4*4; n=7", ({"n": 1}, {"n": 4}, {"n": 16}, {"n": 7})),
        ("n=1k..4kx2", ({"n": 1000}, {"n": 2000}, {"n": 4000})),
        ("cols=256..512+128, rows=4", tuple({"cols": cols, "rows": 4} for cols in (256, 384, 512))),
        ("m=n=k=2^7..2^8", ({"m": 128, "n": 128, "k": 128}, {"m": 256, "n": 256, "k": 256})),
        ("m=1..4, n=3..5+1", ({"m": 1, "n": 3}, {"m": 2, "n": 4}, {"m": 4, "n": 5})),
    ],
)
def test_sizes_are_read(text: str, sizes: tuple[dict[str, int], ...]):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    "text",
    [
        *("rows", "rows=", "rows=-1", "rows=1.5", "rows=4 cols=3", "n=1, n=2", "=3", "n=0x10", ",", "n=4kx2"),
        *("n=..4", "n=1..", "n=8..4", "n=0..4", "n=1..4+0", "n=1..4*1", "n=1..1M+1", "n=2^99", "n=2^999"),
        *("m=1..4, n=1..8", "m=n=", "m=n=1, n=2"),
    ],
)
def test_what_is_no_size_gives_one_sentence(text: str):
    with pytest.raises(PlanError) as caught:
        parse_sizes(text)
    assert str(caught.value).endswith(".")


def test_a_plan_is_the_product_of_types_and_sizes(catalog: Catalog):
    choice = PlanChoice("cpu", (Dtype.FLOAT32, Dtype.BFLOAT16), ("small", "large"))
    made = jobs(catalog, choice, "softmax", "gelu")
    assert len(made) == 2 * 2 * 2
    assert [job.id for job in made] == [f"job-{number}" for number in range(7, 15)]
    assert {job.workload.kernel for job in made} == {"softmax", "gelu"}


def test_own_sizes_take_the_place_of_presets(catalog: Catalog):
    choice = PlanChoice("cpu", presets=("small", "large"), own_sizes=({"rows": 3, "cols": 5}, {"rows": 4}))
    first, second = jobs(catalog, choice, "softmax")
    assert first.workload.sizes == {"rows": 3, "cols": 5}
    preset = catalog.kernel("softmax").spec.preset("small").sizes
    assert second.workload.sizes == {**preset, "rows": 4}


def test_own_sizes_leave_out_kernels_without_these_axes(catalog: Catalog):
    choice = PlanChoice("cpu", own_sizes=({"rows": 3, "cols": 5},))
    assert {job.workload.kernel for job in jobs(catalog, choice, "softmax", "matmul")} == {"softmax"}
    kernels = [catalog.kernel("softmax"), catalog.kernel("matmul")]
    assert sizes_hint(choice.own_sizes, kernels) == "Left out, without these axes: matmul."
    with pytest.raises(PlanError, match="No chosen kernel has the axes depth"):
        sizes_hint([{"depth": 3}], kernels)


def test_data_types_that_leave_kernels_out_say_so(catalog: Catalog):
    kernels = [k for k in catalog.kernels if k.spec.name in ("softmax", "attention", "matmul_relu")]
    assert dtypes_hint((Dtype.BFLOAT16,), kernels) == ""
    hint = "Left out, without these data types: attention, matmul_relu."
    assert dtypes_hint((Dtype.FLOAT32,), kernels) == hint
    known = [k for k in catalog.kernels if Dtype.FLOAT32 not in k.spec.dtypes]
    assert f"and {len(known) - 3} more." in dtypes_hint((Dtype.FLOAT32,), catalog.kernels)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (PlanChoice("cpu", dtypes=()), "data type"),
        (PlanChoice("cpu", presets=()), "size"),
        (PlanChoice("cpu", own_sizes=({"depth": 1},)), "axes depth"),
    ],
)
def test_an_empty_choice_gives_one_sentence(catalog: Catalog, choice: PlanChoice, words: str):
    with pytest.raises(PlanError, match=words):
        jobs(catalog, choice, "softmax")


@pytest.mark.parametrize(
    ("dtype", "words"),
    [(Dtype.BFLOAT16, "has the size large or sweep;"), (Dtype.FLOAT32, "knows the chosen data types")],
)
def test_a_size_that_no_kernel_has_is_told_from_a_type_that_none_knows(
    catalog: Catalog, dtype: Dtype, words: str
):
    kernel = catalog.kernel("matmul_relu")
    spec = msgspec.structs.replace(kernel.spec, presets=kernel.spec.presets[:1], sweep=())
    kernel = msgspec.structs.replace(kernel, spec=spec)
    choice = PlanChoice("cpu", (dtype,), ("large", "sweep"))
    with pytest.raises(PlanError, match=words):
        plan(choice, [kernel], {"matmul_relu": kernel.implementations}, first_id=1)


def test_nothing_ticked_gives_one_sentence(catalog: Catalog):
    with pytest.raises(PlanError, match="tick a kernel"):
        jobs(catalog, PlanChoice("cpu"))


def test_own_sizes_with_nothing_to_time_are_refused(catalog: Catalog):
    for kernel, sizes in (("gelu", "n=0"), ("matmul", "k=0")):
        with pytest.raises(PlanError, match=f"{kernel} has nothing to time at {sizes};"):
            jobs(catalog, PlanChoice("cpu", own_sizes=parse_sizes(sizes)), kernel)

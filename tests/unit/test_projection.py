"""What another GPU's data sheet bounds a point to."""

import msgspec
import pytest
from msgspec.structs import replace

from roofscope.app.presentation.projection import COLUMNS, project
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Dtype, Multiply, Pipe
from roofscope.profiling.results.counters import Counters, KernelCounters
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.products import PRODUCTS, Product, UnknownProduct, find_product
from roofscope.profiling.roofline.roofline import Bound
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session

# Bytes a second and FLOP/s in FP32, FP16 as the data sheets print them; the formula's own may differ by 3 %.
PRINTED = {
    "V100 SXM2": (900e9, 15.7e12, 125e12),
    "T4": (320e9, 8.1e12, 65e12),
    "A100 40GB": (1555e9, 19.5e12, 312e12),
    "A100 80GB": (2039e9, 19.5e12, 312e12),
    "RTX 3090": (936e9, 35.6e12, 71e12),
    "L4": (300e9, 30.3e12, 121e12),
    "L40S": (864e9, 91.6e12, 362e12),
    "RTX 4090": (1008e9, 82.6e12, 165.2e12),
    "H100 PCIe": (2039e9, 51e12, 756e12),
    "H100 SXM": (3352e9, 67e12, 989e12),
    "H200": (4800e9, 67e12, 989e12),
    "B200": (7700e9, 75e12, 2250e12),
    "RTX 5090": (1792e9, 104.8e12, 209.5e12),
}


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.label)
def test_each_product_is_what_its_data_sheet_prints(product: Product):
    found = {ceiling.bound: ceiling.value for ceiling in product.ceilings}
    bandwidth, fp32, fp16 = PRINTED[product.label]
    assert found[Bound.DRAM] == pytest.approx(bandwidth, rel=0.03)
    assert found[Bound.FP32] == pytest.approx(fp32, rel=0.02)
    assert found[Bound.FP16] == pytest.approx(fp16, rel=0.02)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("4090", "RTX 4090"),
        ("h100 sxm", "H100 SXM"),
        ("A100 80gb", "A100 80GB"),
        ("L4", "L4"),
    ],
)
def test_a_gpu_is_found_as_people_write_it(name: str, label: str):
    assert find_product(name).label == label


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("H100", "'H100' may be H100 PCIe or H100 SXM; say which."),
        ("RTX 9999", "No data sheet of a GPU named 'RTX 9999' is known here; choose from V100 SXM2,"),
        ("", "choose from"),
    ],
)
def test_an_unknown_or_unclear_name_lists_the_known_ones(name: str, says: str):
    with pytest.raises(UnknownProduct) as refused:
        find_product(name)
    assert says in str(refused.value)
    assert str(refused.value).count(". ") == 0


def test_a_copy_is_bound_by_bandwidth_and_a_product_by_its_pipe():
    found = project(load(ASSETS / "sessions" / "h200.roofscope"), find_product("RTX 4090"))
    assert len(found.points) == 289
    copy = next(point for point in found.points if point.kernel == "copy")
    assert copy.bound_there_by == "DRAM"
    assert copy.bound_there_s == pytest.approx(2 * 4 * 2**26 / 1008e9, rel=0.001)
    assert copy.ratio == pytest.approx(1008.1 / 4814.3, rel=0.001)
    product = next(p for p in found.points if p.kernel == "matmul" and p.workload.startswith("bf16"))
    assert product.bound_there_by == "BF16"
    assert product.bound_there_s == pytest.approx(2 * 8192**3 / 165.2e12, rel=0.001)
    assert "no predictions" in found.sentence.replace("\n", " ")
    assert len(product.cells) == len(COLUMNS)
    assert product.cells[3].startswith("≥ ")


def test_a_pipe_that_the_other_gpu_lacks_gives_no_bound_but_a_reason():
    found = project(load(ASSETS / "sessions" / "h200.roofscope"), find_product("V100"))
    product = next(p for p in found.points if p.kernel == "matmul" and p.workload.startswith("bf16"))
    assert product.bound_there_s is product.ratio is None
    assert product.missing == "V100 SXM2: no rate of BF16 is known"
    assert product.bound_here_s is not None


def test_onto_its_own_kind_every_ratio_is_one():
    found = project(make_session(), find_product("H200"))
    assert {point.ratio for point in found.points} == {1.0}


def test_fp8_may_sum_in_fp16_where_that_is_twice_as_fast():
    found = project(load(ASSETS / "sessions" / "h200.roofscope"), find_product("RTX 4090"))
    fp8 = next(point for point in found.points if point.kernel == "matmul_fp8")
    assert fp8.bound_there_s == pytest.approx(2 * 8192**3 / 660.6e12, rel=0.001)


def test_a_kernel_whose_specification_is_lost_has_no_bound():
    session = make_session()
    session.specs = {}
    found = project(session, find_product("T4"))
    assert {point.missing for point in found.points} == {"its kernel's specification is not kept"}


def test_no_bound_is_above_what_was_measured_here():
    """A bound that a recorded point passes would be none."""
    for name in ("h200", "h200-tour", "h200-gelu"):
        for point in project(load(kept(name)), find_product("T4")).points:
            assert point.bound_here_s is not None
            assert point.bound_here_s < point.measured_s * 1.001, point


def test_points_without_a_time_are_left_out():
    session = make_session()
    measured = [point for point in session.points if point.measured]
    assert len(project(session, find_product("L4")).points) == len(measured) < len(session.points)
    assert any(point.job.workload.dtype is Dtype.FLOAT16 for point in session.points)
    assert msgspec.json.encode(project(session, find_product("L4")))


def test_what_was_counted_in_double_precision_bounds_by_its_rate_there():
    session = load(kept("h200-gelu"))
    point = next(p for p in session.points if p.implementation.stem == "cuda_naive")
    session.counters = {point.number: counters(FP64=40 * 2**26)}
    found = {one.number: one for one in project(session, find_product("RTX 4090")).points}[point.number]
    assert found.bound_there_by == found.cells[5] == "FP64"
    assert found.bound_there_s == pytest.approx(40 * 2**26 / 1.29e12, rel=0.001)  # a 64th of 82.6
    assert found.bound_here_s == pytest.approx(
        2 * 4 * 2**26 / 4814e9, rel=0.001
    )  # half of 67: DRAM is longer


def test_doubles_that_nobody_counted_are_named_beside_the_bound():
    session = load(kept("h200-gelu"))
    found = project(session, find_product("RTX 4090")).points
    named = {one.implementation for one in found if "double" in one.cells[5]}
    assert named == {"CUDA naive", "CUDA textbook"}
    naive = next(one for one in found if one.implementation == "CUDA naive")
    assert (naive.bound_there_by, naive.uncounted_doubles) == ("DRAM", 43)
    assert naive.cells[5] == "DRAM, without its 43 double instructions"
    session.counters = {naive.number: counters(FP32=1e9)}  # which have seen none
    (again,) = (one for one in project(session, find_product("L4")).points if one.number == naive.number)
    assert again.cells[5] == "DRAM"


def counters(**flops: float) -> Counters:
    return Counters("Nsight Compute", 1, 1, 1e-4, kernels=(KernelCounters("k", 1e-4, flops=flops),))


def test_where_tensor_cores_have_no_doubles_the_other_units_bound():
    session = make_session()
    (spec, *_) = [one for one in session.specs.values() if one.name == "matmul"]
    session.specs |= {"matmul": replace(spec, pipe=Pipe.TENSOR, multiplies=Multiply.FP64)}
    kinds = {
        name: {
            one.bound_there_by
            for one in project(session, find_product(name)).points
            if one.kernel == "matmul"
        }
        for name in ("A100 80GB", "RTX 4090")
    }
    assert kinds == {"A100 80GB": {"FP64 tensor"}, "RTX 4090": {"FP64"}}

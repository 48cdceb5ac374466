"""How many sets of buffers a job rotates, so that each call finds the cache cold."""

from itertools import pairwise

import pytest
import torch

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.planning.spec import (
    Axis,
    Distribution,
    Dtype,
    Element,
    Fill,
    KernelSpec,
    Preset,
    TensorSpec,
    Tolerance,
    WorkFormula,
)
from roofscope.profiling.worker.candidate.memory import make_block, sets_of
from roofscope.profiling.worker.inputs import InputMaker, bytes_a_call, set_count

CACHE = 60 * 2**20
PLENTY = 2**37


@pytest.mark.parametrize(("of_cache", "sets"), [(0.25, 12), (1.0, 3), (2.0, 2), (10.0, 2)])
def test_rotating_touches_three_caches(of_cache: float, sets: int) -> None:
    assert set_count(int(of_cache * CACHE), CACHE, PLENTY) == sets


def test_sets_take_no_more_than_a_quarter_of_the_free_memory() -> None:
    assert set_count(CACHE, CACHE, 8 * CACHE) == 2
    assert set_count(CACHE, CACHE, CACHE) == 1


def test_empty_inputs_have_sets_too() -> None:
    assert set_count(0, CACHE, PLENTY) == 4096


def test_one_set_stays_hot_until_it_is_three_caches() -> None:
    device = Device("cuda:0", DeviceKind.CUDA, "GPU", "GPU-1", last_level_cache_bytes=CACHE)
    assert device.may_keep(3 * CACHE)
    assert not device.may_keep(3 * CACHE + 1)


def test_small_data_has_as_many_sets_as_leave_the_cache() -> None:
    """16384 elements of bfloat16, read and written, in 60 MiB: 256 sets of them would stay there."""
    sets = set_count(2 * 2 * 16384, CACHE, PLENTY)
    assert sets == 2880
    assert sets * 2 * 2 * 16384 >= 3 * CACHE


@pytest.mark.parametrize(
    ("tensors", "formula", "counted"),
    [(100, 100, 100), (100, 100_000, 100), (100_000, 100, 100), (100, 0, 100)],
)
def test_a_formula_that_says_too_much_does_not_leave_the_cache_warm(
    tensors: int, formula: int, counted: int
) -> None:
    assert bytes_a_call(tensors, formula) == counted


SIZES = {"rows": 3, "cols": 100}
MANY = KernelSpec(
    name="many",
    title="many",
    formula="",
    axes=(Axis("rows", "rows"), Axis("cols", "columns")),
    inputs=(
        TensorSpec("x", ("rows", "cols")),
        TensorSpec("labels", ("rows",), Element.INT64, Fill.INTEGER, below="cols"),
        TensorSpec("bytes", ("cols",), Element.FLOAT8_E4M3),
        TensorSpec("sums", ("rows",), Element.FLOAT32, Fill.DERIVED),
    ),
    outputs=(TensorSpec("y", ("rows", "cols")),),
    work=WorkFormula("0", "rows", "cols"),
    tolerance=Tolerance(1e-6, 1e-3, 1e-2),
    presets=(Preset("small", SIZES),),
    odd_sizes=(SIZES,),
    large_magnitude=2.0,
)


def sum_of_rows(x: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor]:
    return (x.float().sum(1),)


def test_thousands_of_sets_share_a_block_a_tensor_and_are_tensors_of_their_own() -> None:
    maker = InputMaker(MANY, Dtype.BFLOAT16, torch.device("cpu"), seed=1, derive=sum_of_rows)
    blocks = tuple(make_block(layout, 4096, torch.device("cpu")) for layout in maker.layouts(SIZES))
    sets = sets_of(blocks)
    maker.refresh_all(blocks, sets, SIZES)
    assert len(sets) == 4096
    for tensors, spec in zip(zip(*sets, strict=True), MANY.inputs, strict=True):
        addresses = [tensor.data_ptr() for tensor in tensors]
        assert {(b - a) % 512 for a, b in pairwise(addresses)} == {0}
        assert min(b - a for a, b in pairwise(addresses)) >= tensors[0].nbytes
        assert all(tensor._base is None for tensor in tensors)
        assert {tuple(tensor.shape) for tensor in tensors} == {MANY.shape(spec, SIZES)}
    x, labels, narrow, sums = sets[1234]
    assert x.dtype is torch.bfloat16
    assert x.is_contiguous()
    assert not torch.equal(x, sets[1235][0])
    assert -1 <= x.min() < -0.5 < 0.5 < x.max() <= 1
    assert labels.min() >= 0
    assert labels.max() < 100
    assert narrow.float().abs().max() > 0.5
    torch.testing.assert_close(sums, x.float().sum(1))


def test_a_workload_may_have_its_inputs_from_the_normal_distribution() -> None:
    maker = InputMaker(MANY, Dtype.BFLOAT16, torch.device("cpu"), seed=1, fill=Distribution.NORMAL)
    x, labels, narrow, _ = maker.make({"rows": 300, "cols": 1000})
    for values in (x.float(), narrow.float()):
        assert values.std().item() == pytest.approx(1, abs=0.1)
        assert values.abs().max() > 2
    assert labels.max() > 900  # what the spec says of an input stands
    wide, *_ = maker.make({"rows": 300, "cols": 1000}, magnitude=8.0)
    assert wide.float().std().item() == pytest.approx(8, rel=0.05)


def test_a_set_is_counted_with_what_a_call_writes() -> None:
    maker = InputMaker(MANY, Dtype.BFLOAT16, torch.device("cpu"), seed=1)
    assert maker.set_bytes(SIZES) == 300 * 2 + 3 * 8 + 100 + 3 * 4 + 300 * 2

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.plan import SWEEP, PlanError, SizeChoice, plan_jobs, tour
from roofscope.profiling.planning.spec import Distribution, Dtype, Implementation, Provider, Workload
from roofscope.tests.sessions import make_session

SOFTMAX = Kernel(
    make_session().specs["softmax"],
    Path("softmax"),
    (
        Implementation("softmax", Provider.EAGER, "", "a"),
        Implementation("softmax", Provider.COMPILE, "default", "b"),
        Implementation("softmax", Provider.COMPILE, "max_autotune", "b"),
        Implementation("softmax", Provider.CUDA, "warp", "c"),
        Implementation("softmax", Provider.LIBRARY, "liger", "d"),
    ),
)
SMALL = SizeChoice(SOFTMAX.spec.presets[0].name)


def test_a_plan_is_the_product_and_a_job_keeps_rivals_together() -> None:
    jobs = plan_jobs(
        [SOFTMAX],
        device="cuda:0",
        dtypes=[Dtype.FLOAT32, Dtype.FLOAT16],
        size_choices=[SMALL, SizeChoice(SMALL.preset, {"rows": 7})],
        first_id=5,
    )
    assert [job.id for job in jobs] == ["job-5", "job-6", "job-7", "job-8"]
    assert {len(job.implementations) for job in jobs} == {3}
    assert jobs[2].workload.sizes["rows"] == 7
    assert jobs[0].work == SOFTMAX.spec.work_at(jobs[0].workload.sizes, Dtype.FLOAT32)


def test_the_inputs_distribution_is_part_of_the_workload_and_its_name() -> None:
    usual, normal = (
        plan_jobs([SOFTMAX], device="cuda:0", dtypes=(), size_choices=[SMALL], fill=fill)[0].workload
        for fill in Distribution
    )
    assert usual != normal
    assert normal.label == f"{usual.label}, N(0,1)"
    old = msgspec.json.encode({"kernel": "softmax", "dtype": "float32", "sizes": usual.sizes})
    assert msgspec.json.decode(old, type=Workload) == usual  # of a session from before


def test_providers_and_stems_narrow_it() -> None:
    [job] = plan_jobs(
        [SOFTMAX],
        device="cpu",
        dtypes=[Dtype.FLOAT32],
        size_choices=[SMALL],
        providers=[Provider.EAGER, Provider.CUDA],
        stems=["cuda_warp", "compile_default"],
    )
    assert [found.stem for found in job.implementations] == ["cuda_warp"]


def stems_planned(kernel: Kernel = SOFTMAX, **choice: Any) -> list[str]:
    [job] = plan_jobs([kernel], device="cpu", dtypes=[Dtype.FLOAT32], size_choices=[SMALL], **choice)
    return [found.stem for found in job.implementations]


def test_further_modes_of_compile_run_where_they_are_asked_for() -> None:
    usual = ["eager", "compile_default", "cuda_warp"]
    assert stems_planned() == usual
    assert stems_planned(providers=[Provider.COMPILE]) == ["compile_default"]
    assert stems_planned(stems=["compile_max_autotune"]) == ["compile_max_autotune"]
    everything = [found.stem for found in SOFTMAX.implementations if found.provider is not Provider.LIBRARY]
    assert stems_planned(all_modes=True) == everything
    replace = msgspec.structs.replace
    aside = replace(SOFTMAX, spec=replace(SOFTMAX.spec, on_request=("cuda_warp",)))
    assert stems_planned(aside) == ["eager", "compile_default"]
    assert stems_planned(aside, stems=["cuda_warp"]) == ["cuda_warp"]
    comparing = replace(SOFTMAX, spec=replace(SOFTMAX.spec, compares_modes=True))
    assert stems_planned(comparing) == everything


def test_libraries_run_where_they_are_named() -> None:
    assert "library_liger" not in stems_planned(all_modes=True)
    assert stems_planned(stems=["library_liger"]) == ["library_liger"]
    assert stems_planned(providers=[Provider.LIBRARY]) == ["library_liger"]
    assert stems_planned(providers=[Provider.LIBRARY, Provider.CUDA]) == ["cuda_warp", "library_liger"]
    assert stems_planned(providers=[Provider.CUDA], stems=["library_liger", "cuda_warp"]) == ["cuda_warp"]


def test_a_sweep_takes_all_sizes_of_the_spec() -> None:
    replace = msgspec.structs.replace
    sizes = tuple({**SOFTMAX.spec.presets[0].sizes, "rows": rows} for rows in (1, 64, 4096))
    sweeping = replace(SOFTMAX, spec=replace(SOFTMAX.spec, sweep=sizes))
    jobs = plan_jobs([sweeping], device="cpu", dtypes=[], size_choices=[SizeChoice(SWEEP)])
    assert [job.workload.sizes for job in jobs] == list(sizes)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ((Dtype.FLOAT16, Dtype.FLOAT32), Dtype.FLOAT32),
        ((Dtype.BFLOAT16, Dtype.FLOAT16), Dtype.BFLOAT16),
    ],
)
def test_without_dtypes_a_kernel_takes_float32_or_its_first(
    known: tuple[Dtype, ...], expected: Dtype
) -> None:
    replace = msgspec.structs.replace
    kernel = replace(SOFTMAX, spec=replace(SOFTMAX.spec, dtypes=known))
    [job] = plan_jobs([kernel], device="cpu", dtypes=[], size_choices=[SMALL])
    assert job.workload.dtype is expected


def test_the_tour_is_what_a_library_has_of_it_or_all() -> None:
    replace = msgspec.structs.replace
    other = replace(SOFTMAX, spec=replace(SOFTMAX.spec, name="other"))
    assert tour([other, SOFTMAX]) == (SOFTMAX,)
    assert tour([other]) == (other,)


def test_a_kernel_without_the_type_says_which_it_has() -> None:
    replace = msgspec.structs.replace
    kernel = replace(SOFTMAX, spec=replace(SOFTMAX.spec, dtypes=(Dtype.BFLOAT16, Dtype.FLOAT32)))
    with pytest.raises(PlanError) as caught:
        plan_jobs([kernel], device="cpu", dtypes=[Dtype.FLOAT16], size_choices=[SMALL])
    assert str(caught.value) == "Nothing to run in fp16: softmax has bf16, fp32."


@pytest.mark.parametrize(
    ("choice", "providers", "words"),
    [
        (SizeChoice("gigantic"), [Provider.EAGER], "no preset 'gigantic'"),
        (SizeChoice(SMALL.preset, {"depth": 2}), [Provider.EAGER], "no axis 'depth'"),
        (SizeChoice(SMALL.preset, {"rows": -5}), [Provider.EAGER], "got -5"),
        (SizeChoice(SMALL.preset, {"rows": 0}), [Provider.EAGER], "softmax has nothing to time at rows=0;"),
        (SMALL, [Provider.TRITON], "Nothing to run"),
    ],
)
def test_what_cannot_be_planned_gets_one_sentence(
    choice: SizeChoice, providers: list[Provider], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        plan_jobs([SOFTMAX], device="cpu", dtypes=[Dtype.FLOAT32], size_choices=[choice], providers=providers)


def test_work_that_no_device_does_is_refused_when_it_is_planned() -> None:
    """A worker could not read the job, and would be waited for in vain."""
    with pytest.raises(PlanError, match="which no device does"):
        plan_jobs(
            [SOFTMAX],
            device="cpu",
            dtypes=[Dtype.FLOAT32],
            size_choices=[SizeChoice(SMALL.preset, {"rows": 10**9, "cols": 10**9})],
        )

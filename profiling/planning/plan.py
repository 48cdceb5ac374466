"""What to measure: the product of kernels, dtypes, sizes and implementations."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import astuple

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.spec import (
    Distribution,
    Dtype,
    Implementation,
    KernelSpec,
    Provider,
    Work,
    Workload,
    size_text,
)
from roofscope.profiling.providers import Family
from roofscope.profiling.quantities import LARGEST_AMOUNT

_NAMED = 3  # kernels, in a sentence
SWEEP = "sweep"  # in a preset's place: all sizes of a kernel's sweep

# What a first session measures: a minute on a GPU, and enough to see what the program does.
TOUR = ("vector_add", "weighted_sum", "gelu", "softmax", "matmul")


class Regime(StrEnum):
    BURST = "burst"  # after a short warm-up, at the clock a fresh device holds
    SUSTAINED = "sustained"  # after 3 s and more of the same work


class Quality(StrEnum):
    QUICK = "quick"  # 1 % interval, at most 2 s an implementation
    EXACT = "exact"  # 0.25 % interval, at most 10 s an implementation


class Job(Struct, frozen=True):
    """One workload and the implementations to compare on it, on one device.

    They share a job because they are timed in turn, round by round, on the same inputs: measured one after
    the other, the second reads 1 to 8 % slow.
    """

    id: str
    device: str
    workload: Workload
    work: Work
    implementations: tuple[Implementation, ...]
    quality: Quality = Quality.QUICK
    regime: Regime = Regime.BURST
    keeps_code: bool = False  # what compilers make of the implementations comes with their outcomes
    # Such as sm_90, on the CPU: what needs a GPU is interpreted, compiled for this one, and not timed.
    architecture: str = ""

    def examines(self, implementation: Implementation) -> bool:
        """Whether an implementation is interpreted and compiled in this job, and not timed."""
        return bool(self.architecture) and implementation.provider.facts.is_examined


def next_job_number(jobs: Iterable[Job]) -> int:
    """One more than any of these, so that an id names one job of a session."""
    return max(map(job_number, jobs), default=0) + 1


def job_number(job: Job) -> int:
    """By which a session counts its jobs, in the order planned; 0 for one that says none."""
    digits = job.id.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


class PlanError(ValueError):
    """The user's choice cannot be planned; the text is one sentence for the user."""


class SizeChoice(Struct, frozen=True):
    """A preset's name or ``sweep``, and explicit sizes laid over the preset's."""

    preset: str
    sizes: dict[str, int] = {}
    or_any: bool = False  # for a default: a kernel that lacks the preset takes one that it has


def tour(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Kernels for a first session: those of the tour, or all of a library that has none of them."""
    return tuple(kernel for kernel in kernels if kernel.spec.name in TOUR) or tuple(kernels)


def by_default(kernel: Kernel, implementation: Implementation) -> bool:
    """Whether a plan takes an implementation that nobody named.

    It takes only the default one of torch.compile's modes, unless the kernel is there to compare modes: the
    others compile for seconds to minutes. It leaves out what the spec lists as ``on_request``, other people's
    libraries, which are not what the user writes, and the library's versions that need an optional package.
    """
    if not _is_usual(kernel, implementation) or implementation.stem in kernel.spec.on_request:
        return False
    is_mode = implementation.provider is Provider.COMPILE and implementation.variant != "default"
    return kernel.spec.compares_modes or not is_mode


def _is_usual(kernel: Kernel, implementation: Implementation) -> bool:
    """Whether it is taken although its provider is not named: what users write themselves, they can build."""
    facts = implementation.provider.facts
    is_own = facts.family is Family.OWN_CODE and not kernel.folder.is_relative_to(LIBRARY)
    return facts.is_by_default or is_own


def plan_jobs(
    kernels: Sequence[Kernel],
    *,
    device: str,
    dtypes: Iterable[Dtype],
    size_choices: Iterable[SizeChoice],
    providers: Iterable[Provider] = (),
    stems: Iterable[str] = (),
    all_modes: bool = False,
    quality: Quality = Quality.QUICK,
    regime: Regime = Regime.BURST,
    fill: Distribution = Distribution.UNIFORM,
    keeps_code: bool = False,
    first_id: int = 1,
    architecture: str = "",
) -> tuple[Job, ...]:
    """Make the jobs, kernel by kernel. ``providers`` and ``stems`` narrow the implementations when given.

    Without dtypes each kernel takes float32, or the first it knows. ``all_modes`` adds the implementations
    that a plan leaves out by default, but those of a provider that is not taken by default only where
    ``providers`` or ``stems`` name them.

    Raises PlanError when a size does not fit or is empty, a preset is unknown or nothing is left to run.
    """
    wanted_dtypes, wanted_sizes = tuple(dtypes), tuple(size_choices)
    wanted_providers, wanted_stems = set(providers), set(stems)

    def is_wanted(kernel: Kernel, implementation: Implementation) -> bool:
        if wanted_providers and implementation.provider not in wanted_providers:
            return False
        if wanted_stems:
            return implementation.stem in wanted_stems
        if not _is_usual(kernel, implementation):
            return implementation.provider in wanted_providers
        return all_modes or by_default(kernel, implementation)

    jobs: list[Job] = []
    for kernel in kernels:
        implementations = tuple(found for found in kernel.implementations if is_wanted(kernel, found))
        if not implementations:
            continue
        for workload, work in _workloads(kernel, wanted_sizes, wanted_dtypes, fill):
            jobs.append(
                Job(
                    id=f"job-{first_id + len(jobs)}",
                    device=device,
                    workload=workload,
                    work=work,
                    implementations=implementations,
                    quality=quality,
                    regime=regime,
                    keeps_code=keeps_code or bool(architecture),  # nothing is timed that it could disturb
                    architecture=architecture,
                )
            )
    if not jobs:
        raise PlanError(_nothing_to_run(kernels, wanted_dtypes))
    return tuple(jobs)


def _workloads(
    kernel: Kernel, choices: Sequence[SizeChoice], dtypes: Sequence[Dtype], fill: Distribution
) -> list[tuple[Workload, Work]]:
    workloads = (
        Workload(kernel.spec.name, dtype, sizes, fill)
        for choice in choices
        for sizes in _sizes(kernel, choice)
        for dtype in _dtypes(kernel, dtypes)
    )
    return [(workload, _work_of(kernel.spec, workload)) for workload in workloads]


def planned_again(kernel: Kernel, workload: Workload) -> Work:
    """The work of a workload that was planned before, by the kernel's formulas of now. Raises PlanError."""
    spec = kernel.spec
    if workload.dtype not in spec.dtypes:
        raise PlanError(f"{spec.name} no longer takes {workload.dtype.label}.")
    if problem := spec.problem_with(workload.sizes):
        raise PlanError(problem)
    return _work_of(spec, workload)


def _work_of(spec: KernelSpec, workload: Workload) -> Work:
    try:
        work = spec.work_at(workload.sizes, workload.dtype)
    except FormulaError as error:
        raise PlanError(f"{spec.name} cannot be planned at these sizes: {error}") from error
    if not all(0 <= amount <= LARGEST_AMOUNT for amount in astuple(work)):
        raise PlanError(
            f"{workload.label} comes to {work.flop_count:.3g} FLOPs and {work.byte_count:.3g} bytes, "
            "which no device does; choose smaller sizes."
        )
    return work


def _nothing_to_run(kernels: Sequence[Kernel], wanted: Sequence[Dtype]) -> str:
    if any(_dtypes(kernel, wanted) for kernel in kernels):
        return "Nothing to run: no implementation matches the kernels, providers and sizes chosen."
    known = [f"{kernel.spec.name} has {_labels(kernel.spec.dtypes)}" for kernel in kernels[:_NAMED]]
    more = f"; and {len(kernels) - _NAMED} more" if len(kernels) > _NAMED else ""
    return f"Nothing to run in {_labels(wanted)}: {'; '.join(known)}{more}."


def _labels(dtypes: Iterable[Dtype]) -> str:
    return ", ".join(dtype.label for dtype in dtypes)


def _dtypes(kernel: Kernel, wanted: Sequence[Dtype]) -> tuple[Dtype, ...]:
    known = kernel.spec.dtypes
    if not wanted:
        return (Dtype.FLOAT32,) if Dtype.FLOAT32 in known else known[:1]
    return tuple(dtype for dtype in wanted if dtype in known)


def _sizes(kernel: Kernel, choice: SizeChoice) -> tuple[dict[str, int], ...]:
    if choice.preset == SWEEP:
        return kernel.spec.sweep
    preset = kernel.spec.preset(choice.preset)
    if preset is None and choice.or_any and kernel.spec.presets:
        preset = kernel.spec.presets[-1]
    if preset is None:
        known = ", ".join([*(preset.name for preset in kernel.spec.presets), SWEEP])
        raise PlanError(f"{kernel.spec.name} has no preset {choice.preset!r}; it has {known}.")
    sizes = {**preset.sizes, **choice.sizes}
    if problem := kernel.spec.problem_with(sizes):
        raise PlanError(problem)
    if _is_empty(kernel.spec, sizes):
        empty = {name: size for name, size in sizes.items() if not size} or sizes
        raise PlanError(f"{kernel.spec.name} has nothing to time at {size_text(empty)}; choose larger sizes.")
    return (sizes,)


def _is_empty(spec: KernelSpec, sizes: Mapping[str, int]) -> bool:
    """Whether a call reads or writes no element: verified among the odd sizes, but not worth a time."""
    return any(
        tensors and not any(math.prod(spec.shape(tensor, sizes)) for tensor in tensors)
        for tensors in (spec.inputs, spec.outputs)
    )

"""What the plan bar holds, as a value; turned into jobs by profiling.plan."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.plan import SWEEP, Job, PlanError, Quality, Regime, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Distribution, Dtype, Implementation, Provider, size_text

Checked = Mapping[str, Sequence[Implementation]]
Sizes = Mapping[str, int]  # by axis

PRESETS = ("small", "medium", "large", SWEEP)
_NAMED = 3  # kernels, in a sentence


class PlanChoice(Struct, frozen=True):
    """One state of the plan bar. With ``own_sizes``, presets give only the axes that these leave open."""

    device: str
    dtypes: tuple[Dtype, ...] = (Dtype.FLOAT32,)
    presets: tuple[str, ...] = ("medium",)
    own_sizes: tuple[Sizes, ...] = ()
    regime: Regime = Regime.BURST
    fill: Distribution = Distribution.UNIFORM
    quality: Quality = Quality.QUICK
    keeps_code: bool = False
    architecture: str = ""  # what needs a GPU is interpreted and compiled for it; "": it is left out


def sizes_hint(choices: Sequence[Sizes], kernels: Sequence[Kernel]) -> str:
    """One sentence on own sizes that leave some of the chosen kernels out; "" when all take part.

    Raises PlanError when no kernel has these axes, or one has them and cannot take the sizes.
    """
    left_out = [kernel.spec.name for kernel in kernels if not _fitting(kernel, choices)]
    if kernels and len(left_out) == len(kernels):
        names = ", ".join(sorted({name for sizes in choices for name in sizes}))
        raise PlanError(f"No chosen kernel has the axes {names}; see a kernel's tooltip for its axes.")
    for kernel in kernels:
        for sizes in _fitting(kernel, choices):
            # Axes left open come from a preset, which is right by contract.
            preset = kernel.spec.presets[0].sizes if kernel.spec.presets else {}
            if problem := kernel.spec.problem_with({**preset, **sizes}):
                raise PlanError(problem)
    return f"Left out, without these axes: {', '.join(left_out)}." if left_out else ""


def dtypes_hint(dtypes: Sequence[Dtype], kernels: Sequence[Kernel]) -> str:
    """One sentence on chosen kernels that know none of the data types; "" when all take part."""
    left_out = [kernel.spec.name for kernel in kernels if not set(dtypes) & set(kernel.spec.dtypes)]
    if not left_out:
        return ""
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return f"Left out, without these data types: {', '.join(left_out[:_NAMED])}{more}."


def plan(
    choice: PlanChoice,
    kernels: Sequence[Kernel],
    checked: Mapping[str, Sequence[Implementation]],
    first_id: int,
) -> tuple[Job, ...]:
    """The jobs of a choice over the checked implementations. Raises PlanError."""
    wanted = [
        msgspec.structs.replace(kernel, implementations=tuple(checked[kernel.spec.name]))
        for kernel in kernels
        if checked.get(kernel.spec.name)
    ]
    if not wanted:
        raise PlanError("Nothing is chosen; tick a kernel in the library.")
    if not choice.dtypes:
        raise PlanError("No data type is chosen; tick one in the plan bar.")
    if not choice.own_sizes and not choice.presets:
        raise PlanError("No size is chosen; tick a preset or write your own in the plan bar.")
    if choice.own_sizes:
        sizes_hint(choice.own_sizes, wanted)
    knowing = [kernel for kernel in wanted if set(choice.dtypes) & set(kernel.spec.dtypes)]
    if not knowing:
        raise PlanError("No chosen kernel knows the chosen data types; tick another one.")
    jobs: list[Job] = []
    for kernel in knowing:
        sizes = _size_choices(kernel, choice.presets, choice.own_sizes)
        if not sizes:
            continue
        jobs += plan_jobs(
            [kernel],
            device=choice.device,
            dtypes=choice.dtypes,
            size_choices=sizes,
            providers=tuple(Provider),  # what is ticked is asked for
            all_modes=True,
            quality=choice.quality,
            regime=choice.regime,
            fill=choice.fill,
            keeps_code=choice.keeps_code,
            architecture=choice.architecture,
            first_id=first_id + len(jobs),
        )
    if not jobs:
        own = "; ".join(map(size_text, choice.own_sizes))
        sizes_text = own or " or ".join(choice.presets)
        raise PlanError(f"No chosen kernel with these data types has the size {sizes_text}; choose another.")
    return tuple(jobs)


def _size_choices(kernel: Kernel, presets: Sequence[str], own: Sequence[Sizes]) -> list[SizeChoice]:
    known = [*(preset.name for preset in kernel.spec.presets), *([SWEEP] if kernel.spec.sweep else [])]
    chosen = [name for name in presets if name in known]
    if kernel.form and known:  # a file of the user's: its form has one choice of sizes
        chosen = known[:1]
    if not own:
        return [SizeChoice(name) for name in chosen]
    base = next((name for name in chosen if name != SWEEP), known[0])
    return [SizeChoice(base, dict(sizes)) for sizes in _fitting(kernel, own)]


def _fitting(kernel: Kernel, choices: Sequence[Sizes]) -> list[Sizes]:
    axes = {axis.name for axis in kernel.spec.axes}
    return [sizes for sizes in choices if set(sizes) <= axes]


def newest(catalog: Catalog, checked: Checked) -> Checked:
    """The ticked implementations as their files are now."""
    found: dict[str, tuple[Implementation, ...]] = {}
    for kernel in catalog.kernels:
        stems = {implementation.stem for implementation in checked.get(kernel.spec.name, ())}
        found[kernel.spec.name] = tuple(i for i in kernel.implementations if i.stem in stems)
    return found

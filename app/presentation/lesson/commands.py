"""What a reader types: the story's own run, the exercise, and the same without a GPU."""

from msgspec import Struct

from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.planning.story import OWN, Story
from roofscope.profiling.providers import provider_of

FOLDER = "my-kernels"


class Commands(Struct, frozen=True):
    """Lines for a shell. Those of ``steps`` and ``exercise`` measure on a GPU; the others need none."""

    steps: tuple[str, ...]
    examined: tuple[str, ...]  # the steps, verified in Triton's interpreter and compiled
    exercise: tuple[str, ...]
    without_gpu: tuple[str, ...]  # the exercise


def commands(story: Story) -> Commands:
    kernel, mine = story.kernel, f"my-{story.kernel}{SUFFIX}"
    elsewhere = f"my-{kernel}-cpu{SUFFIX}"  # beside a file of a GPU, which a second run refuses to replace
    size = ",".join(f"{axis}={count}" for axis, count in story.sizes.items())
    workload = f"--dtype {story.dtype.label} --size {size}"
    stems = ["eager", *(stem for stem in story.stems if stem != "eager")]
    every = " ".join(f"--implementation {stem}" for stem in stems)
    begin = f"roofscope lesson {kernel} --begin {FOLDER}"
    check = f"roofscope lesson {kernel} --check {mine}"
    own = f"roofscope run {kernel} --kernels {FOLDER}"
    return Commands(
        steps=(f"roofscope run {kernel} {every} {workload} --out {kernel}{SUFFIX}",),
        examined=(_examined(story),),
        exercise=(
            begin,
            f"{own} --implementation eager --implementation {story.exercise.stem} {workload} --out {mine}",
            check,
        ),
        without_gpu=(
            f"{own} --device cpu {own_version(story)} --preset small --out {elsewhere}",
            f"roofscope lesson {kernel} --check {elsewhere}",
        ),
    )


def stem_without_gpu(story: Story) -> str:
    """The version that is edited where there is no GPU: Triton's runs in its interpreter, CUDA's nowhere."""
    own = story.exercise.stem
    return own if _is_interpreted(own) else f"{Provider.EAGER}_{OWN}"


def own_version(story: Story) -> str:
    stem = stem_without_gpu(story)
    return f"--implementation {stem}" + (" --interpret" if _is_interpreted(stem) else "")


def _is_interpreted(stem: str) -> bool:
    provider = provider_of(stem)
    return provider is not None and provider.facts.is_interpreted


def _examined(story: Story) -> str:
    stems = [stem for stem in story.stems if (one := provider_of(stem)) and one.facts.is_examined]
    chosen = " ".join(f"--implementation {stem}" for stem in dict.fromkeys(stems))
    rest = f"--dtype {story.dtype.label} --preset small --out {story.kernel}{SUFFIX}"
    return f"roofscope run {story.kernel} --interpret {chosen} {rest}"

"""What a reader types: the story's own run, the exercise, and the same without a GPU."""

from msgspec import Struct

from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.planning.story import OWN, Story

FOLDER = "my-kernels"


class Commands(Struct, frozen=True):
    """Lines for a shell. Those of ``steps`` and ``exercise`` measure on a GPU; ``without_gpu`` needs none."""

    steps: tuple[str, ...]
    exercise: tuple[str, ...]
    without_gpu: tuple[str, ...]


def commands(story: Story) -> Commands:
    kernel, mine = story.kernel, f"my-{story.kernel}{SUFFIX}"
    size = ",".join(f"{axis}={count}" for axis, count in story.sizes.items())
    workload = f"--dtype {story.dtype.label} --size {size}"
    stems = ["eager", *(stem for stem in story.stems if stem != "eager")]
    every = " ".join(f"--implementation {stem}" for stem in stems)
    begin = f"roofscope lesson {kernel} --begin {FOLDER}"
    check = f"roofscope lesson {kernel} --check {mine}"
    own = f"roofscope run {kernel} --kernels {FOLDER}"
    return Commands(
        steps=(f"roofscope run {kernel} {every} {workload} --out {kernel}{SUFFIX}",),
        exercise=(
            begin,
            f"{own} --implementation eager --implementation {story.exercise.stem} {workload} --out {mine}",
            check,
        ),
        without_gpu=(
            f"{own} --device cpu --implementation {Provider.EAGER}_{OWN} --preset small --out {mine}",
            check,
        ),
    )

"""What a child is asked that runs one implementation to find what is wrong with it."""

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.domain import first_inside
from roofscope.profiling.planning.one_file.parts import REFERENCE, Entry
from roofscope.profiling.planning.spec import Dtype, Implementation, KernelSpec, Workload

SEED = 20260


class DebugMode(StrEnum):
    INTERPRET = "interpret"  # Triton's interpreter on the CPU, each access checked
    RUN = "run"  # as it runs, and compared with the reference
    CALL = "call"  # as it runs, for a tool that observes the process


class DebugQuestion(Struct, frozen=True):
    """Paths are text: this goes to a child as JSON."""

    mode: DebugMode
    spec: KernelSpec
    folder: str
    implementation: Implementation
    workload: Workload
    device: str  # torch's name of it
    form: str = ""
    entries: dict[str, Entry] = {}
    tool: tuple[str, ...] = ()  # a command line, such as compute-sanitizer's, that observes the call

    @property
    def kernel(self) -> Kernel:
        return Kernel(
            self.spec,
            Path(self.folder),
            (self.implementation,),
            form=Path(self.form) if self.form else None,
            entries=self.entries,
        )


def question_of(
    kernel: Kernel, implementation: Implementation, workload: Workload, device: str, mode: DebugMode
) -> DebugQuestion:
    stems = (implementation.stem, REFERENCE)
    return DebugQuestion(
        mode,
        kernel.spec,
        str(kernel.folder),
        implementation,
        workload,
        device,
        str(kernel.form) if kernel.form else "",
        {stem: kernel.entries[stem] for stem in stems if stem in kernel.entries},
    )


def default_sizes(kernel: Kernel, implementation: Implementation, dtype: Dtype) -> dict[str, int]:
    """Small and odd, as verification has them: a tail that is not covered shows there.

    Of the sizes of its domain the first; where that has no odd one, the first preset's.
    """
    choices = tuple(sizes for sizes in kernel.spec.odd_sizes if all(sizes.values()))
    inside = first_inside(implementation.domain, choices, dtype) if implementation.domain else None
    if inside is None and not implementation.domain and choices:
        inside = choices[0]
    if inside is None:
        inside = dict(kernel.spec.presets[0].sizes) if kernel.spec.presets else {}
    return inside

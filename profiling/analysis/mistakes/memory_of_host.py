"""A tensor in the host's memory, given to a kernel on the device."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.results.debugging import Finding, Launched, Mistake, Raised, StageName

_CURE = "Make it where the inputs are: device=x.device, or x.new_empty(...)."
_SAID = ("cpu tensor?", "same device", "must be a CUDA tensor", "is not on CUDA", "not a CUDA tensor")


def memory_of_host(case: Case) -> Iterator[Finding]:
    for launch in case.all(Launched):
        names = [argument.name for argument in launch.arguments if argument.is_of_host]
        if names:
            yield Finding(
                Mistake.WRONG_DEVICE,
                launch.where,
                f"{launch.kernel} gets {', '.join(names)}, made without a device: in the host's memory.",
                _CURE,
                StageName.INTERPRETER,
            )
    for one in case.all(Raised):
        if any(said.lower() in one.text.lower() for said in _SAID):
            yield Finding(Mistake.WRONG_DEVICE, one.where, f"{one.text.rstrip('.')}.", _CURE, one.stage)

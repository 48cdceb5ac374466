"""Elements that are read in another order than they lie in: strides that are exchanged, or not asked for."""

from collections.abc import Iterator
from itertools import pairwise

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.results.debugging import (
    Argument,
    Compared,
    Finding,
    Launched,
    Mistake,
    OutOfRange,
    PatternKind,
)

_CURE = "Check the order of strides and sizes where the kernel is launched, and which index each multiplies."


def strides(case: Case) -> Iterator[Finding]:
    wrong = [output for output in case.wrong if output.wrong]
    if not wrong:
        return
    launches = case.all(Launched)
    views = [(one, argument) for one in launches for argument in one.arguments if _is_ignored(one, argument)]
    for launch, view in views:
        steps = ", ".join(map(str, view.strides))
        yield Finding(
            Mistake.NOT_CONTIGUOUS,
            launch.where,
            f"{view.name} is a view with strides {steps}, which {launch.kernel} does not get: it reads "
            "the memory as if its rows lay one behind the other.",
            "Give the kernel x.stride(0) and x.stride(1), or call x.contiguous() before the launch.",
            wrong[0].stage,
        )
    if not views:
        yield from _exchanged(case, wrong)


def _exchanged(case: Case, wrong: list[Compared]) -> Iterator[Finding]:
    turned = next((output for output in wrong if output.pattern.kind is PatternKind.TRANSPOSED), None)
    launch = case.last_launch
    if turned:
        yield Finding(
            Mistake.WRONG_STRIDE,
            launch.where if launch else None,
            f"{turned.output} has the values of the reference with rows and columns exchanged.",
            _CURE,
            turned.stage,
        )
        return
    for beyond in case.all(OutOfRange):
        for one in case.all(Launched):
            argument = next((each for each in one.arguments if each.name == beyond.argument), None)
            names = _reversed(one, argument) if argument and one.kernel == beyond.kernel else None
            if argument and names:
                given = f"{names[0]}=1 and {names[1]}={argument.strides[0]}"
                yield Finding(
                    Mistake.WRONG_STRIDE,
                    one.where,
                    f"{one.kernel} gets {given}, and the strides of {argument.name} are "
                    f"{argument.strides[0]} and 1: it goes beyond it.",
                    _CURE,
                    wrong[0].stage,
                )


def is_exchanged(case: Case, beyond: OutOfRange) -> bool:
    """Whether an access out of range comes of strides in the wrong order."""
    launches = [one for one in case.all(Launched) if one.kernel == beyond.kernel]
    found = [(one, each) for one in launches for each in one.arguments if each.name == beyond.argument]
    return bool(case.wrong) and any(_reversed(one, each) for one, each in found)


def _reversed(launch: Launched, argument: Argument) -> tuple[str, str] | None:
    """The names of two integers, one behind the other, that are a matrix's strides the other way round."""
    if len(argument.strides) != 2 or argument.strides[1] != 1 or argument.strides[0] < 2:
        return None
    for (first, small), (second, large) in pairwise(launch.integers):
        if (small, large) == (1, argument.strides[0]):
            return first, second
    return None


def _is_ignored(launch: Launched, argument: Argument) -> bool:
    """Whether a view is given without the strides that it has."""
    if argument.is_contiguous or max(argument.shape, default=0) < 2:
        return False
    given = {value for _, value in launch.integers}
    extents = zip(argument.strides, argument.shape, strict=True)
    return not {step for step, size in extents if step > 1 and size > 1} <= given

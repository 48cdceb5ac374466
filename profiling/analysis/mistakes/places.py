"""Where the wrong elements of an output lie, in a clause."""

from math import prod

from roofscope.profiling.results.debugging import Compared, Pattern, PatternKind


def place_text(pattern: Pattern, shape: tuple[int, ...]) -> str:
    """Such as ``rows from 1024 on``, ``the last 37 columns of each row``, ``every 2nd row``."""
    match pattern.kind:
        case PatternKind.NONE:
            return "nowhere"
        case PatternKind.ALL:
            return "all of it"
        case PatternKind.SCALED:
            return f"all of it, by a constant factor of {pattern.factor:.4g}"
        case PatternKind.SHIFTED:
            return f"all of it, by a constant summand of {pattern.factor:.4g}"
        case PatternKind.TRANSPOSED:
            return "rows and columns are exchanged"
        case PatternKind.SCATTERED:
            return "here and there"
        case _:
            return _along(pattern, shape)


def _along(pattern: Pattern, shape: tuple[int, ...]) -> str:
    noun = _noun(pattern.axis, shape)
    count = pattern.last - pattern.first + 1
    of_each = f" of each {_noun(len(shape) - 2, shape)}" if pattern.axis == len(shape) - 1 > 0 else ""
    match pattern.kind:
        case PatternKind.FROM if of_each:
            return f"the last {_counted(count, noun)}{of_each}"
        case PatternKind.FROM:
            size = shape[pattern.axis] if pattern.axis >= 0 else prod(shape)
            return f"{noun}s from {pattern.first} on, the last {count} of {size}"
        case PatternKind.UNTIL:
            return f"the first {_counted(count, noun)}{of_each}"
        case PatternKind.STEPS:
            return f"every {_ordinal(pattern.step)} {noun}{of_each}, from {pattern.first} on"
        case _ if count == 1:
            return f"{noun} {pattern.first}{of_each}"
        case _:
            return f"{noun}s {pattern.first} to {pattern.last}{of_each}"


def wrong_text(output: Compared) -> str:
    """What is wrong with an output, in a sentence."""
    name = output.output
    if output.shape != output.wanted_shape:
        return f"{name} has shape {_shape(output.shape)}, and {_shape(output.wanted_shape)} is wanted."
    if output.element != output.wanted_element:
        return f"{name} is {output.element}, and {output.wanted_element} is wanted."
    share = f"{output.wrong} of {output.count} elements of {name} are wrong"
    return f"{share}: {place_text(output.pattern, output.shape)}."


def _noun(axis: int, shape: tuple[int, ...]) -> str:
    if axis < 0 or len(shape) < 2:
        return "element"
    if axis == len(shape) - 1:
        return "column"
    return "row" if axis == len(shape) - 2 else f"index of dimension {axis}"


def _counted(count: int, noun: str) -> str:
    return noun if count == 1 else f"{count} {noun}s"


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no dimensions"

"""Arithmetic in double precision where the data are float or shorter.

Evidence: double instructions of the compiled code; of sessions that did not count them, the lines of the
recorded CUDA source that compute with the type `double` or with a constant that lacks its `f`, which C++
takes for a double ([lex.fcon]). Threshold: 4 instructions (analysis/limiter.py), because a constant may cost
one; by source alone only of a point that is far from its roof. Half as many doubles as floats a cycle are
computed on A100 to B200, and a 32nd or a 64th on other GPUs (CUDA C++ Programming Guide, "Arithmetic
Instructions"; profiling/roofline/unit_rates.py).
"""

import re
from collections.abc import Iterator

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause
from roofscope.profiling.devices.device import lanes_per_multiprocessor
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.roofline.unit_rates import unit_rates

_FMA = 2  # FLOPs of a lane and cycle
_COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DOUBLE = re.compile(r"\bdouble[234]?\b")
# In arithmetic: a constant by itself, as in `float scale = 0.5;`, is converted by the compiler.
_NUMBER = r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_CONSTANT = re.compile(rf"(?<![\w.]){_NUMBER}\s*[-+*/](?![=>])|[-+*/]\s*(?<![\w.]){_NUMBER}")
_CUDA = (".cu", ".cuh")
# `sizeof(double)` and prototypes only name the type; `return (double)x` computes in it.
_MENTION = re.compile(r"\b(?!return\b)\w+\s*\(\s*double[234]?\s*\)")
_PARAMETER = re.compile(
    r"\bdouble[234]?\b(?:\s*const\b)?(?P<pointer>\s*[*&])?(?:\s*(?:const|__restrict__)\b)*"
    r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:\[\s*\w*\s*\]\s*)?(?:=[^,();]*)?(?=[,)])"
)
_TO_SHORTER = r"(?:(?:float|half|int|SCALAR)|__double2\w+|static_cast\s*<\s*(?!double)[^<>]*>)"
_FUNCTIONS = "(?:r?sqrt|exp|log|pow|fma|fmin|fmax|fabs|sin|cos|tanh|erf)"


class Doubles(Advice, frozen=True, kw_only=True, tag="doubles"):
    instructions: int | None = None  # of the compiled code; None where they were not counted
    file: str = ""  # the source that has them, where it was found by its text
    lines: tuple[int, ...] = ()
    floats_a_double: float | None = None  # how many times as many floats the device computes
    is_triton: bool = False


def doubles(case: Case) -> Doubles | None:
    found = case.deciding(Cause.DOUBLE)
    file, lines = _in_source(case.sources)
    if found is None:
        is_unknown = case.measured.build.double_instructions is None
        is_ours = case.point.implementation.provider in (Provider.CUDA, Provider.CUDA_EXT)
        if not (is_unknown and is_ours and case.is_far and lines):
            return None
    capability = case.device.compute_capability if case.device else None
    rates, lanes = unit_rates(capability), lanes_per_multiprocessor(capability)
    return Doubles(
        instructions=round(found.figure) if found else None,
        file=file,
        lines=lines,
        floats_a_double=lanes * _FMA / rates.fp64 if rates and lanes else None,
        is_triton=case.point.implementation.provider is Provider.TRITON,
        # Where something before it in the order of proof limits the call, its share is not known.
        saves_s=None if case.deciding(Cause.LITTLE_WORK) else case.headroom_s,
        is_at_most=True,
    )


def _in_source(files: tuple[SourceFile, ...]) -> tuple[str, tuple[int, ...]]:
    """The first CUDA file that computes in double, and the numbers of its lines."""
    for file in files:
        if file.name.endswith(_CUDA):
            lines = double_lines(file.text)
            if lines:
                return file.name, lines
    return "", ()


def double_lines(source: str) -> tuple[int, ...]:
    """Lines of CUDA C++ that compute with the type double, or with a constant of it; from 1.

    A parameter of that type is no arithmetic before something is computed with it.
    """
    code = _MENTION.sub(_blank, _COMMENTS.sub(_blank, source))
    parameters = [one for one in _PARAMETER.finditer(code) if _is_in_brackets(code, one.start())]
    used = {code.count("\n", 0, place) for one in parameters for place in _uses(code, one)}
    for one in parameters:
        code = code[: one.start()] + _blank(one) + code[one.end() :]
    return tuple(
        number
        for number, line in enumerate(code.split("\n"), start=1)
        if not line.lstrip().startswith("#")
        and (number - 1 in used or _DOUBLE.search(line) or _CONSTANT.search(line))
    )


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _is_in_brackets(code: str, place: int) -> bool:
    return code.count("(", 0, place) > code.count(")", 0, place)


def _uses(code: str, parameter: re.Match[str]) -> Iterator[int]:
    """Where the function of a parameter computes with it, unless it is converted to a shorter type first."""
    name, begin = parameter["name"], parameter.end()
    body = code[begin : _end_of_body(code, begin)]
    converted = rf"\(\s*(?!double)\w+\s*\)\s*{name}\b|{_TO_SHORTER}\s*\(\s*{name}\s*\)"
    body = re.sub(converted, _blank, body)
    value = rf"{name}\s*\[[^\]]*\]" if parameter["pointer"] else rf"{name}\b"
    computing = (
        rf"[\w\])]\s*[-+*/]=?\s*{value}|\b{value}\s*[-+*/](?!>)=?\s*[\w(.]"
        rf"|\b{_FUNCTIONS}\s*\((?:[^()]*\W)?{value}"
    )
    for use in re.finditer(computing, body):
        yield begin + use.end() - 1


def _end_of_body(code: str, place: int) -> int:
    """Where the function with a parameter at this place ends; the place itself for a prototype."""
    opening = re.compile("[{;]").search(code, place)
    if opening is None or opening.group() == ";":
        return place
    depth = 0
    for bracket in re.compile("[{}]").finditer(code, opening.start()):
        depth += 1 if bracket.group() == "{" else -1
        if not depth:
            return bracket.end()
    return len(code)

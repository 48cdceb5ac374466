"""Arithmetic in double precision where the data are float or shorter.

Evidence: double instructions of the compiled code; of sessions that did not count them, the lines of the
recorded CUDA source with the type `double` or with a constant that lacks its `f`, which C++ takes for a
double ([lex.fcon]). Threshold: 4 instructions (analysis/limiter.py), because a constant may cost one; by
source alone only of a point that is far from its roof. Half as many doubles as floats a cycle are
computed on A100 to B200, and a 32nd or a 64th on other GPUs (CUDA C++ Programming Guide, "Arithmetic
Instructions"; profiling/roofline/unit_rates.py).
"""

import re

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.roofline.unit_rates import unit_rates

_FLOAT_FLOP = 256  # a cycle and multiprocessor: 128 lanes, and FMA is 2
_COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DOUBLE = re.compile(r"\bdouble[234]?\b")
# In arithmetic: a constant by itself, as in `float scale = 0.5;`, is converted by the compiler.
_NUMBER = r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_CONSTANT = re.compile(rf"(?<![\w.]){_NUMBER}\s*[-+*/](?![=>])|[-+*/]\s*(?<![\w.]){_NUMBER}")
_CUDA = (".cu", ".cuh")


class Doubles(Advice, frozen=True, kw_only=True, tag="doubles"):
    instructions: int | None = None  # of the compiled code; None where they were not counted
    file: str = ""  # the source that has them, where it was found by its text
    lines: tuple[int, ...] = ()
    floats_a_double: float | None = None  # how many times as many floats the device computes


def doubles(case: Case) -> Doubles | None:
    found = case.deciding(Cause.DOUBLE)
    file, lines = _in_source(case.sources)
    if found is None:
        is_unknown = case.measured.build.double_instructions is None
        is_ours = case.point.implementation.provider in (Provider.CUDA, Provider.CUDA_EXT)
        if not (is_unknown and is_ours and case.is_far and lines):
            return None
    rates = unit_rates(case.device.compute_capability) if case.device else None
    return Doubles(
        instructions=round(found.figure) if found else None,
        file=file,
        lines=lines,
        floats_a_double=_FLOAT_FLOP / rates.fp64 if rates else None,
        saves_s=case.headroom_s,
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
    """Lines of CUDA C++ with the type double, or with a double constant in arithmetic; from 1."""
    code = _COMMENTS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    return tuple(
        number
        for number, line in enumerate(code.splitlines(), start=1)
        if not line.lstrip().startswith("#") and (_DOUBLE.search(line) or _CONSTANT.search(line))
    )

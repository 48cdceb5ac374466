"""Sizes and element types as people write them, the same in the plan bar and on the command line."""

import re

from roofscope.profiling.planning.plan import PlanError
from roofscope.profiling.planning.spec import Dtype

_PART = re.compile(r"([a-z_][a-z0-9_]*)\s*=\s*(\d[\d_']*)\s*(k|ki|m|mi|g|gi)?", re.IGNORECASE)
_LARGEST = 2**62
_MOST_DIGITS = 25
_MOST_SHOWN = 60
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def parse_sizes(text: str) -> tuple[dict[str, int], ...]:
    """Read ``rows=4096, cols=1000`` or several such lists split by ``;``. ``4Ki`` is 4096, ``4k`` 4000.

    Raises PlanError with one sentence.
    """
    return tuple(parse_size_list(part) for part in text.split(";") if part.strip())


def parse_size_list(text: str) -> dict[str, int]:
    """One such list, with a size in it. Raises PlanError with one sentence."""
    sizes: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _PART.fullmatch(part)
        if match is None:
            raise PlanError(_no_size(part))
        name, digits, suffix = match.groups()
        if name in sizes:
            raise PlanError(f"The size {name!r} is given twice; separate two choices with a semicolon.")
        plain = digits.replace("_", "").replace("'", "")
        size = int(plain[:_MOST_DIGITS]) * _FACTORS[(suffix or "").lower()]
        if len(plain) >= _MOST_DIGITS or size > _LARGEST:
            raise PlanError(f"The size {_shown(part)!r} is more than any device holds; write a smaller one.")
        sizes[name] = size
    if not sizes:
        raise PlanError(_no_size(text))
    return sizes


def parse_dtype(word: str) -> Dtype | None:
    """``bfloat16`` or ``bf16``; None for what is neither."""
    return next((dtype for dtype in Dtype if word.lower() in (dtype, dtype.label)), None)


def _no_size(text: str) -> str:
    return f"{_shown(text)!r} is no size; write for example rows=4096, cols=1000, or n=64Mi."


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"

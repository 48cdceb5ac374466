"""Sizes and element types as people write them, the same in the plan bar and on the command line."""

import re
from itertools import chain

from roofscope.profiling.planning.plan import PlanError
from roofscope.profiling.planning.spec import Dtype

_NAME = r"[a-z_][a-z0-9_]*"
_NUMBER = r"\d[\d_']*\s*(?:\^\s*\d+|[kmg]i?)?"
_PART = re.compile(
    rf"((?:{_NAME}\s*=\s*)+)({_NUMBER})\s*(?:\.\.\s*({_NUMBER})\s*(?:([+*x])\s*({_NUMBER}))?)?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(\d[\d_']*)\s*(?:\^\s*(\d+)|([a-z]+))?", re.IGNORECASE)
_LARGEST = 2**62
_MOST_DIGITS = 25
_MOST_SHOWN = 60
_MOST_SIZES = 1000  # of one range
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def parse_sizes(text: str) -> tuple[dict[str, int], ...]:
    """Read ``rows=4096, cols=1000`` or several such lists split by ``;``. ``4Ki`` is 4096, ``4k`` 4000.

    Raises PlanError with one sentence.
    """
    return tuple(chain.from_iterable(parse_size_list(part) for part in text.split(";") if part.strip()))


def parse_size_list(text: str) -> tuple[dict[str, int], ...]:
    """One such list, with a size in it: one choice of sizes, or those of its ranges.

    ``n=2^10..2^15`` doubles, ``n=1..4096*4`` multiplies by 4 and ``n=256..1024+128`` adds 128. Ranges of one
    list go together, so they have as many sizes; ``m=n=k=512`` is a cube. Raises PlanError with one sentence.
    """
    ranges: dict[str, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _PART.fullmatch(part)
        if match is None:
            if ranges and _DIGITS.fullmatch(part):
                name = next(reversed(ranges))
                raise PlanError(
                    f"{_shown(part)!r} names no axis; separate several sizes of one by semicolons: "
                    f"{name}={ranges[name][0]}; {name}={_shown(part)}."
                )
            raise PlanError(_no_size(part))
        values = _range(part, *match.group(2, 3, 4, 5))
        for name in re.findall(_NAME, match.group(1), re.IGNORECASE):
            if name in ranges:
                raise PlanError(f"The size {name!r} is given twice; separate two choices with a semicolon.")
            ranges[name] = values
    if not ranges:
        raise PlanError(_no_size(text))
    count = max(map(len, ranges.values()))
    for name, values in ranges.items():
        if len(values) not in (1, count):
            other = next(other for other, found in ranges.items() if len(found) == count)
            raise PlanError(
                f"{name} has {len(values)} sizes and {other} {count}; ranges of one list go together, "
                "so give them as many, or write the two in options of their own."
            )
    return tuple(
        {name: values[place if len(values) > 1 else 0] for name, values in ranges.items()}
        for place in range(count)
    )


def parse_dtype(word: str) -> Dtype | None:
    """``bfloat16`` or ``bf16``; None for what is neither."""
    return next((dtype for dtype in Dtype if word.lower() in (dtype, dtype.label)), None)


def _range(part: str, first: str, last: str | None, how: str | None, step: str | None) -> tuple[int, ...]:
    """One size, or those from ``first`` to ``last`` at most."""
    size = _number(part, first)
    if last is None:
        return (size,)
    end, by = _number(part, last), _number(part, step) if step else 2
    if size > end:
        raise PlanError(f"The range {_shown(part)!r} ends before it begins; write the smaller size first.")
    if by < (1 if how == "+" else 2) or (size == 0 and how != "+"):
        raise PlanError(
            f"The range {_shown(part)!r} never gets to its end; begin at 1 or take a larger step."
        )
    sizes: list[int] = []
    while size <= end:
        sizes.append(size)
        size = size + by if how == "+" else size * by
        if len(sizes) > _MOST_SIZES:
            raise PlanError(
                f"The range {_shown(part)!r} has more than {_MOST_SIZES} sizes; take larger steps."
            )
    return tuple(sizes)


def _number(part: str, text: str) -> int:
    match = _DIGITS.fullmatch(text.strip())
    if match is None:
        raise PlanError(_no_size(part))
    digits, power, suffix = match.groups()
    plain = digits.replace("_", "").replace("'", "")
    base = int(plain[:_MOST_DIGITS])
    is_large = len(plain) >= _MOST_DIGITS
    if power is not None:
        is_large |= len(power) > 2
        size = base ** int(power[:2])
    else:
        size = base * _FACTORS[(suffix or "").lower()]
    if is_large or size > _LARGEST:
        raise PlanError(f"The size {_shown(part)!r} is more than any device holds; write a smaller one.")
    return size


def _no_size(text: str) -> str:
    return f"{_shown(text)!r} is no size; write for example rows=4096, cols=1000, n=64Mi or n=2^10..2^15."


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"

"""The map of an output's errors: what a cell means, and the map drawn with characters."""

from roofscope.profiling.results.debugging import Compared, ErrorMap

UNWRITTEN, NOT_FINITE, OUTSIDE = -1.0, -2.0, -3.0
_LEVELS = ((1.0, "."), (10.0, "+"), (100.0, "*"))  # below this share of what is allowed
_WORST = "#"
LEGEND = (
    ". within the tolerance   + up to 10 times   * up to 100 times   # more   N not finite   _ never written"
)


def mark_of(share: float) -> str:
    if share == UNWRITTEN:
        return "_"
    if share == NOT_FINITE:
        return "N"
    if share == OUTSIDE:
        return " "
    return next((mark for limit, mark in _LEVELS if share <= limit), _WORST)


def map_lines(output: Compared) -> tuple[str, ...]:
    """The map with its legend; none where the output is right, or as wrong everywhere."""
    if output.map is None or output.is_right:
        return ()
    shown = output.map
    rows = [
        "".join(mark_of(share) for share in shown.shares[row * shown.columns : (row + 1) * shown.columns])
        for row in range(shown.rows)
    ]
    if len(set("".join(rows).strip())) == 1:
        return ()
    return (*rows, LEGEND)


def cell_text(output: Compared, cell: int) -> str:
    """What a cell's worst element is: for a pointer that rests on it."""
    shown = output.map
    if shown is None or not 0 <= cell < len(shown.shares) or not shown.indices[cell]:
        return ""
    at = ", ".join(map(str, shown.indices[cell]))
    wanted = _number(shown.expected[cell])
    if shown.shares[cell] == UNWRITTEN:
        return f"{output.output}[{at}] was never written; {wanted} is expected."
    found = _number(shown.found[cell])
    share = shown.shares[cell]
    times = "" if share == NOT_FINITE else f"; {share:.{0 if share >= 100 else 1}f} times what is allowed"
    return f"{output.output}[{at}] is {found}, and {wanted} is expected{times}."


def worst_cell(shown: ErrorMap) -> int:
    """Its number: never written and not finite count as worse than any figure."""
    return max(range(len(shown.shares)), key=lambda at: _rank(shown.shares[at]))


def _rank(share: float) -> float:
    return float("inf") if share in (UNWRITTEN, NOT_FINITE) else share


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.6g}"

"""``plot --grid``: a version over the values of its parameters, as a picture and as a table."""

from msgspec.structs import replace

from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.presentation.formatting import sizes_text
from roofscope.app.presentation.grid.scene import QUANTITIES, GridOptions, GridScene, build_grid
from roofscope.app.presentation.grid.svg import title_text
from roofscope.app.presentation.grid.table import BEST, grid_table, reasons
from roofscope.app.presentation.grid.variants import Subject, subjects_of
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.table import aligned_text
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Session

AUTO = "auto"


def choose_grid(
    session: Session,
    axes: str,
    kernel: str | None,
    dtype: Dtype | None,
    sizes: dict[str, int],
    quantity: Quantity,
) -> GridOptions:
    """Names resolved, or refused with those that there are. ``axes`` is X=BLOCK,Y=num_warps, or auto."""
    if quantity not in QUANTITIES:
        unknown("quantity of a grid", quantity, QUANTITIES)
    known = [subject for subject, points in subjects_of(session).items() if len(points) > 1]
    if not known:
        refuse(build_grid(session).why_empty)
    subject = _subject(known, kernel, dtype, sizes)
    options = GridOptions(subject, quantity=quantity)
    scene = build_grid(session, options)
    names = _axes(axes)
    for name in names.values():
        if name not in scene.names:
            unknown(f"parameter of {subject.key} with several values", name, scene.names)
    is_line = bool(names) and "y" not in names
    return replace(options, x=names.get("x"), y=names.get("y"), is_line=is_line)


def grid_lines(scene: GridScene) -> list[str]:
    """The grid on a terminal: its title, the table, what is best, and why some have no time."""
    notes = [f"{BEST} is the best. {scene.best}", scene.second, *reasons(scene)]
    at = [f"At {scene.fixed}."] if scene.fixed else []
    return [title_text(scene), *at, aligned_text(grid_table(scene)), *filter(None, notes)]


def file_stem(scene: GridScene) -> str:
    return f"{scene.subject.kernel}-{scene.subject.stem}-grid" if scene.subject else "grid"


def _axes(text: str) -> dict[str, str]:
    """By x and y. ``BLOCK,num_warps`` names them in this order."""
    if text == AUTO:
        return {}
    found: dict[str, str] = {}
    for place, part in enumerate(text.split(",")):
        axis, equals, name = (word.strip() for word in part.partition("="))
        if not equals:
            axis, name = "xy"[place : place + 1], axis
        if axis.lower() not in ("x", "y") or not name or axis.lower() in found:
            refuse(f"--grid {text[:60]!r} names no axes; write it like X=BLOCK,Y=num_warps, BLOCK or {AUTO}.")
        found[axis.lower()] = name
    if "x" not in found:
        refuse(f"--grid {text[:60]!r} names no x; write it like X=BLOCK,Y=num_warps.")
    if found.get("y") == found["x"]:
        refuse("--grid has one parameter on both axes; name two, or one alone.")
    return found


def _subject(known: list[Subject], kernel: str | None, dtype: Dtype | None, sizes: dict[str, int]) -> Subject:
    found = [one for one in known if kernel in (None, one.kernel, one.key)]
    if not found:
        unknown("version with several variants", str(kernel), dict.fromkeys(one.key for one in known))
    of_type = [one for one in found if dtype in (None, one.dtype)]
    if not of_type:
        labels = ", ".join(dict.fromkeys(one.dtype.label for one in found))
        refuse(f"No grid of {found[0].key} is in {dtype.label if dtype else ''}, only in {labels}.")
    of_size = [one for one in of_type if sizes.items() <= dict(one.sizes).items()]
    if not of_size:
        there = "; ".join(dict.fromkeys(sizes_text(dict(one.sizes)) for one in of_type))
        refuse(f"No grid of {found[0].key} is at {sizes_text(sizes)}, only at {there}.")
    return of_size[0]

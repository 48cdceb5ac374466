"""A sweep as a table: a row a size, a column an implementation, as the tutorials print it."""

import csv
import io

from roofscope.app.presentation.formatting import MISSING
from roofscope.app.presentation.sweep.caption import WARNS
from roofscope.app.presentation.sweep.scene import SweepScene
from roofscope.profiling.plain_text import cell_text

Table = list[tuple[str, ...]]  # the first row holds the titles


def sweep_table(scene: SweepScene) -> Table:
    """Sizes in order, in full where one axis is not enough; a dash where an implementation has no time.

    A time that is not to be relied on has a mark before it.
    """
    if scene.axis is None:
        return []
    in_full = not scene.axis.is_size or bool(scene.axis.beside)
    cells: dict[tuple[float, str], dict[str, str]] = {}
    for line in scene.lines:
        for gap in line.gaps:
            cells.setdefault((gap.x, gap.sizes), {})
        for dot in line.dots:
            text = f"{WARNS} {scene.quantity.text(dot.y)}" if dot.warns else scene.quantity.text(dot.y)
            cells.setdefault((dot.x, dot.sizes), {})[line.key] = text
    title = "sizes" if in_full else scene.axis.title
    rows: Table = [(title, *(line.label for line in scene.lines))]
    for (x, sizes), by_line in sorted(cells.items()):
        size = sizes if in_full else scene.axis.text(x)
        rows.append((size, *(by_line.get(line.key, MISSING) for line in scene.lines)))
    return rows


def aligned_text(table: Table) -> str:
    """Columns as wide as their widest cell, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def csv_table(scene: SweepScene) -> str:
    """The sweep in SI units, a row a size: sizes in full, then value, low and high of each implementation."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    unit = scene.quantity.unit
    heads = [f"{line.key} {part}" for line in scene.lines for part in (unit, f"{unit} low", f"{unit} high")]
    writer.writerow([cell_text(head) for head in ("sizes", *heads)])
    rows: dict[tuple[float, str], dict[str, tuple[float, float, float]]] = {}
    for line in scene.lines:
        for dot in line.dots:
            rows.setdefault((dot.x, dot.sizes), {})[line.key] = (dot.y, dot.low, dot.high)
    for (_, sizes), by_line in sorted(rows.items()):
        values = [value for line in scene.lines for value in by_line.get(line.key, ("", "", ""))]
        writer.writerow([cell_text(sizes), *values])
    return out.getvalue()

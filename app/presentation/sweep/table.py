"""A sweep as a table: a row a size, a column an implementation, as the tutorials print it."""

from roofscope.app.presentation.formatting import MISSING
from roofscope.app.presentation.sweep.scene import SweepScene

Table = list[tuple[str, ...]]  # the first row holds the titles


def sweep_table(scene: SweepScene) -> Table:
    """Sizes in order, in full where one axis is not enough; a dash where an implementation has no time."""
    if scene.axis is None:
        return []
    in_full = not scene.axis.is_size or bool(scene.axis.beside)
    cells: dict[tuple[float, str], dict[str, str]] = {}
    for line in scene.lines:
        for gap in line.gaps:
            cells.setdefault((gap.x, gap.sizes), {})
        for dot in line.dots:
            cells.setdefault((dot.x, dot.sizes), {})[line.key] = scene.quantity.text(dot.y)
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

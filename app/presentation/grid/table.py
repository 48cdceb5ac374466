"""A grid as a table: the first parameter down or across as the map has it."""

from roofscope.app.presentation.formatting import MISSING
from roofscope.app.presentation.grid.scene import GridCell, GridScene
from roofscope.app.presentation.sweep.table import Table

BEST = "*"


def grid_table(scene: GridScene) -> Table:
    """A row a value of y, a column a value of x; the best has a star, what failed says how."""
    if scene.is_bars:
        cells = [(scene.columns[cell.column], _text(cell)) for cell in scene.cells]
        return [(scene.x, scene.quantity.axis_title), *cells]
    rows: Table = [(f"{scene.y} \\ {scene.x}", *scene.columns)]
    for row, name in enumerate(scene.rows):
        found = [cell for cell in scene.cells if cell.row == row]
        rows.append((name, *map(_text, sorted(found, key=lambda cell: cell.column))))
    return rows


def reasons(scene: GridScene) -> list[str]:
    """A line for each variant without a time: which, and why."""
    return [f"{cell.variant}: {cell.reason}" for cell in scene.cells if cell.number and cell.reason]


def _text(cell: GridCell) -> str:
    if not cell.text:
        return MISSING
    return f"{BEST} {cell.text}" if cell.is_best else cell.text

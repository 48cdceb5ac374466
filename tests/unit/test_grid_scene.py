"""The heat map of an implementation's parameters: what it shows, says, prints and draws."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.grid.colours import contrast, ink_on, shade
from roofscope.app.presentation.grid.layout import intervals_of, lay_out, tip_of
from roofscope.app.presentation.grid.scene import NOT_TRIED, GridOptions, build_grid
from roofscope.app.presentation.grid.svg import grid_svg
from roofscope.app.presentation.grid.table import grid_table, reasons
from roofscope.app.presentation.roofline.geometry import Box, Font
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import build_scene
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.tokens import CONTRAST, DARK, LIGHT, Theme
from roofscope.tests.grids import (
    BLOCK,
    STAGES,
    TOO_LARGE,
    WARPS,
    add_variants,
    grid_session,
    grouped,
    with_value,
)
from roofscope.tests.sessions import (
    CEILINGS,
    SPEC_OF,
    empty_session,
    make_session,
    write_session,
)

AREA = Box(0, 0, 900, 400)
FONT = Font(12.0, lambda text: 7.0 * len(text))


def plot(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["plot", *map(str, words)])
    return done.exit_code, done.output


def test_a_cell_a_variant_with_its_time_and_the_best_with_its_interval() -> None:
    session = grid_session()
    scene = build_grid(session)
    assert (scene.x, scene.y, scene.columns, scene.rows) == (
        "BLOCK_M", "num_warps", ("32", "64", "128", "256"), ("4", "8"),
    )  # fmt: skip
    best = next(cell for cell in scene.cells if cell.is_best)
    assert (best.variant, best.text, best.is_default, best.share) == (
        "BLOCK_M=128 num_warps=8", "480.0 µs", True, 1.0,
    )  # fmt: skip
    assert min(cell.share for cell in scene.cells if cell.value) == 0.0
    assert intervals_of(session, scene) == {best.number: "± 0.40 %"}
    assert scene.best == "Best: BLOCK_M=128 num_warps=8, 480.0 µs ± 0.40 %."
    assert scene.second.startswith("Next: BLOCK_M=128 num_warps=4 takes 1.08× (")


def test_a_second_within_the_interval_is_said_to_be_as_good() -> None:
    scene = build_grid(grid_session(near=1.001))
    assert scene.second == "Not distinguishable from it: BLOCK_M=128 num_warps=4."


def test_what_failed_has_no_value_and_its_reason() -> None:
    scene = build_grid(grid_session())
    failed = scene.at(3, 0)
    assert failed
    assert (failed.value, failed.text) == (None, "skipped: unsupported")
    assert tip_of(failed, scene.quantity) == f"BLOCK_M=256 num_warps=4\nUnsupported: {TOO_LARGE}"
    assert reasons(scene) == [f"BLOCK_M=256 num_warps=4: Unsupported: {TOO_LARGE}"]
    tile = lay_out(scene, AREA, FONT, LIGHT, {}).tile(failed.number)
    assert tile
    assert tile.is_hatched


def test_a_third_parameter_stays_at_the_best_or_as_it_is_wanted() -> None:
    session = grid_session(BLOCK, WARPS, STAGES)
    assert build_grid(session).fixed == "stages=3"
    at_four = build_grid(session, GridOptions(fixed={"stages": 4}))
    assert at_four.fixed == "stages=4"
    assert "528.0 µs" in {cell.text for cell in at_four.cells}
    other = build_grid(session, GridOptions(x="stages", y="BLOCK_M"))
    assert (other.x, other.y, other.fixed) == ("stages", "BLOCK_M", "num_warps=8")


def test_one_parameter_is_bars_of_which_the_longest_is_the_slowest() -> None:
    scene = build_grid(grid_session(BLOCK))
    assert (scene.is_bars, scene.columns) == (True, ("32", "64", "128", "256"))
    bars = {tile.cell.text: tile.bar.width for tile in lay_out(scene, AREA, FONT, LIGHT, {}).tiles}
    assert bars["900.0 µs"] > bars["620.0 µs"] > bars["480.0 µs"]
    assert build_grid(grid_session(), GridOptions(is_line=True)).fixed == "num_warps=8"


def test_other_quantities_are_read_the_other_way_round() -> None:
    scene = build_grid(grid_session(), GridOptions(quantity=Quantity.OF_ROOF))
    best = next(cell for cell in scene.cells if cell.is_best)
    assert (best.text, best.share) == ("70 %", 1.0)


def test_only_the_newest_files_count_and_of_each_variant_the_newest_point() -> None:
    session = grid_session()
    newer = grouped(BLOCK, WARPS, source="d" * 64)
    add_variants(session, (newer, with_value(newer, "BLOCK_M", 64)))
    scene = build_grid(session)
    assert (scene.is_bars, scene.columns) == (True, ("64", "128"))
    add_variants(session, (with_value(newer, "num_warps", 4),))
    scene = build_grid(session)
    assert scene.at(0, 0) == replace(scene.cells[0], reason=NOT_TRIED, number=None)
    assert tip_of(scene.cells[0], scene.quantity).startswith("Not measured")


def test_an_empty_grid_says_how_to_get_one() -> None:
    assert "BLOCK = Choice(64, 128, 256)" in build_grid(make_session()).why_empty
    session = empty_session(ceilings=CEILINGS)
    add_variants(session, (grouped(BLOCK, WARPS),))
    why = build_grid(session).why_empty
    assert "declares BLOCK_M=32, 64, 128 or 256; num_warps=4 or 8" in why
    assert "roofscope run matmul/triton_grouped --set all" in why


@pytest.mark.parametrize("theme", [LIGHT, DARK, CONTRAST], ids=lambda theme: theme.name)
def test_what_is_written_into_a_cell_can_be_read_on_every_colour(theme: Theme) -> None:
    for step in range(101):
        colour = shade(step / 100, theme)
        assert contrast(ink_on(colour), colour) >= 4.5
    ends = contrast(shade(0, theme), shade(1, theme))
    assert ends > 4  # the best stands out from the worst


def test_no_cell_lies_over_another_and_texts_stay_in_theirs() -> None:
    for width, height in ((900, 400), (520, 130), (240, 90)):
        area = Box(0, 0, width, height)
        tiles = lay_out(build_grid(grid_session()), area, FONT, LIGHT, {}).tiles
        for number, tile in enumerate(tiles):
            assert tile.box.right <= width + 1e-6
            assert tile.box.bottom <= height + 1e-6
            assert all(FONT.width(line) <= tile.bar.width for line in tile.lines)
            for other in tiles[:number]:
                apart = tile.box.left >= other.box.right - 1e-6 or tile.box.top >= other.box.bottom - 1e-6
                assert apart or other.box.left >= tile.box.right - 1e-6


def test_the_picture_is_well_formed_and_names_each_variant() -> None:
    text = grid_svg(grid_session(), dark=True)
    root = ET.fromstring(text)
    assert len([one for one in root.iter() if one.get("data-point")]) == 8
    assert "BLOCK_M=64 num_warps=4" in text
    assert ET.fromstring(grid_svg(make_session())) is not None


def test_the_table_has_a_row_a_value_and_marks_the_best() -> None:
    assert grid_table(build_grid(grid_session())) == [
        ("num_warps \\ BLOCK_M", "32", "64", "128", "256"),
        ("4", "972.0 µs", "669.6 µs", "518.4 µs", "skipped: unsupported"),
        ("8", "900.0 µs", "620.0 µs", "* 480.0 µs", "520.0 µs"),
    ]


def test_plot_draws_and_prints_it_and_refuses_in_sentences(tmp_path: Path) -> None:
    file = write_session(grid_session(), tmp_path / "a.roofscope")
    out = tmp_path / "b.svg"
    code, text = plot(file, "--grid", "X=num_warps,Y=BLOCK_M", "--table", "--out", out)
    assert code == 0
    assert "BLOCK_M \\ num_warps" in text
    assert "* 480.0 µs" in text
    assert TOO_LARGE in text
    assert "time of a call by num_warps and BLOCK_M" in out.read_text()
    assert plot(file, "--grid", "auto") == (0, f"{tmp_path / 'a-matmul-triton_grouped-grid.svg'}\n")
    for words, sentence in (
        (("--grid", "X=BLOK"), "did you mean 'BLOCK_M'?"),
        (("--grid", "Y=BLOCK_M"), "names no x"),
        (("--grid", "BLOCK_M,BLOCK_M"), "one parameter on both axes"),
        (("--grid", "a=b"), "names no axes"),
        (("--grid", "auto", "--kernel", "softmax"), "version with several variants 'softmax'"),
        (("--grid", "auto", "--dtype", "fp16"), "only in fp32"),
        (("--grid", "auto", "--size", "m=3"), "only at"),
        (("--grid", "auto", "--sweep"), "are not of a grid"),
    ):
        code, text = plot(file, *words)
        assert code == 2
        assert sentence in text
        assert "Traceback" not in text


def test_a_variant_measured_alone_moves_the_point_and_a_grid_shows_each() -> None:
    session = empty_session(ceilings=CEILINGS)
    session.specs = {"matmul": SPEC_OF["matmul"]}
    one = grouped(BLOCK, WARPS)
    add_variants(session, (one,))
    add_variants(session, (with_value(one, "BLOCK_M", 64),))
    add_variants(session, (with_value(one, "BLOCK_M", 256),))
    scene = build_scene(session, all_points(session))
    assert [point.name for point in scene.points] == ["Triton grouped BLOCK_M=256"]
    assert [point.number for point in scene.ghosts] == [1, 2]
    assert [[point.number for point in trail] for trail in scene.trails] == [[1, 2, 3]]
    grid = grid_session()
    whole = build_scene(grid, all_points(grid))
    assert (len(whole.points), len(whole.ghosts), whole.trails) == (7, 0, ())

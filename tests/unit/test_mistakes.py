"""The rules that name a mistake, on what stages saw; without torch and without a GPU."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.app.presentation.debugging.map_text import LEGEND, cell_text, map_lines, worst_cell
from roofscope.app.presentation.debugging.words import finding_lines, output_text, summary_text
from roofscope.profiling.analysis.mistakes.places import place_text
from roofscope.profiling.analysis.mistakes.rules import mistakes_of
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.debugging import (
    AccessKind,
    Argument,
    Compared,
    DebugReport,
    ErrorMap,
    Launched,
    Line,
    Mistake,
    OutOfRange,
    Overflow,
    Pattern,
    PatternKind,
    Race,
    Raised,
    Seen,
    StageName,
)

MISTAKES = Path(__file__).parents[1] / "data" / "mistakes"
TRITON = Implementation("k", Provider.TRITON, "k", "0" * 64)
EXTENSION = Implementation("k", Provider.CUDA_EXT, "k", "0" * 64)
WHERE = Line("/u/add.py", 14, "tl.store(y + i, v)")
LAUNCH = Launched(Line("/u/add.py", 20), "add", (4, 1, 1), (), ())
BEYOND = OutOfRange(
    AccessKind.STORE, WHERE, "add", "y", 1000, 24, 1000, 1023, (3, 0, 0), 232, 1000, 1, 0, has_mask=False
)
WRONG = Compared(
    StageName.INTERPRETED, "y", (64, 100), "float32", (64, 100), "float32", 6400, wrong=6400,
    relative_error=0.9, tolerance=1e-5, pattern=Pattern(PatternKind.ALL),
)  # fmt: skip


def named(*seen: Seen) -> list[Mistake]:
    return [finding.mistake for finding in mistakes_of(TRITON, seen, {})]


def test_a_store_beyond_the_tensor_without_a_mask() -> None:
    (finding,) = mistakes_of(TRITON, [LAUNCH, BEYOND], {})

    assert finding.mistake is Mistake.NO_MASK
    assert finding.where == WHERE
    assert "writes 24 elements past the end of y, which has 1000" in finding.evidence
    assert "program 3, element 232 of its block, is at index 1000" in finding.evidence


def test_with_a_mask_it_is_the_mask_that_is_wrong() -> None:
    assert named(LAUNCH, replace(BEYOND, has_mask=True)) == [Mistake.WRONG_MASK]


def test_programs_that_only_go_beyond_are_too_many_and_the_launch_is_named() -> None:
    (finding,) = mistakes_of(TRITON, [LAUNCH, replace(BEYOND, programs=3, idle_programs=3)], {})

    assert (finding.mistake, finding.where) == (Mistake.GRID_TOO_LARGE, LAUNCH.where)


def test_an_overflow_explains_what_is_out_of_range() -> None:
    overflow = Overflow(WHERE, "add", "mul", 2**33, (5, 0, 0))

    assert named(LAUNCH, BEYOND, overflow) == [Mistake.INDEX_OVERFLOW]
    assert named(LAUNCH, overflow) == []  # as a hash does on purpose


def test_a_wrong_result_that_no_rule_explains_is_said_to_be_wrong() -> None:
    assert named(LAUNCH, WRONG) == [Mistake.WRONG_VALUES]
    assert named(LAUNCH, replace(WRONG, wrong=0)) == []


def test_a_constant_factor_is_named_only_where_nothing_else_is() -> None:
    scaled = replace(WRONG, pattern=Pattern(PatternKind.SCALED, factor=0.5))
    race = Race("store", "store", WHERE, None, "add", "y", 1, 0, (0, 1))

    assert named(LAUNCH, scaled) == [Mistake.WRONG_SCALE]
    assert named(LAUNCH, scaled, race) == [Mistake.RACE]


def test_strides_the_other_way_round_explain_a_mask_that_seems_too_wide() -> None:
    matrix = Argument("x", (64, 100), (100, 1), "float32", is_contiguous=True)
    launch = replace(LAUNCH, arguments=(matrix,), integers=(("row_step", 1), ("col_step", 100)))
    beyond = replace(BEYOND, argument="x", has_mask=True)

    assert named(launch, beyond, WRONG) == [Mistake.WRONG_STRIDE]
    straight = replace(launch, integers=(("row_step", 100), ("col_step", 1)))
    assert named(straight, beyond, WRONG) == [Mistake.WRONG_MASK]


def test_a_view_is_no_mistake_where_its_strides_are_given() -> None:
    view = Argument("x", (100, 64), (1, 100), "float32", is_contiguous=False)
    blind = replace(LAUNCH, arguments=(view,), integers=(("n", 6400),))
    seeing = replace(LAUNCH, arguments=(view,), integers=(("step", 100),))

    assert named(blind, WRONG) == [Mistake.NOT_CONTIGUOUS]
    assert Mistake.NOT_CONTIGUOUS not in named(seeing, WRONG)
    assert named(blind) == []  # it may read it as a set, in any order


def test_an_error_is_told_once_by_its_name_or_as_it_stands() -> None:
    arange = Raised(StageName.INTERPRETER, "arange's range must be a power of 2", WHERE)

    assert named(arange) == [Mistake.BLOCK_NO_POWER_OF_TWO]
    assert named(replace(arange, text="no such name")) == [Mistake.FAILED]


def test_a_launch_without_a_stream_is_found_in_the_source() -> None:
    path = MISTAKES / "default_stream.cu"
    text = path.read_text()

    (finding,) = mistakes_of(EXTENSION, [], {str(path): text})

    assert finding.mistake is Mistake.DEFAULT_STREAM
    assert finding.where is not None
    assert "the mistake" in text.splitlines()[finding.where.number - 1]


@pytest.mark.parametrize(
    ("launch", "is_found"),
    [
        ("k<<<dim3(2, 3), 256>>>(x);", True),
        ("k<<<grid(n, m), 256, 0, 0>>>(x);", True),
        ("k<<<grid(n, m), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x);", False),
        ("// k<<<1, 1>>>(x);", False),
    ],
)
def test_a_stream_is_the_fourth_argument(launch: str, is_found: bool) -> None:
    assert bool(mistakes_of(EXTENSION, [], {"/u/k.cu": launch})) is is_found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (Pattern(PatternKind.FROM, 1, 63, 99), "the last 37 columns of each row"),
        (Pattern(PatternKind.FROM, 0, 32, 63), "rows from 32 on, the last 32 of 64"),
        (Pattern(PatternKind.STEPS, 0, 1, 63, 2), "every 2nd row, from 1 on"),
        (Pattern(PatternKind.RANGE, 0, 3, 3), "row 3"),
        (Pattern(PatternKind.FROM, -1, 6272, 6399), "elements from 6272 on, the last 128 of 6400"),
        (Pattern(PatternKind.SCALED, factor=2.0), "all of it, by a constant factor of 2"),
    ],
)
def test_a_pattern_is_a_clause(pattern: Pattern, text: str) -> None:
    assert place_text(pattern, (64, 100)) == text


MAP = ErrorMap(
    2, 3, (0.0, 5.0, -1.0, 2000.0, -2.0, -3.0), ((0,), (1,), (2,), (3,), (4,), ()),
    (0.0, 1.5, 9.0, 2.0, None, None), (0.0, 1.0, 1.0, 1.0, 1.0, None),
)  # fmt: skip


def test_the_map_has_a_mark_for_each_kind_of_cell() -> None:
    output = replace(WRONG, map=MAP)

    assert map_lines(output) == (".+_", "#N ", LEGEND)
    assert map_lines(replace(output, wrong=0, shape=(64, 100))) == ()
    assert worst_cell(MAP) in (2, 4)


def test_a_cell_says_what_is_there_and_what_should_be() -> None:
    output = replace(WRONG, map=MAP)

    assert cell_text(output, 1) == "y[1] is 1.5, and 1 is expected; 5.0 times what is allowed."
    assert cell_text(output, 2) == "y[2] was never written; 1 is expected."
    assert cell_text(output, 4) == "y[4] is not finite, and 1 is expected."
    assert cell_text(output, 5) == cell_text(output, 99) == ""


def test_a_finding_is_its_name_line_code_evidence_and_cure() -> None:
    (finding,) = mistakes_of(TRITON, [LAUNCH, BEYOND], {})
    title, code, evidence, cure = finding_lines(finding)

    assert title == "No mask, line 14 of add.py"
    assert code.strip() == WHERE.code
    assert evidence.strip() == finding.evidence
    assert cure.startswith("  Cure: Give it a mask")


def test_what_could_not_be_run_is_no_clean_bill() -> None:
    report = DebugReport("k/triton_k", "k fp32 n=3", (), (), ())

    assert not report.has_run
    assert summary_text(report) == "Nothing of k/triton_k at k fp32 n=3 could be run here."
    assert "64 x 100" not in output_text(WRONG)

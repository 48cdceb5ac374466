"""Stories: what a story.toml may hold, how its lines are found, what its exercise asks for, and its pages."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from roofscope.app.presentation.formatting import percent_text, spread_time_text
from roofscope.app.presentation.lesson.check import State, check
from roofscope.app.presentation.lesson.commands import FOLDER, commands
from roofscope.app.presentation.lesson.excerpt import MOST_LINES, excerpt_of, find
from roofscope.app.presentation.lesson.figures import NOT_THERE, story_view
from roofscope.app.presentation.lesson.page import outdented, pages
from roofscope.app.presentation.lesson.shelf import Shelved, best_view, shelf_of, why_unfit
from roofscope.app.presentation.recorded import example_sessions
from roofscope.app.presentation.source.texts import shown_text
from roofscope.app.presentation.verdict_text import share_text
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS, LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.planning.story import Lines, Story, StoryFault, is_own, read_story
from roofscope.profiling.results.outcome import Failed, FailureKind, SkipKind, Skipped, Stage
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load

ROOT = Path(__file__).parents[2]
SESSIONS = ASSETS / "sessions"
SHELF = shelf_of(scan().kernels)
each_story = pytest.mark.parametrize("one", SHELF.stories, ids=lambda one: one.story.kernel)

WHOLE = """
order = 1
title = "Add"
promise = "What adding is."
dtype = "float32"
sizes = { n = 1024 }
[[steps]]
implementation = "eager"
title = "One"
lesson = "It adds."
[[steps]]
implementation = "triton_textbook"
title = "Two"
lesson = "It adds in
blocks."
[exercise]
task = "Add."
hint = "Plus."
start = "triton_textbook"
fraction_of_roof = 0.8
""".replace('"It adds in\nblocks."', '"""It adds in\nblocks."""')


def shelved(kernel: str) -> Shelved:
    found = SHELF.of(kernel)
    assert found
    return found


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "story.toml").write_text(text)
    return folder


def test_a_story_is_read_with_its_texts_in_one_line_each(tmp_path: Path) -> None:
    story = read_story(written(tmp_path / "add", WHOLE))
    assert (story.kernel, story.stems, story.exercise.stem) == (
        "add",
        ("eager", "triton_textbook"),
        "triton_mine",
    )
    assert story.steps[1].lesson == "It adds in blocks."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("order = 1", "order ="), "left out"),
        (lambda text: text.replace("order = 1", 'order = "one"'), "Expected `int`"),
        (lambda text: text.replace("order = 1", "order = 1\nruns = 'rm'"), "unknown field"),
        (lambda text: text.replace("float32", "float8"), "Invalid enum value"),
        (lambda text: text.split("[[steps]]")[0] + text[text.index("[exercise]") :], "steps"),
        (lambda text: text.replace('"eager"', '"../eager"'), "no name of an implementation"),
        (lambda text: text.replace("0.8", "1.5"), "between 0 and 1"),
        (lambda text: text.replace("0.8", "nan"), "between 0 and 1"),
        (lambda text: text.replace('"Add."', f'"{"a" * 2000}"'), "too long"),
        (lambda text: text.replace("1024", "9" * 30), "too large"),
        (lambda text: f"# {'a' * 70_000}\n{text}", "64 KiB"),
        (lambda text: f"deep = {'[' * 5000}", "left out"),
    ],
)
def test_what_is_no_story_is_one_sentence(tmp_path: Path, change: Callable[[str], str], words: str) -> None:
    with pytest.raises(StoryFault) as fault:
        read_story(written(tmp_path / "add", change(WHOLE)))
    assert words in str(fault.value)
    assert "\n" not in str(fault.value)
    assert str(fault.value).startswith("add/story.toml is left out: ")


def test_a_link_to_nothing_and_text_that_acts_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "story.toml").symlink_to(tmp_path / "none")
    with pytest.raises(StoryFault, match="a link to a file that is not there"):
        read_story(tmp_path)
    story = read_story(written(tmp_path / "add", WHOLE.replace("It adds.", "It \\u001b[31madds.")))
    assert story.steps[0].lesson == r"It \x1b[31madds."


def test_twelve_kernels_and_more_have_a_story() -> None:
    assert not SHELF.problems
    assert len(SHELF.stories) >= 12
    assert [one.story.order for one in SHELF.stories] == list(range(1, len(SHELF.stories) + 1))
    assert SHELF.stories[0].story.kernel == "vector_add"


@each_story
def test_a_story_fits_its_kernel_and_its_lines_are_in_the_files(one: Shelved) -> None:
    assert why_unfit(one.story, one.kernel) == ""
    for step in one.story.steps:
        found = excerpt_of(None, None, one.kernel, step)
        assert found, f"{step.implementation} has no lines with {step.lines}"
        assert 1 <= len(found.lines) <= 12


@each_story
def test_no_exercise_is_done_before_it_is_begun(one: Shelved) -> None:
    """What a reader begins with is below the goal in every shipped session that has it."""
    for session in example_sessions(SESSIONS):
        for point in session.points:
            is_start = point.implementation.key == f"{one.story.kernel}/{one.story.exercise.start}"
            job = point.job.workload
            if point.measured and is_start and (job.dtype, job.sizes) == (one.story.dtype, one.story.sizes):
                assert (verdict(point, session).fraction_of_roof or 0) < one.story.exercise.fraction_of_roof


def test_a_story_of_a_version_that_is_gone_is_left_out() -> None:
    one = shelved("gelu")
    fewer = tuple(each for each in one.kernel.implementations if each.stem != "cuda_textbook")
    kernel = msgspec.structs.replace(one.kernel, implementations=fewer)
    assert why_unfit(one.story, kernel) == "gelu/story.toml is left out: gelu has no version cuda_textbook."
    found = shelf_of([kernel])
    assert (found.stories, len(found.problems)) == ((), 1)


TEXT = "def other(x):\n    y = x + 1\n    return y\n\n\ndef run(x):\n    y = x + 1  # here\n    return y\n"


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        (Lines("y = x"), (2, 2)),
        (Lines("y = x", "return"), (2, 3)),
        (Lines("y = x", "return", "run"), (7, 8)),
        (Lines("y = x", "", "run"), (7, 7)),
        (Lines("z = x"), None),
        (Lines("y = x", "raise"), None),
        (Lines("y = x", "", "walk"), None),
    ],
)
def test_lines_are_found_by_what_stands_in_them(lines: Lines, numbers: tuple[int, int] | None) -> None:
    found = find([shown_text("eager.py", TEXT)], lines)
    assert (found and (found.first, found.last)) == numbers
    moved = find([shown_text("eager.py", "# a line more\n" + TEXT)], lines)
    assert (moved and (moved.first - 1, moved.last - 1)) == numbers


def test_an_excerpt_has_an_end() -> None:
    text = "first\n" + "more\n" * MOST_LINES + "last\n"
    assert find([shown_text("a.py", text)], Lines("first", "last")) is None


def test_figures_are_those_of_the_session_and_follow_the_selected_point() -> None:
    one, session = shelved("softmax"), load(SESSIONS / "h200-tour.roofscope")
    view = story_view(one.story, session, one.kernel)
    assert view.workload == Workload("softmax", one.story.dtype, one.story.sizes)
    here = [point for point in session.points if point.job.workload == view.workload]
    for step in view.steps:
        points = [point for point in here if point.implementation.stem == step.step.implementation]
        assert (step.point in points) if points else (step.note == NOT_THERE)
        if step.point and step.point.measured:
            time = step.point.measured.time
            shown = spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))
            assert step.text("Time") == shown
            assert step.text("Of roof") == share_text(verdict(step.point, session))
    assert view.measured_count >= 2
    of_softmax = [point for point in session.points if point.implementation.kernel == "softmax"]
    small = next(point for point in of_softmax if point.job.workload.sizes == {"rows": 4096, "cols": 1024})
    assert story_view(one.story, session, one.kernel, small).workload == small.job.workload
    elsewhere = next(point for point in session.points if point.implementation.kernel == "gelu")
    assert story_view(one.story, session, one.kernel, elsewhere).workload == view.workload


def test_lines_are_those_of_the_session_where_it_has_them() -> None:
    one, session = shelved("gelu"), load(SESSIONS / "h200-gelu.roofscope")
    view = story_view(one.story, session, one.kernel)
    assert [step.excerpt and step.excerpt.is_of_today for step in view.steps] == [False] * 4
    bare = msgspec.structs.replace(session, sources={})
    assert all(
        step.excerpt and step.excerpt.is_of_today for step in story_view(one.story, bare, one.kernel).steps
    )


def test_a_session_without_the_kernel_leaves_lesson_and_lines() -> None:
    one = shelved("gelu")
    view = story_view(one.story, Session(Path("none"), ""), one.kernel)
    assert view.workload is None
    assert all(step.excerpt and step.note == NOT_THERE and not step.figures for step in view.steps)


def mine(session: Session, stem: str = "triton_sigmoid", dtype: str = "bfloat16") -> tuple[Session, Point]:
    """The session with one of its points again, as a reader's own implementation."""
    known = next(
        point
        for point in session.points
        if point.implementation.stem == stem and point.job.workload.dtype == dtype
    )
    own = msgspec.structs.replace(known.implementation, variant="mine")
    point = msgspec.structs.replace(known, implementation=own, number=900)
    return msgspec.structs.replace(session, points=(*session.points, point)), point


def with_goal(story: Story, share: float) -> Story:
    return msgspec.structs.replace(
        story, exercise=msgspec.structs.replace(story.exercise, fraction_of_roof=share)
    )


def test_the_exercise_is_done_by_a_point_of_ones_own_at_its_roof() -> None:
    story, session = shelved("gelu").story, load(SESSIONS / "h200-gelu.roofscope")
    assert check(story, session).state is State.NOT_TRIED
    own, point = mine(session)
    share = verdict(point, own).fraction_of_roof
    assert share
    found = check(with_goal(story, share - 0.05), own)
    assert (found.state, found.point) == (State.DONE, 900)
    assert f"gelu / Triton mine is at {percent_text(share)} of the DRAM copy ceiling" in found.sentence
    not_yet = check(with_goal(story, share + 0.01), own)
    assert not_yet.state is State.NOT_YET
    assert not_yet.sentence.endswith(f"and the exercise asks for {percent_text(share + 0.01)}.")
    assert check(story, mine(session, "cuda_textbook")[0]).state is State.NOT_YET


def test_without_a_gpu_a_verified_version_does_the_exercise() -> None:
    """Whatever its sizes and its type: measured on a CPU, or verified and not timed."""
    story, session = shelved("gelu").story, load(SESSIONS / "h200-gelu.roofscope")
    own, point = mine(session, dtype="float32")
    on_cpu = msgspec.structs.replace(own, device=cpu_device(), origins=(), points=(point,))
    found = check(story, on_cpu)
    assert (found.state, found.point) == (State.DONE, 900)
    assert (
        found.sentence == "gelu / Triton mine is verified. On a GPU the exercise goes on: 80 % of its roof."
    )
    skipped = msgspec.structs.replace(point, outcome=Skipped(SkipKind.UNSUPPORTED, "It needs a GPU."))
    found = check(story, msgspec.structs.replace(on_cpu, points=(skipped,)))
    assert (found.state, found.sentence) == (State.NOT_YET, "gelu / Triton mine: It needs a GPU.")


def test_other_sizes_and_wrong_results_do_no_exercise() -> None:
    story, session = shelved("gelu").story, load(SESSIONS / "h200-gelu.roofscope")
    other = check(story, mine(session, dtype="float32")[0])
    assert other.state is State.NOT_YET
    assert other.sentence == "gelu / Triton mine was measured at fp32, 64Mi; the exercise is at bf16, 64Mi."
    failing, point = mine(session)
    failed = Failed(FailureKind.WRONG_VALUES, Stage.VERIFY, "It returned NaN.")
    wrong = msgspec.structs.replace(point, outcome=failed)
    found = check(story, msgspec.structs.replace(failing, points=(wrong,)))
    assert (found.state, found.sentence) == (State.NOT_YET, "gelu / Triton mine: It returned NaN.")


def test_only_a_version_named_mine_is_ones_own() -> None:
    assert is_own("triton_mine")
    assert is_own("cuda_mine_packed")
    assert not is_own("triton_determined")
    assert not is_own("mine")


def test_code_loses_the_margin_that_all_lines_have() -> None:
    assert outdented(["    if x:", "", "        y", "#pragma unroll"]) == [
        "if x:",
        "",
        "    y",
        "#pragma unroll",
    ]


def test_the_committed_pages_are_what_is_generated() -> None:
    """Every figure from a shipped session: `roofscope lesson --write docs/lessons` makes them again."""
    made = pages(SHELF, example_sessions(SESSIONS))
    folder = ROOT / "docs" / "lessons"
    assert {file.name for file in folder.iterdir()} == set(made)
    for name, text in made.items():
        assert (folder / name).read_text() == text, f"{name}: run `roofscope lesson --write docs/lessons`"


@each_story
def test_a_page_links_to_files_that_are_there(one: Shelved) -> None:
    folder = ROOT / "docs" / "lessons"
    parts = (folder / f"{one.story.kernel}.md").read_text().split("```")
    text = "".join(parts[::2])  # what is not code
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert links
    assert all((folder / link).resolve().exists() for link in links), links


def test_a_page_is_of_the_session_that_has_most_of_it() -> None:
    _, session = best_view(shelved("gelu"), example_sessions(SESSIONS))
    assert session
    assert session.path.name.endswith("-gelu.roofscope")


def test_the_ladder_has_every_kernel_once_and_the_stories_in_their_order() -> None:
    text = (LIBRARY / "README.md").read_text()
    ladder = text[text.index("## The ladder") :].split("\n## ")[0]
    rungs = [line.split("](")[1].split(")")[0] for line in ladder.splitlines() if line.startswith("- [")]
    folders = [rung.removesuffix("/") for rung in rungs]
    assert sorted(folders) == sorted(kernel.spec.name for kernel in scan().kernels)
    stories = [one.story.kernel for one in SHELF.stories]
    assert [folder for folder in folders if folder in stories] == stories
    for line in ladder.splitlines():
        if "[lesson]" in line:
            assert f"(../docs/lessons/{line.split('](')[1].split('/')[0].split(')')[0]}.md)" in line


def test_commands_name_what_there_is() -> None:
    for one in SHELF.stories:
        found = commands(one.story)
        assert FOLDER in found.exercise[0]
        lines = (*found.steps, *found.exercise, *found.without_gpu)
        assert all(line.startswith("roofscope ") for line in lines)


def test_of_sessions_with_as_many_steps_the_one_at_the_storys_own_size_is_taken() -> None:
    """The text of a story speaks of that size: here both have all three steps of layer_norm."""
    one = shelved("layer_norm")
    sessions = [load(SESSIONS / f"{name}.roofscope") for name in ("h100-counters", "h200")]
    for order in (sessions, sessions[::-1]):
        view, chosen = best_view(one, order)
        assert chosen is sessions[1]
        assert view.measured_count == len(one.story.steps)


def test_of_equals_the_one_with_measured_ceilings_is_taken() -> None:
    """Both have all three steps of layer_norm at its own size."""
    sessions = [load(SESSIONS / f"h200-peers-{number}.roofscope") for number in (12, 2)]
    for order in (sessions, sessions[::-1]):
        assert best_view(shelved("layer_norm"), order)[1] is sessions[1]

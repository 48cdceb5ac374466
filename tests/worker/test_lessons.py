"""Every command of the lessons' pages: those for a GPU are parsed and planned, the others run on the CPU."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from roofscope.app.cli.commands import cli
from roofscope.app.cli.run_options import RunOptions, choose_plan
from roofscope.app.presentation.lesson.check import check
from roofscope.app.presentation.lesson.shelf import Shelved, shelf_of
from roofscope.benchmarks.lessons import job_of
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Examined
from roofscope.profiling.results.session_reader import load
from roofscope.tests.sessions import DEVICE
from roofscope.tests.worker.command_line import keep_ceilings

DOCS = Path(__file__).parents[2] / "docs" / "lessons"
CATALOG = scan()
SHELF = shelf_of(CATALOG.kernels)
FIRST = SHELF.stories[0]
WRONG_AT_FIRST = {"gelu"}  # its exercise is to make a wrong version right

Call = Callable[[list[str]], int]


def blocks(one: Shelved) -> list[list[list[str]]]:
    """The words of each command, by fenced block of the page."""
    parts = (DOCS / f"{one.story.kernel}.md").read_text().split("```")[1::2]
    shells = [part.splitlines()[1:] for part in parts if part.startswith("sh\n")]
    return [[shlex.split(line) for line in lines] for lines in shells]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """As a reader types it, in a folder of its own. Gives the exit code."""
    monkeypatch.chdir(tmp_path)
    keep_ceilings(tmp_path / "cache")  # else the device is probed wherever the user's own are missing or old
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(words: list[str]) -> int:
        with pytest.raises(SystemExit) as ended:
            cli(words[1:], prog_name="roofscope")
        return int(ended.value.code or 0)

    return call


@pytest.mark.parametrize("one", SHELF.stories, ids=lambda one: one.story.kernel)
def test_the_run_of_a_page_is_the_plan_of_its_steps(one: Shelved) -> None:
    """Without a GPU no more can be said of a command that needs one: what it would measure."""
    [words] = blocks(one)[0]
    options = _parsed(words)
    asked = RunOptions(
        kernels=options["kernel"],
        implementations=options["implementation"],
        dtypes=[Dtype(name) for name in options["dtype"]],
        sizes=options["size"],
    )
    [job] = choose_plan(asked, CATALOG, (), DEVICE).jobs
    assert {found.stem for found in job.implementations} == {"eager", *one.story.stems}
    assert (job.workload.dtype, job.workload.sizes) == (one.story.dtype, one.story.sizes)
    recorded = job_of(one, DEVICE, 1)
    assert (recorded.workload, recorded.implementations) == (job.workload, job.implementations)


@pytest.mark.parametrize("one", SHELF.stories, ids=lambda one: one.story.kernel)
def test_an_exercise_begins_with_a_folder_that_is_a_kernel(one: Shelved, call: Call, tmp_path: Path) -> None:
    begin, run, checking = blocks(one)[2]
    assert call(begin) == 0
    assert call(begin) == 2  # what is there stays
    kernel = scan([tmp_path / "my-kernels"]).kernel(one.story.kernel)
    assert kernel
    assert kernel.folder == tmp_path / "my-kernels" / one.story.kernel
    options = _parsed(run)
    stems = {found.stem for found in kernel.implementations}
    assert {*options["implementation"], "eager_mine"} <= stems
    mine = kernel.implementation(one.story.exercise.stem)
    start = one.kernel.implementation(one.story.exercise.start)
    assert mine
    assert start
    assert [file.text for file in kernel.sources(mine)] == [file.text for file in one.kernel.sources(start)]
    assert _parsed(checking)["check_"] == options["out"]


def test_the_first_lesson_is_done_to_its_end_without_a_gpu(
    call: Call, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    begin = blocks(FIRST)[2][0]
    run, checking = blocks(FIRST)[3]
    assert call(begin) == 0
    assert call(run) == 0
    capfd.readouterr()
    assert call(checking) == 0
    assert capfd.readouterr().out.startswith("Done: vector_add / eager mine is verified.")
    session = load(tmp_path / str(_parsed(run)["out"]))
    assert [point.implementation.stem for point in session.points] == ["eager_mine"]


def test_the_steps_of_the_first_lesson_are_examined_without_a_gpu(call: Call, tmp_path: Path) -> None:
    [words] = blocks(FIRST)[1]
    assert call(words) == 0
    session = load(tmp_path / str(_parsed(words)["out"]))
    stems = {stem for stem in FIRST.story.stems if stem.startswith(("cuda", "triton"))}
    assert {point.implementation.stem for point in session.points} == stems
    assert all(isinstance(point.outcome, Examined) for point in session.points)


@pytest.mark.exhaustive
@pytest.mark.parametrize("one", SHELF.stories[1:], ids=lambda one: one.story.kernel)
def test_every_exercise_can_be_done_without_a_gpu(one: Shelved, call: Call, tmp_path: Path) -> None:
    assert call(blocks(one)[2][0]) == 0
    run, checking = blocks(one)[3]
    is_wrong = one.story.kernel in WRONG_AT_FIRST
    assert call(run) == is_wrong
    assert call(checking) == is_wrong
    assert check(one.story, load(tmp_path / str(_parsed(run)["out"]))).is_done is not is_wrong


def test_a_wrong_version_does_not_do_the_exercise(
    call: Call, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(blocks(FIRST)[2][0]) == 0
    own = tmp_path / "my-kernels" / "vector_add" / "eager_mine.py"
    own.write_text(own.read_text().replace("return x + y", "return x - y"))
    run, checking = blocks(FIRST)[3]
    assert call(run) == 1
    capfd.readouterr()
    assert call(checking) == 1
    assert capfd.readouterr().out.startswith("Not yet: vector_add / eager mine: ")


def _parsed(words: list[str]) -> dict[str, list[str]]:
    """The options of a command as the command line reads them; SystemExit where it does not."""
    name = words[1]
    command = typer.main.get_command(cli).get_command(None, name)
    return command.make_context(name, words[2:]).params

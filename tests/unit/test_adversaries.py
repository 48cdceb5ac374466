"""The corpus of cheats: what its files say of themselves, and which answers to them are right."""

import ast
from pathlib import Path

import msgspec
import pytest
from typer import Exit

from roofscope.app.cli import adversaries as command
from roofscope.profiling.analysis.adversaries import (
    CORPUS,
    HONEST,
    MEASURED,
    Answer,
    CorpusError,
    Need,
    judge,
    read_corpus,
    unanswered,
    write_kernel,
)
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.outcome import (
    Cancelled,
    Failed,
    FailureKind,
    Flag,
    Measured,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.tests.sessions import make_session

_FILE = '''"""A clock is slowed.

source: a thread
needs: cpu
workload: doubled
right: {right}
says: clock
"""
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus with a cheat and an honest control."""
    for name in ("cheats/clocks", "honest"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "cheats" / "clocks" / "slowed.py").write_text(_FILE.format(right="tampered, wrong values"))
    (tmp_path / "honest" / "plain.py").write_text(_FILE.format(right="measured"))
    return tmp_path


def answer(folder: Path, name: str, outcome: Outcome) -> Answer:
    [adversary] = [one for one in read_corpus(folder) if one.name == name]
    point = make_session().points[0]
    return judge(adversary, point.job, point.implementation, outcome)


def measured(*flags: Flag) -> Measured:
    outcome = next(point.measured for point in make_session().points if point.measured)
    return msgspec.structs.replace(outcome, flags=flags, kernels=())


def failed(kind: FailureKind, message: str = "It is off.") -> Failed:
    return Failed(kind, Stage.VERIFY, message)


@pytest.mark.parametrize(
    ("outcome", "answered", "is_right", "is_fooled"),
    [
        (measured(), MEASURED, False, True),
        (measured(Flag.UNSTABLE), MEASURED, False, True),  # a busy machine's time, not a cheat's
        (measured(Flag.REMEMBERS), "flagged", True, False),
        (failed(FailureKind.WRONG_VALUES), "wrong values", True, False),
        (failed(FailureKind.TAMPERED, "It replaced the clock."), "tampered", True, False),
        (failed(FailureKind.TAMPERED, "It replaced something."), "tampered", False, False),
        (failed(FailureKind.INTERNAL), "internal", False, False),
        (Skipped(SkipKind.UNAVAILABLE, "No Triton here."), "unavailable", None, False),
        (Cancelled(), "no answer", False, False),
    ],
)
def test_a_cheat_is_refused_for_its_cause(
    folder: Path, outcome: Outcome, answered: str, is_right: bool | None, is_fooled: bool
) -> None:
    found = answer(folder, "slowed", outcome)
    assert (found.answered, found.is_right, found.is_fooled) == (answered, is_right, is_fooled)


@pytest.mark.parametrize(
    ("outcome", "is_right", "is_fooled"),
    [
        (measured(), True, False),
        (measured(Flag.UNSTABLE), True, False),
        (measured(Flag.REMEMBERS), False, True),
        (failed(FailureKind.TAMPERED, "It replaced the clock."), False, True),
        (Cancelled(), False, True),
    ],
)
def test_an_honest_control_must_be_measured(
    folder: Path, outcome: Outcome, is_right: bool, is_fooled: bool
) -> None:
    found = answer(folder, "plain", outcome)
    assert (found.is_right, found.is_fooled) == (is_right, is_fooled)


def test_a_cheat_without_an_answer_has_no_time(folder: Path) -> None:
    cheat, control = (unanswered(adversary, "it ended") for adversary in read_corpus(folder))
    assert (cheat.is_fooled, control.is_fooled) == (False, True)


@pytest.mark.parametrize("text", ['"""No lines."""\n', _FILE.format(right="refused"), _FILE.format(right="")])
def test_a_file_that_does_not_say_what_is_right_is_named(folder: Path, text: str) -> None:
    (folder / "cheats" / "clocks" / "vague.py").write_text(text)
    with pytest.raises(CorpusError, match=r"vague\.py"):
        read_corpus(folder)


def test_the_corpus_has_every_class_and_its_sources() -> None:
    corpus = read_corpus()
    cheats = [adversary for adversary in corpus if not adversary.is_honest]
    assert len(cheats) >= 45
    assert all(adversary.title and adversary.source for adversary in corpus)
    assert all(MEASURED in adversary.right for adversary in corpus if adversary.is_honest)
    groups = {path.name for path in (CORPUS / "cheats").iterdir()}
    assert {adversary.group for adversary in cheats} == groups
    assert HONEST not in groups


def test_only_what_harms_others_may_be_measured() -> None:
    """Or what a judge's own clock in another process measures truly: its least time is known then."""
    for one in read_corpus():
        if MEASURED in one.right and not one.is_honest:
            assert one.group == "state" or one.least_s, one.name


def test_a_time_shorter_than_the_truth_is_not_right(folder: Path) -> None:
    slept = folder / "cheats" / "clocks" / "slept.py"
    slept.write_text(_FILE.format(right="tampered, measured\nleast_us: 1e6"))
    assert answer(folder, "slept", measured()).is_fooled
    slept.write_text(_FILE.format(right="tampered, measured\nleast_us: 1e-6"))
    assert answer(folder, "slept", measured()).is_right


def test_each_adversary_becomes_a_kernel(tmp_path: Path) -> None:
    corpus = read_corpus()
    for adversary in corpus:
        write_kernel(tmp_path, adversary)
    catalog = scan([tmp_path])
    assert catalog.problems == ()
    for adversary in corpus:
        kernel = catalog.kernel(adversary.name)
        assert kernel is not None
        assert kernel.implementation(adversary.stem) is not None
        assert kernel.spec.preset("cpu")
        assert kernel.spec.preset("cuda")


def test_each_adversary_defines_run() -> None:
    for adversary in read_corpus():
        functions = [
            node for node in ast.parse(adversary.path.read_text()).body if isinstance(node, ast.FunctionDef)
        ]
        assert "run" in [function.name for function in functions], adversary.name
        assert adversary.path.with_suffix(".cu").exists() is (adversary.needs is Need.NVRTC)


def test_without_a_checkout_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "CORPUS", tmp_path / "nowhere")
    with pytest.raises(Exit) as ended:
        command.run_adversaries(cpu_device())
    assert ended.value.exit_code == 2
    assert capfd.readouterr().err == (
        "The corpus of cheats lies in tests/adversaries of a checkout; this installation has no tests.\n"
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["zeroes"], "There is no adversary 'zeroes'; did you mean 'zeros'?\n"),
        (["graph_replay"], "None of the adversaries named runs on AMD; they need a GPU.\n"),
    ],
)
def test_a_name_that_cannot_be_tried_is_one_sentence(
    names: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    device = msgspec.structs.replace(cpu_device(), name="AMD")
    with pytest.raises(Exit):
        command.run_adversaries(device, names)
    assert capfd.readouterr().err == sentence

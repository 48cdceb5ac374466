"""The runner sees what it must see: else every fault would be survived."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from roofscope.tests.faults.corpus import LEFT_OUT, Around, Fault
from roofscope.tests.faults.judge import judge
from roofscope.tests.faults.run import Seen
from roofscope.tests.faults.tapped_run import Line
from roofscope.tests.faults.traces_left import MARK, bytes_in, left_after, locks_held

FAULT = Fault("bad", "A call crashes.", "crash", ("worker lost",), ("SIGSEGV",))
OUTPUT = (
    "Session: run.roofscope\n✗ bad / eager PyTorch: worker lost: The worker was lost (killed by SIGSEGV).\n"
)
LINES = (
    Line(10.0, "Progressed", "bad", stage="build"),
    Line(11.0, "Progressed", "bad", stage="verify"),
    Line(12.0, "OutcomeArrived", "bad", "eager", kind="worker lost", text="killed by SIGSEGV"),
    Line(13.0, "Progressed", "bad", stage="verify"),
    Line(20.0, "OutcomeArrived", "after_bad", "eager", kind="measured"),
)
SEEN = Seen(LINES, OUTPUT, 1, 0.0, 21.0, (), (), 0, 0, 2, "")


def seen(**changes: object) -> Seen:
    return msgspec.structs.replace(SEEN, **changes)


def with_line(number: int, **changes: object) -> Seen:
    lines = list(LINES)
    lines[number] = msgspec.structs.replace(lines[number], **changes)
    return seen(lines=tuple(lines))


def test_what_was_survived_has_its_sentence_and_its_seconds() -> None:
    row = judge(FAULT, SEEN)
    assert row.is_right, row.why
    assert not row.is_slow
    assert (row.next_s, row.end_s) == (9.0, 1.0)  # from the stage that it crashed in
    assert row.saw == OUTPUT.splitlines()[1]


@pytest.mark.parametrize(
    ("what", "word"),
    [
        (seen(code=None), "did not end"),
        (seen(code=-11), "exit code -11"),
        (seen(output='  File "/checkout/app/cli/run.py", line 3\n'), "traceback"),
        (seen(output=f"{OUTPUT}\x1b[31m"), "control character"),
        (seen(log_bytes=1 << 30), "a log of 1024 MiB"),
        (seen(bytes_left=1 << 30), "left in TMPDIR"),
        (seen(readable_points=1), "1 of 2 points readable"),
        (seen(session="run-rescued.roofscope"), "run-rescued.roofscope"),
        (seen(is_shot=False), "not carried out"),
        (with_line(2, kind="internal"), "internal"),
        (with_line(2, text="killed by SIGBUS", kernel="bad"), ""),  # the output has the word all the same
        (seen(lines=LINES[:3]), "after it has no outcome"),
        (seen(lines=(*LINES, LINES[2])), "2 outcomes"),
        (with_line(4, kind="tampered", text="by the referee's clock"), "tampered"),
    ],
)
def test_what_went_wrong_is_said(what: Seen, word: str) -> None:
    row = judge(FAULT, what)
    assert row.survived is not bool(word)
    assert word in "; ".join(row.why)


def test_a_true_time_may_disagree_on_a_busy_machine() -> None:
    assert judge(FAULT, with_line(4, kind="tampered", text="by the referee's clock"), is_busy=True).survived


@pytest.mark.parametrize("changes", [{"left": ("7: sleep",)}, {"locks": ("a.lock",)}])
def test_what_is_left_is_not_right(changes: dict[str, object]) -> None:
    row = judge(FAULT, seen(**changes))
    assert row.survived
    assert not row.is_right


def test_slow_is_slow() -> None:
    assert judge(FAULT, with_line(4, at_s=37.0)).is_slow
    assert judge(FAULT, seen(ended_s=30.0)).is_slow
    assert judge(msgspec.structs.replace(FAULT, is_sticky=True), with_line(4, at_s=27.0)).is_slow


def test_a_folder_that_is_left_out_must_be_named() -> None:
    fault = Fault("bad_spec", "It exits.", "spec", (LEFT_OUT,), ("bad_spec",))
    after = (Line(20.0, "OutcomeArrived", "after_bad_spec", "eager", kind="measured"),)
    silent = seen(lines=after, output="✓ after_bad_spec\nrun.roofscope")
    assert not judge(fault, silent).survived
    assert judge(
        fault, seen(lines=after, output="bad_spec/spec.py cannot be used.\nrun.roofscope", code=0)
    ).survived


def test_a_run_that_ends_early_must_say_why() -> None:
    fault = Fault("full", "Full.", "around", says=("No space",), around=Around(may_end=True))
    assert judge(fault, seen(lines=(), output="No space left on it.\n", code=2)).survived
    assert not judge(fault, seen(lines=(), output="", code=2)).survived


@pytest.mark.parametrize("by", ["mark", "session"])
def test_a_process_that_is_left_is_found_and_ended(by: str) -> None:
    mark = os.urandom(8).hex()
    environment = {**os.environ, **({MARK: mark} if by == "mark" else {})}
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                             env=environment, start_new_session=True)  # fmt: skip
    found = left_after(mark, {child.pid} if by == "session" else set(), grace_s=0.2)
    assert [line.partition(":")[0] for line in found] == [str(child.pid)]
    assert child.wait(60) == -9
    assert left_after(mark, {child.pid}, grace_s=0.0) == []


def test_what_torch_keeps_for_later_is_no_trace(tmp_path: Path) -> None:
    for name in ("torchinductor_root/precompiled_headers/a.gch", "log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100_000)
    assert 100_000 <= bytes_in(tmp_path) < 150_000


def test_a_lock_that_is_held_is_found(tmp_path: Path) -> None:
    with (tmp_path / "a.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert locks_held(tmp_path, 0.0) == ["a.lock"]
    assert locks_held(tmp_path, 0.0) == []

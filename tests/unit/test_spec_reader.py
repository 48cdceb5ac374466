"""Specs are programs of other people: whatever one does is a problem of its folder."""

import time
from pathlib import Path
from threading import Event
from unittest.mock import Mock

import msgspec
import psutil
import pytest

from roofscope.app.cli.list import list_kernel, list_text
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning import spec_child, spec_reader
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.planning.spec_reader import SpecFault, SpecReader
from roofscope.tests.unit.test_catalog import EAGER, SPEC


def write(root: Path, name: str, before: str = "", after: str = "") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    spec = SPEC.replace('"doubled"', f'"{name}"')
    (folder / "spec.py").write_text(f"{before}\n{spec}\n{after}\n")
    (folder / "reference.py").write_text(EAGER)
    (folder / "eager.py").write_text(EAGER)
    return folder


def names(catalog: Catalog) -> list[str]:
    return [kernel.spec.name for kernel in catalog.kernels]


ENDS = {
    "exit()": "ends the program that reads it, as exit() does",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "import os; os._exit(0)": "ends the process that reads it (exit code 0)",
    "import os; os.abort()": "killed by SIGABRT",
    "import ctypes; ctypes.string_at(0)": "killed by SIGSEGV",
    "import os; os.kill(os.getpid(), 9)": "killed by SIGKILL",
    "import os; os.closerange(0, 99)": "",
    "held = bytearray(8 << 30)": "takes more than 2 GiB of memory",
    "def again(): again()\nagain()": "RecursionError",
    "class Error(Exception):\n    def __str__(self): raise self\nraise Error": "it cannot say what is wrong",
    "raise ValueError('x' * 10**7)": "ValueError: xxx",
    "raise ValueError('\\x1b[31m\\nred')": r"ValueError: \x1b[31m\nred",
}


def test_whatever_a_spec_does_to_its_process_is_a_problem_of_its_folder(tmp_path: Path) -> None:
    for number, code in enumerate(ENDS):
        write(tmp_path, f"k{number:02}_bad", code)
        write(tmp_path, f"k{number:02}_good")
    catalog = scan([tmp_path])
    assert names(catalog) == [f"k{number:02}_good" for number in range(len(ENDS))]
    for problem, (code, words) in zip(catalog.problems, ENDS.items(), strict=True):
        assert words in problem.message, code
        assert len(problem.message) < 500


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(1e6)",
        "10**10**10",
        "import signal, time; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(1e6)",
    ],
)
def test_a_spec_that_does_not_end_has_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(spec_reader, "PATIENCE_S", 2.0)
    write(tmp_path, "a_bad", code)
    write(tmp_path, "b_good")
    catalog = scan([tmp_path])
    assert names(catalog) == ["b_good"]
    assert "it does not end within 2 s" in catalog.problems[0].message


def test_parts_of_an_answer_bring_no_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_reader, "PATIENCE_S", 1.0)
    monkeypatch.setattr(spec_reader, "_GRACE_S", 0.5)
    drip = """
import os, signal, sys, time
signal.signal(signal.SIGALRM, signal.SIG_IGN)
for _ in range(20):
    os.write(int(sys.argv[1]), b" ")
    time.sleep(0.4)
"""
    write(tmp_path, "drips", drip)
    catalog = scan([tmp_path])
    assert names(catalog) == []
    assert "it does not end within 1 s" in catalog.problems[0].message


def test_where_many_do_not_end_the_rest_is_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_reader, "PATIENCE_S", 0.5)
    monkeypatch.setattr(spec_reader, "SCAN_PATIENCE_S", 0.0)
    for name in ("a", "b", "c"):
        write(tmp_path, name, "while True: pass")
    first, *others = scan([tmp_path]).problems
    assert "does not end" in first.message
    assert ["was not read" in other.message for other in others] == [True, True]


def test_what_a_spec_prints_goes_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Else it would stand in what ``list --json`` prints, or be taken for an answer."""
    write(tmp_path, "loud", "import os; print('{}'); os.write(1, b'{}\\n'); os.write(2, b'noise')")
    write(tmp_path, "other")
    assert names(scan([tmp_path])) == ["loud", "other"]
    assert capfd.readouterr() == ("", "")


def test_a_spec_that_forks_is_answered_once(tmp_path: Path) -> None:
    write(tmp_path, "forks", "import os; os.fork()")
    write(tmp_path, "other", after="import os; SPEC = None if os.getpid() == 1 else SPEC")
    catalog = scan([tmp_path])
    assert names(catalog) == ["forks", "other"]
    assert catalog.problems == ()


def state_in(stat: Path) -> str:
    """``Z`` of a process that has ended, reaped or not."""
    try:
        return stat.read_text().rpartition(") ")[2][0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("apart", ["", "os.setsid()"])
def test_what_a_spec_leaves_running_ends_with_the_scan(tmp_path: Path, apart: str) -> None:
    noted = tmp_path / "pid"
    code = f"""
import os, time
if not (pid := os.fork()):
    {apart}
    time.sleep(1e6)
open({str(noted)!r}, "w").write(str(pid))
"""
    write(tmp_path / "kernels", "forks", code)
    assert names(scan([tmp_path / "kernels"])) == ["forks"]
    stat = Path("/proc", noted.read_text(), "stat")
    until = time.monotonic() + 60
    while (state := state_in(stat)) != "Z" and time.monotonic() < until:  # nobody may reap it here
        time.sleep(0.05)
    assert state == "Z"


def test_stdin_is_empty_and_the_list_of_folders_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, "reads", "import sys; assert sys.stdin.read() == ''")
    assert names(scan([tmp_path])) == ["reads"]


def test_a_death_is_held_against_the_folder_that_a_fresh_process_dies_of(tmp_path: Path) -> None:
    """A thread that one spec left may end the process while the next one is read."""
    seen = tmp_path / "seen"
    write(tmp_path, "a_culprit", "import os, threading\nthreading.Timer(0.5, os._exit, [3]).start()")
    slow = f"""
import pathlib, time
if not pathlib.Path({str(seen)!r}).exists():
    pathlib.Path({str(seen)!r}).touch()
    time.sleep(1e6)
"""
    write(tmp_path, "b_innocent", slow)
    assert names(scan([tmp_path])) == ["a_culprit", "b_innocent"]


MINE = """
class Mine(KernelSpec):
    pass
SPEC = Mine(**{name: getattr(SPEC, name) for name in SPEC.__struct_fields__})
"""
REPLACED = "import msgspec; SPEC = msgspec.structs.replace(SPEC, {})"


def test_prose_may_have_lines_and_any_sign_that_can_be_shown(tmp_path: Path) -> None:
    write(tmp_path, "prose", after=REPLACED.format(r"title='two\nlines', formula='2\u00a0x'"))
    [kernel] = scan([tmp_path]).kernels
    assert (kernel.spec.title, kernel.spec.formula) == ("two\nlines", "2\u00a0x")
    assert list_text(list_kernel(kernel)).splitlines()[0] == "prose: two lines, 2 x"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("SPEC = None", "must define SPEC"),
        (MINE, "must define SPEC"),
        (REPLACED.format("formula=print"), "holds what is no data"),
        (REPLACED.format("title='x' * 10**6"), "holds more than 256 KiB"),
        (REPLACED.format("title='\\x1b[31m'"), "title has a character that cannot be shown"),
        (REPLACED.format("title='\\ud800'"), "title has a character that cannot be shown"),
        (REPLACED.format("formula='\\u202e'"), "formula has a character that cannot be shown"),
        (REPLACED.format("axes=(Axis('n\\n', '', 0),)"), "axes[0].name has a character that cannot be shown"),
        (REPLACED.format("large_magnitude=float('nan')"), "large_magnitude is nan"),
        (REPLACED.format("tolerance=Tolerance(float('inf'), 1, 1)"), "tolerance.float32 is inf"),
        (REPLACED.format("tolerance=Tolerance(1, -1.0, 1)"), "tolerance.float16 is -1.0"),
        (REPLACED.format("axes=(Axis('n', '', 2**63),)"), "axes[0].minimum is beyond 64 bits"),
        (REPLACED.format("presets=(Preset('small', {'n': 2**70}),)"), "Expected int <="),
        (REPLACED.format("work=WorkFormula('2**(0-1)', 'n', 'n')"), "An exponent is -1"),
        (REPLACED.format("work=WorkFormula('n**9', 'n', 'n')"), "comes to more than 2**63"),
        (REPLACED.format("work=WorkFormula('(n**9)**64', 'n', 'n')"), "passes 2**256 on the way"),
        (REPLACED.format("work=WorkFormula('+'.join(['n'] * 30000), 'n', 'n')"), "than 1000 characters"),
        (REPLACED.format("work=WorkFormula('+'.join(['n'] * 300), 'n', 'n')"), "more than 100 terms"),
    ],
)
def test_a_spec_that_is_no_plain_data_is_said(tmp_path: Path, after: str, words: str) -> None:
    write(tmp_path, "odd", after=after)
    catalog = scan([tmp_path])
    assert catalog.kernels == ()
    [problem] = catalog.problems
    assert words in problem.message
    msgspec.json.encode(problem)


def test_all_of_a_spec_that_is_data_arrives() -> None:
    """Each of ours, and one that uses every field."""
    for kernel in scan().kernels:
        assert msgspec.json.decode(msgspec.json.encode(kernel.spec), type=KernelSpec) == kernel.spec


def test_the_library_arrives_as_its_files_have_it(tmp_path: Path) -> None:
    folder = write(tmp_path, "one", "import os; os.environ['SEEN'] = 'yes'")
    with SpecReader([folder, tmp_path / "absent"]) as reader:
        found, absent = reader.answers()
    assert isinstance(found, KernelSpec)
    assert found.axes[0].meaning == "elements"
    assert isinstance(absent, SpecFault)


def test_where_no_process_can_be_started_each_folder_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "one")
    write(tmp_path, "two")
    for command, words in (
        (("/nonexistent/python",), "no process can be started to read it (No such file or directory)"),
        (("/bin/false",), "the process that reads specs does not start"),
    ):
        monkeypatch.setattr(spec_reader, "module_command", Mock(return_value=command))
        catalog = scan([tmp_path])
        assert catalog.kernels == ()
        assert [words in problem.message for problem in catalog.problems] == [True, True]


def test_a_process_that_is_killed_as_it_starts_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the system does that runs out of memory: no spec was read, and none of them is at fault."""
    write(tmp_path, "one")
    write(tmp_path, "two")
    killed = ("/bin/sh", "-c", "kill -9 $$")
    command = Mock(side_effect=[killed, module_command(spec_child.__name__)])
    monkeypatch.setattr(spec_reader, "module_command", command)
    catalog = scan([tmp_path])
    assert (names(catalog), catalog.problems) == (["one", "two"], ())

    monkeypatch.setattr(spec_reader, "module_command", Mock(return_value=killed))
    catalog = scan([tmp_path])
    assert catalog.kernels == ()
    assert ["does not start" in problem.message for problem in catalog.problems] == [True, True]


def test_no_folder_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_reader, "_Child", None)
    with SpecReader([]) as reader:
        assert reader.answers() == []


def test_what_a_spec_starts_in_a_session_of_its_own_ends_with_the_scan(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    starts = (
        "import subprocess\n"
        "started = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"open({str(note)!r}, 'w').write(str(started.pid))"
    )
    write(tmp_path / "kernels", "starts", starts)
    assert names(scan([tmp_path / "kernels"])) == ["starts"]
    until = time.monotonic() + 60
    while psutil.pid_exists(int(note.read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_scan_that_nobody_waits_for_ends_though_a_spec_hangs(tmp_path: Path) -> None:
    folders = [write(tmp_path, name, "import time; time.sleep(600)") for name in ("one", "other")]
    given_up = Event()
    given_up.set()
    with SpecReader(folders, given_up) as reader:
        reader.start()
        assert [answer.text for answer in reader.answers()] == ["the program ends", "the program ends"]

"""The command line as a user runs it: a child process, its output and its exit code."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from roofscope.app.cli.documents import RunDocument
from roofscope.profiling.devices.device_lock import lock_device
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.outcome import Failed, Measured, Skipped
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.children import ROOT
from roofscope.tests.worker.command_line import keep_ceilings, main
from roofscope.tests.worker.toys import REFERENCE, add_toy

GUARD = ROOT / "tests" / "guard"


def test_a_sixth_kernel_is_one_folder(tmp_path: Path) -> None:
    """From a folder anywhere to verified points, a picture and a CSV; nothing else is touched."""
    keep_ceilings(tmp_path / "cache")
    folder = add_toy(tmp_path / "mine", "doubled", REFERENCE)
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "run", "doubled", "--kernels", tmp_path / "mine", "--device", "cpu",
                "--provider", "eager", "--provider", "triton", "--size", "n=70000", "--svg",
                "--out", out)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # With a tick, or a "!" where a busy machine leaves its interval wide.
    assert "doubled / eager PyTorch fp32 70000: " in done.stdout
    session = load(out)
    eager, triton = sorted(session.points, key=lambda point: point.implementation.stem)
    assert isinstance(eager.outcome, Measured)
    assert isinstance(triton.outcome, Skipped)
    assert eager.job.workload.sizes == {"n": 70000}
    assert session.specs["doubled"].formula == "y = 2x"
    assert session.sources[eager.implementation.source_hash][0].text == REFERENCE
    assert session.environment is not None
    assert {package.name for package in session.environment.packages} >= {"torch", "numpy"}
    assert "doubled" in out.with_suffix(".svg").read_text()

    exported = main(tmp_path, "export", out, "--csv", "--json")
    assert exported.returncode == 0, exported.stderr
    assert "doubled" in out.with_suffix(".csv").read_text()
    assert len(json.loads(out.with_suffix(".json").read_text())["points"]) == 2


def test_a_trace_is_recorded_into_the_session_and_exported(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    out, trace = tmp_path / "a.roofscope", tmp_path / "trace.json"
    done = main(tmp_path, "run", "gelu", "--device", "cpu", "--provider", "eager",
                "--size", "n=4096", "--out", out, "--trace")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 traces recorded" in done.stdout
    traced = main(tmp_path, "trace", out, "gelu/eager", "--stacks", "--memory", "--out", trace)
    assert traced.returncode == 0, traced.stdout + traced.stderr
    assert "aten::gelu" in traced.stdout
    events = json.loads(trace.read_text())["traceEvents"]
    called = [event for event in events if event.get("name") == "aten::gelu"]
    assert len(called) == 5, "the calls that warm up do not count"
    assert called[0]["args"]["Input Dims"][0] == [4096]
    assert sum(event.get("name") == "gelu/eager fp32 n=4096" for event in events) == 5
    assert any(event.get("cat") == "python_function" for event in events)
    assert any(event.get("name") == "[memory]" for event in events)
    keys = ["gelu/eager", "gelu/eager_formula", "gelu/eager"]
    assert [info.implementation.key for info in load(out).traces] == keys
    refused = main(tmp_path, "trace", out, "gelu/triton")
    assert refused.returncode == 2
    assert "did you mean" in refused.stderr or "choose from" in refused.stderr


def test_a_trace_of_edited_files_is_refused(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    folder = add_toy(tmp_path / "mine", "doubled", REFERENCE)
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "run", "doubled", "--kernels", tmp_path / "mine", "--device", "cpu",
                "--provider", "eager", "--size", "n=4096", "--out", out)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "eager.py").write_text(f"{REFERENCE}# edited")
    refused = main(tmp_path, "trace", out, "doubled/eager", "--kernels", tmp_path / "mine")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "The files of doubled / eager PyTorch changed since it was measured; run it again first.\n"
    )


def test_a_run_in_json_measures_every_size_and_prints_nothing_else(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    out.with_suffix(".svg").write_text("my own")
    done = main(tmp_path, "run", "gelu/eager", "--device", "cpu", "--json",
                "--size", "n=1024", "--size", "n=2048; n=4096", "--out", out)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    document = msgspec.json.decode(done.stdout, type=RunDocument)
    assert document.session == str(out)
    assert [point.sizes for point in document.points] == [{"n": 1024}, {"n": 2048}, {"n": 4096}]
    assert all(point.median_s for point in document.points)
    assert "gelu / eager PyTorch" in done.stderr
    assert out.with_suffix(".svg").read_text() == "my own"


@pytest.mark.parametrize(
    "words", [("run", "gelu", "--provider", "eager"), ("selftest", "--proof", "known-duration")]
)
def test_a_busy_device_is_exit_code_75_and_leaves_no_session(tmp_path: Path, words: tuple[str, ...]) -> None:
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    device = cpu_device()
    with lock_device(device.uuid, device.name):
        done = main(tmp_path, *words, "--device", "cpu", "--json", "--out", out)
    reason = done.stderr.strip()
    assert done.returncode == 75, done.stdout + done.stderr
    assert reason.startswith(f"Another Roofscope is measuring on {device.name} (process {os.getpid()} of ")
    assert reason.endswith("; wait until it is done, or stop it there.")
    document = json.loads(done.stdout)
    assert (document["problem"], document["session"]) == (reason, None)
    assert not out.exists()


def test_a_wrong_kernel_is_exit_code_one_and_the_rest_is_done(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    add_toy(tmp_path / "mine", "right", REFERENCE)
    add_toy(tmp_path / "mine", "wrong", "def run(x):\n    return x * 3\n")
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "run", "wrong", "right", "--kernels", tmp_path / "mine", "--device", "cpu",
                "--provider", "eager", "--preset", "small", "--out", out)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    wrong, right = load(out).points
    assert isinstance(wrong.outcome, Failed)
    assert isinstance(right.outcome, Measured)
    assert "1 failed" in done.stdout


def test_nothing_measured_is_exit_code_one_and_no_picture(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "run", "gelu", "--device", "cpu", "--provider", "triton",
                "--size", "n=4096", "--svg", "--out", out)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Nothing was measured" in done.stdout
    assert all(isinstance(point.outcome, Skipped) for point in load(out).points)
    assert not out.with_suffix(".svg").exists()


def test_a_picture_that_cannot_be_written_costs_no_result(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    out.with_suffix(".svg").mkdir()
    done = main(tmp_path, "run", "gelu", "--device", "cpu", "--provider", "eager",
                "--size", "n=4096", "--svg", "--out", out)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a.svg cannot be written: it is a folder." in done.stderr
    assert load(out).points


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "sofmax"], "did you mean 'softmax'?"),
        (["run", "softmax", "--kernels", "/nonexistent"], "There is no folder /nonexistent"),
        (["run", "softmax", "--device", "cuda:9"], "There is no device 'cuda:9'"),
        (["run", "softmax", "--device", ""], "There is no device ''"),
        (["run", "/etc/passwd", "--device", "cpu"], "'/etc/passwd' names no file of a kind that can be run"),
        (["run", "a/b/c", "--device", "cpu"], "'a/b/c' names no file of a kind that can be run"),
        (["run", "gelu", "--device", "cpu", "--size", "n=64Ki,128Ki"], "semicolons: n=65536; n=128Ki."),
        (["run", "softmax", "--device", "cpu", "--size", "rows"], "'rows' is no size"),
        (["run", "softmax", "--device", "cpu", "--size", "depth=3"], "has no axis 'depth'"),
        (["run", "softmax", "--device", "cpu", "--size", "rows=-3"], "'rows=-3' is no size"),
        (["run", "softmax", "--device", "cpu", "--preset", "huge"], "has no preset 'huge'"),
        (["run", "gelu", "--device", "cpu", "--preset", "sweep", "--size", "n=5"], "brings its own sizes"),
        (
            ["run", "gelu", "--device", "cpu", "--preset", "small", "--preset", "large", "--size", "n=5"],
            "over one preset, not over small and large",
        ),
        (["run", "softmax", "--device", "cpu", "--implementation", "triton_onlin"], "did you mean"),
        (["run", "softmax", "--dtype", "float8"], "float8"),
        (["export", "none.roofscope", "--csv"], "There is no file none.roofscope"),
        (["export", "README.md", "--csv"], "not a Roofscope session"),
        (["export", "README.md"], "Say what to export"),
        (["open", "README.md"], "not a Roofscope session"),
        (["frobnicate"], "frobnicate"),
        (["run", "sofmax", "--out", "a.svg"], "a.svg does not end in .roofscope; name it a.roofscope"),
        (["selftest", "--device", "cuda:9", "--out", "a"], "a does not end in .roofscope"),
    ],
)
def test_a_users_mistake_is_one_sentence_and_exit_code_two(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    done = main(tmp_path, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_an_existing_session_is_never_overwritten(tmp_path: Path) -> None:
    SessionStore.create(tmp_path / "a.roofscope").close()
    done = main(tmp_path, "run", "softmax", "--device", "cpu", "--out", tmp_path / "a.roofscope")
    assert done.returncode == 2
    assert "exists already" in done.stderr


def test_a_picture_that_lies_there_is_never_overwritten(tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    picture.write_text("my own")
    done = main(tmp_path, "run", "softmax", "--device", "cpu", "--svg", "--out", tmp_path / "a.roofscope")
    assert done.returncode == 2
    assert done.stderr == (
        f"{picture}, where the roofline of this run would go, exists already; choose another name.\n"
    )
    assert picture.read_text() == "my own"
    assert not (tmp_path / "a.roofscope").exists()


def test_ctrl_c_during_the_imports_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        # As in a terminal: tests that run in the background inherit an ignored SIGINT.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    done = subprocess.run(
        [sys.executable, "main.py", "doctor"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("selftest", "--proof", "trap"), "There is no proof 'trap'; did you mean 'traps'?\n"),
        (("run", "gelu", "--provider", "cud"), "There is no provider 'cud'; did you mean 'cuda'?\n"),
    ],
)
def test_a_misspelt_choice_is_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    done = main(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_whose_time_is_up_tells_what_it_measured(tmp_path: Path, ending: signal.Signals) -> None:
    """``timeout`` and CI send SIGTERM, also to a run in the background, and a lost connection SIGHUP."""
    (tmp_path / "sitecustomize.py").write_text(  # under nohup the tests inherit an ignored one
        f"import runpy, signal\nsignal.signal({int(ending)}, signal.SIG_DFL)\n"
        f"runpy.run_path({str(GUARD / 'sitecustomize.py')!r})\n"  # before which this one is found
    )
    path = os.pathsep.join((str(tmp_path), os.environ["PYTHONPATH"]))
    keep_ceilings(tmp_path / "cache")
    out = tmp_path / "a.roofscope"
    small = "changing_shapes"  # is soon done, and the others are not
    others = [kernel.spec.name for kernel in scan().kernels if kernel.spec.name != small]
    with subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-u", "main.py", "run", small, *others, "--provider", "eager",
         "--preset", "small", "--device", "cpu", "--out", out],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:  # fmt: skip
        try:
            assert run.stdout is not None
            first = run.stdout.readline()
            run.send_signal(ending)
            rest, _ = run.communicate(timeout=100)
        finally:
            run.send_signal(signal.SIGABRT)  # who goes on fails here and says where it is
    assert first[0] in "✓!"
    assert run.returncode == 1, rest
    assert "not run" in rest
    assert f"Session:  {out}" in rest
    assert [path.name for path in tmp_path.glob("a.roofscope*")] == ["a.roofscope"]
    assert any(point.measured for point in load(out).points)


def test_a_session_is_written_under_its_own_suffix_only(tmp_path: Path) -> None:
    """The picture of a run goes beside the session, and must not go over it."""
    out = tmp_path / "results.svg"
    done = main(tmp_path, "run", "gelu", "--device", "cpu", "--provider", "eager",
                "--size", "n=4096", "--out", out)  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "name it results.roofscope" in done.stderr
    assert not out.exists()


def test_the_doctor_names_what_is_here(tmp_path: Path) -> None:
    done = main(tmp_path, "doctor")
    assert done.returncode == 0, done.stderr
    for name in ("Python", "torch", "Triton", "NVIDIA driver"):
        assert name in done.stdout


def test_opening_without_a_screen_says_what_works_instead(tmp_path: Path) -> None:
    SessionStore.create(tmp_path / "a.roofscope").close()
    environment = {name: value for name, value in os.environ.items() if name != "WAYLAND_DISPLAY"}
    environment.pop("DISPLAY", None)
    environment.pop("QT_QPA_PLATFORM", None)
    done = subprocess.run(
        [sys.executable, "main.py", "open", str(tmp_path / "a.roofscope")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no screen" in done.stderr

"""Each check on machines that are well and on machines that are not."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace

from roofscope.app.cli import commands
from roofscope.app.cli import open as open_command
from roofscope.profiling import doctor
from roofscope.profiling.devices.device import Device, DeviceKind, GpuProcess
from roofscope.profiling.doctor import Check, CheckState
from roofscope.profiling.planning.catalog import CatalogProblem
from roofscope.tests.children import python

GPU = Device("cuda:0", DeviceKind.CUDA, "NVIDIA H200", "GPU-1", compute_capability=(9, 0))


def assert_bad(check: Check | None, state: CheckState, *words: str) -> None:
    assert check is not None
    assert check.state is state
    assert check.fix, "a finding without a fix helps nobody"
    for word in words:
        assert word in check.finding + check.fix


def test_this_machine_is_examined() -> None:
    checks = doctor.examine()
    names = [check.name for check in checks]
    assert names[0] == "Python"
    assert {"torch", "Triton", "Cache", "NVIDIA driver"} <= set(names)
    assert all(check.finding for check in checks)
    assert all(bool(check.fix) == (check.state is not CheckState.OK) for check in checks)


def test_examining_imports_neither_torch_nor_qt() -> None:
    code = (
        "import sys; from roofscope.profiling.doctor import examine; examine();"
        "sys.exit(any(name in sys.modules for name in ('torch', 'triton', 'PySide6')))"
    )
    subprocess.run(python(code), check=True)


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 15)])
def test_python_within_the_range(version: tuple[int, int]) -> None:
    assert doctor.check_python(version).state is CheckState.OK


def test_python_outside_the_range() -> None:
    assert_bad(doctor.check_python((3, 10)), CheckState.MISSING, "3.11 or later")


@pytest.mark.parametrize(
    ("pyside", "python"),
    [("6.10.3", (3, 11)), ("6.11.3", (3, 11)), ("6.9.1", (3, 11)), ("6.12.0", (3, 12)), ("6.13.0", (3, 14))],
)
def test_window_with_a_sound_pair(pyside: str, python: tuple[int, int]) -> None:
    assert doctor.check_window(pyside, python).state is CheckState.OK


@pytest.mark.parametrize("pyside", ["6.12.0", "6.12.1", "6.13.0", "7.0.0"])
def test_window_with_a_pair_that_aborts(pyside: str) -> None:
    check = doctor.check_window(pyside, (3, 11))
    assert_bad(check, CheckState.MISSING, pyside, "Python 3.11", "<6.12", "Python 3.12")


def test_window_without_pyside() -> None:
    assert_bad(doctor.check_window(None, (3, 12)), CheckState.MISSING, "uv sync --extra window")


def test_what_is_installed_here_can_open_the_window() -> None:
    check = doctor.check_window(version("pyside6-essentials"), sys.version_info[:2])
    assert check.state is CheckState.OK


def test_a_window_that_would_abort_is_refused_before_qt_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aborts = doctor.check_window("6.12.0", (3, 11))
    monkeypatch.setattr(open_command, "check_window", lambda *_: aborts)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setitem(
        sys.modules, "roofscope.app.window.application", None
    )  # importing it fails, in other words
    with pytest.raises(typer.Exit) as refused:
        commands.start(typer.Context(typer.main.get_command(commands.cli)))
    assert refused.value.exit_code == 2
    assert "PySide6 6.12.0 aborts on Python 3.11: uv pip install" in capsys.readouterr().err


def test_screen() -> None:
    assert doctor.check_screen(":0").state is CheckState.OK
    assert_bad(doctor.check_screen(""), CheckState.WARNING, "roofscope run")


def test_quiet_gpu_is_one_line() -> None:
    (check,) = doctor.check_gpus([GPU])
    assert (check.state, check.name) == (CheckState.OK, "GPU cuda:0")
    assert "9.0" in check.finding


def test_disturbed_gpu_is_told() -> None:
    shared = replace(GPU, processes=(GpuProcess(42), GpuProcess(43)), mig_enabled=True)
    _, processes, mig = doctor.check_gpus([shared])
    assert_bad(processes, CheckState.WARNING, "42, 43", "42,43")
    assert_bad(mig, CheckState.WARNING, "MIG")


def test_visible_devices() -> None:
    assert doctor.check_visible(None, 2, 2) is None
    chosen = doctor.check_visible("1", 2, 1)
    assert chosen is not None
    assert chosen.state is CheckState.OK
    assert_bad(doctor.check_visible("-1", 2, 0), CheckState.MISSING, "unset")


@pytest.mark.parametrize("driver", [None, (13, 0), (14, 1)])
def test_torch_that_suits_the_driver(driver: tuple[int, int] | None) -> None:
    check = doctor.check_torch("2.11.0", "13.2", driver)
    assert check.state is CheckState.OK
    assert "13.2" in check.finding


def test_torch_that_does_not() -> None:
    assert_bad(doctor.check_torch(None, None, None), CheckState.MISSING, "uv sync")
    assert_bad(doctor.check_torch("2.11.0", "13.0", (12, 8)), CheckState.MISSING, "12.8", "driver")
    assert_bad(doctor.check_torch("2.11.0", None, (13, 0)), CheckState.MISSING, "CPU only")
    assert doctor.check_torch("2.11.0", None, None).state is CheckState.OK


def test_torch_cuda_version_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    assert doctor.torch_cuda_version() == torch.version.cuda


def test_triton_and_cuda() -> None:
    assert doctor.check_triton("3.6.0", "linux").state is CheckState.OK
    assert_bad(doctor.check_triton(None, "linux"), CheckState.MISSING, "uv sync")
    assert_bad(doctor.check_triton(None, "darwin"), CheckState.MISSING, "Linux only")
    assert doctor.check_cuda_cpp("1.2.2", "NVRTC 13.2").state is CheckState.OK
    assert_bad(doctor.check_cuda_cpp(None, "NVRTC 13.2"), CheckState.MISSING, "uv sync")
    assert_bad(doctor.check_cuda_cpp("1.2.2", None), CheckState.MISSING, "nvidia-cuda-nvrtc")


def test_libraries_to_compare_with() -> None:
    both = {"liger-kernel": "0.8.5", "quack-kernels": "0.6.5"}
    assert doctor.check_peers(both).finding == "liger-kernel 0.8.5, quack-kernels 0.6.5"
    one = doctor.check_peers({**both, "quack-kernels": None}).finding
    assert one.startswith("liger-kernel 0.8.5; no quack-kernels, which only comparisons need: `uv sync")
    none = doctor.check_peers(dict.fromkeys(both))
    assert none.state is doctor.CheckState.OK
    assert none.finding.startswith("no liger-kernel, quack-kernels, which")


def test_extensions() -> None:
    toolkit = Path("/usr/local/cuda")
    for found, words in (
        (doctor.check_extensions(toolkit, "/usr/bin/ninja"), "/usr/bin/ninja"),
        (doctor.check_extensions(toolkit, None), "uv pip install ninja"),
        (doctor.check_extensions(None, "/usr/bin/ninja"), "CUDA toolkit"),
    ):
        assert found.state is CheckState.OK  # nothing else needs them
        assert words in found.finding


def test_compilers() -> None:
    header = Path("/usr/include/python3.11/Python.h")
    well = list(doctor.check_compilers("/usr/bin/gcc", "/usr/bin/g++", header, has_gpu=True))
    assert [check.state for check in well] == [CheckState.OK] * 3
    for check in doctor.check_compilers(None, None, None, has_gpu=True):
        assert_bad(check, CheckState.MISSING, "apt install")
    # Without a GPU nothing here needs a C compiler.
    assert len(list(doctor.check_compilers(None, "/usr/bin/g++", header, has_gpu=False))) == 2


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "not" / "yet" / "there"
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 0)
    assert doctor.check_disk(folder).state is CheckState.OK
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 10**30)
    assert_bad(doctor.check_disk(folder), CheckState.WARNING, str(tmp_path), "XDG_CACHE_HOME")


def test_kernels() -> None:
    (well,) = doctor.check_kernels([])
    assert well.state is CheckState.OK
    (bad,) = doctor.check_kernels([CatalogProblem("kernels/mine", "mine/spec.py cannot be used.")])
    assert_bad(bad, CheckState.WARNING, "mine/spec.py", "kernels/mine")


def test_an_optional_package_is_no_fault_where_it_is_missing() -> None:
    (missing,) = doctor.check_optional_providers(lambda _: None)
    assert missing.state is CheckState.OK
    assert "only `cute` implementations need it: `uv sync --extra cute` adds it" in missing.finding
    (found,) = doctor.check_optional_providers(lambda name: "4.8.1" if name == "nvidia-cutlass-dsl" else None)
    assert found.finding == "CuTe DSL 4.8.1"

"""From words of the command line to a plan: what is understood, and what is refused in one sentence."""

from pathlib import Path

import pytest
import typer

from roofscope.app.cli.choice import (
    choose_device,
    choose_folders,
    choose_kernels,
    choose_sizes,
    dtype_of,
    one_of,
    sizes_of,
)
from roofscope.app.cli.errors import unknown
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.proof import ProofName
from roofscope.tests.worker.toys import REFERENCE, add_toy

Capture = pytest.CaptureFixture[str]


def test_a_library_is_a_folder_of_kernels_or_of_one(tmp_path: Path) -> None:
    folder = add_toy(tmp_path, "doubled", REFERENCE)
    for library in (tmp_path, folder):
        [kernel] = scan(choose_folders([library])).kernels
        assert kernel.folder == folder


@pytest.mark.parametrize(
    ("name", "sentence"), [("nonexistent", "There is no folder"), ("empty", "holds no kernel")]
)
def test_a_folder_without_kernels_is_refused(
    tmp_path: Path, name: str, sentence: str, capsys: Capture
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(typer.Exit):
        choose_folders([tmp_path / name])
    assert sentence in capsys.readouterr().err


def test_sizes_are_written_as_in_the_window() -> None:
    [choice] = choose_sizes(["rows=64Mi,cols=1_000", "depth=4k"], [], cpu_device())
    assert choice.sizes == {"rows": 2**26, "cols": 1000, "depth": 4000}


@pytest.mark.parametrize(
    ("options", "workloads"),
    [
        (["n=1024", "n=2048"], [{"n": 1024}, {"n": 2048}]),
        (["n=1024; n=2048"], [{"n": 1024}, {"n": 2048}]),
        (["n=1024; n=2048", "n=4096", "n=1024"], [{"n": 1024}, {"n": 2048}, {"n": 4096}]),
        (["rows=4,cols=8"], [{"rows": 4, "cols": 8}]),
        (["rows=4", "cols=8"], [{"rows": 4, "cols": 8}]),
        (["rows=4,cols=8", "cols=2,rows=1"], [{"rows": 4, "cols": 8}, {"rows": 1, "cols": 2}]),
        (["rows=4", "rows=5", "cols=8"], [{"rows": 4, "cols": 8}, {"rows": 5, "cols": 8}]),
        (["rows=4", "cols=8", "rows=5"], [{"rows": 4, "cols": 8}, {"rows": 5, "cols": 8}]),
    ],
)
def test_the_same_axes_are_workloads_and_different_axes_are_combined(
    options: list[str], workloads: list[dict[str, int]]
) -> None:
    assert [choice.sizes for choice in choose_sizes(options, [], cpu_device())] == workloads


def test_an_axis_named_alone_and_beside_another_is_refused(capsys: Capture) -> None:
    with pytest.raises(typer.Exit):
        choose_sizes(["rows=4,cols=8", "rows=5"], [], cpu_device())
    assert "--size names rows alone and beside other axes" in capsys.readouterr().err


def test_a_trace_is_of_one_workload(capsys: Capture) -> None:
    assert sizes_of(["rows=4", "cols=8"]) == {"rows": 4, "cols": 8}
    assert sizes_of([]) == {}
    with pytest.raises(typer.Exit):
        sizes_of(["n=4", "n=8"])
    assert "--size names 2 workloads; name one." in capsys.readouterr().err


def test_a_name_of_several_words_needs_no_quotes(capsys: Capture) -> None:
    parse = one_of(ProofName, "proof")
    assert parse("known-duration") is parse("known duration") is ProofName.KNOWN_DURATION
    with pytest.raises(typer.Exit):
        parse("known-durations")
    assert "did you mean 'known-duration'?" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["", "n", "n=1.5"])
def test_what_is_no_size_is_refused(word: str, capsys: Capture) -> None:
    with pytest.raises(typer.Exit):
        choose_sizes([word], [], cpu_device())
    assert f"{word!r} is no size" in capsys.readouterr().err


def test_element_types_have_the_windows_short_names_too() -> None:
    assert [dtype_of(word) for word in ("fp32", "FP16", "bf16")] == list(Dtype)
    assert [dtype_of(str(dtype)) for dtype in Dtype] == list(Dtype)
    with pytest.raises(typer.BadParameter, match=r"'float8'.*bfloat16 \(bf16\)"):
        dtype_of("float8")


def test_all_means_all_beside_names_too(capsys: Capture) -> None:
    catalog = scan()
    for names in ([], ["all"], ["gelu", "all"]):
        assert choose_kernels(catalog, names) == list(catalog.kernels)
    with pytest.raises(typer.Exit):
        choose_kernels(catalog, ["all", "gelo"])
    assert "did you mean 'gelu'?" in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        unknown("implementation", "gelu/liger", ["gelu/eager", "gelu/library_liger", "silu/liger"])
    assert "did you mean 'gelu/library_liger'?" in capsys.readouterr().err


def test_a_kernel_that_is_named_twice_is_taken_once() -> None:
    assert [kernel.spec.name for kernel in choose_kernels(scan(), ["softmax", "gelu", "softmax"])] == [
        "softmax",
        "gelu",
    ]


def test_a_broken_kernel_is_not_called_unknown(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "spec.py").write_text("SPEC = (")
    with pytest.raises(typer.Exit):
        choose_kernels(scan([tmp_path]), ["mine"])
    assert capsys.readouterr().err.strip() == "mine was left out, as said above; mend that first."


def test_an_unknown_device_is_answered_by_those_here(capsys: Capture) -> None:
    with pytest.raises(typer.Exit):
        choose_device((cpu_device(),), "gpu", cpu_device())
    assert capsys.readouterr().err.strip() == "There is no device 'gpu'; there is cpu."

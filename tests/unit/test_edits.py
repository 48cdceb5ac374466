"""Which implementations an edit concerns, on copies of real kernels."""

import shutil
from pathlib import Path

import pytest

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.edits import EditedKernels, Edits
from roofscope.profiling.planning.file_watch import Saved


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A copy of one kernel that has CUDA, Triton and eager versions."""
    folder = tmp_path / "mine" / "own_softmax"
    shutil.copytree(LIBRARY / "softmax", folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spec.py"
    spec.write_text(spec.read_text().replace('"softmax"', '"own_softmax"'))
    return folder


def look(folder: Path) -> Catalog:
    return scan([folder.parent])


def edit(folder: Path, *changes: tuple[str, str], known: EditedKernels | None = None) -> Edits:
    """What these saves bring: a file's name and its new text, or text to be added where it begins with +."""
    known = known or EditedKernels(look(folder))
    for name, text in changes:
        path = folder / name
        path.write_text(path.read_text() + text[1:] if text.startswith("+") else text)
    return known.take(look(folder), Saved(frozenset(folder / name for name, _ in changes)))


def stems(edits: Edits) -> set[str]:
    return {one.stem for one in edits.implementations}


def timed(folder: Path) -> set[str]:
    """All but torch.compile's."""
    [kernel] = look(folder).kernels
    return {one.stem for one in kernel.implementations if one.provider != "compile"}


def test_a_version_is_concerned_by_its_own_files(mine: Path) -> None:
    assert stems(edit(mine, ("triton_online.py", "+\n# edited\n"))) == {"triton_online"}
    cuda = next(path for path in sorted(mine.glob("cuda_*.cu")) if not path.name.startswith("cuda_ext_"))
    assert stems(edit(mine, (cuda.name, "+\n// edited\n"))) == {cuda.stem}
    assert stems(edit(mine, (f"{cuda.stem}.py", "+\n# edited\n"))) == {cuda.stem}


def test_eager_is_measured_and_the_builds_of_torch_compile_are_not(mine: Path) -> None:
    assert stems(edit(mine, ("eager.py", "+\n# edited\n"))) == {"eager"}


@pytest.mark.parametrize("name", ["reference.py", "spec.py"])
def test_what_judges_concerns_every_version(mine: Path, name: str) -> None:
    change = "+\n# edited\n" if name == "reference.py" else (mine / name).read_text().replace("1024", "2048")
    assert stems(edit(mine, (name, change))) == timed(mine)


def test_a_comment_in_a_spec_concerns_nothing(mine: Path) -> None:
    found = edit(mine, ("spec.py", "+\n# edited\n"))
    assert found == Edits(unchanged=("own_softmax/spec.py",))


def test_a_header_concerns_those_that_include_it_also_through_another(mine: Path) -> None:
    (mine / "far.cuh").write_text("// far\n")
    (mine / "near.cuh").write_text('#include "own_softmax/far.cuh"\n')
    first, *_ = cudas = sorted(path for path in mine.glob("cuda_*.cu") if "ext" not in path.name)
    assert len(cudas) > 1
    first.write_text(f'#include "own_softmax/near.cuh"\n{first.read_text()}')
    assert stems(edit(mine, ("far.cuh", "// other\n"))) == {first.stem}


def test_a_helper_that_nobody_names_concerns_all_that_may_use_it(mine: Path) -> None:
    (mine / "odd.py").write_text("A = 1\n")
    assert stems(edit(mine, ("odd.py", "A = 2\n"))) == timed(mine) - {"eager", "eager_steps"}


def test_a_python_helper_concerns_those_that_name_it(mine: Path) -> None:
    (mine / "widths.py").write_text("A = 1\n")
    version = mine / "triton_online.py"
    version.write_text(f"{version.read_text()}\n# load_module(... / 'widths.py')\n")
    assert stems(edit(mine, ("widths.py", "A = 2\n"))) == {"triton_online"}


def test_a_new_version_is_measured_and_one_that_is_gone_is_said(mine: Path) -> None:
    known = EditedKernels(look(mine))
    (mine / "triton_online.py").rename(mine / "triton_mine.py")
    saved = Saved(frozenset({mine / "triton_mine.py"}), frozenset({mine / "triton_online.py"}))
    found = known.take(look(mine), saved)
    assert stems(found) == {"triton_mine"}
    assert found.said == ("own_softmax/triton_online is gone; its points stay.",)
    assert known.take(look(mine), Saved()) == Edits()


def test_a_broken_spec_says_so_and_mending_it_measures_nothing(mine: Path) -> None:
    known, text = EditedKernels(look(mine)), (mine / "spec.py").read_text()
    found = edit(mine, ("spec.py", "def (:\n"), known=known)
    assert not found.implementations
    assert found.said == ("own_softmax/spec.py cannot be used: line 1: invalid syntax. Its points stay.",)
    assert not edit(mine, ("spec.py", text), known=known).implementations


def test_a_kernel_without_its_spec_is_said(mine: Path) -> None:
    known = EditedKernels(look(mine))
    (mine / "spec.py").unlink()
    found = known.take(look(mine), Saved(gone=frozenset({mine / "spec.py"})))
    assert found.said == ("own_softmax has lost a file that it needs; its points stay.",)


def test_a_file_saved_as_it_was_is_named(mine: Path) -> None:
    assert edit(mine, ("triton_online.py", "+")) == Edits(unchanged=("own_softmax/triton_online.py",))

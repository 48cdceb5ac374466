"""A folder that is broken is a problem of that folder: the kernels beside it stay."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from roofscope.profiling.planning import kernel_files
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.kernel_files import FileFault, printable, read_file
from roofscope.profiling.planning.survey import survey
from roofscope.tests.unit.test_catalog import EAGER, SPEC


def may_read_all() -> bool:
    """Whether no mode keeps a file from this user, as from root."""
    with tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0)
        return os.access(file.name, os.R_OK)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two kernels; the tests spoil ``bad``."""
    for name in ("bad", "good"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "spec.py").write_text(SPEC.replace('"doubled"', f'"{name}"'))
        (folder / "reference.py").write_text(EAGER)
        (folder / "eager.py").write_text(EAGER)
    return tmp_path


def names(catalog: Catalog) -> list[str]:
    return [kernel.spec.name for kernel in catalog.kernels]


@pytest.mark.parametrize(
    "name", [".#eager.py", "#eager.py", "eager.py~", "#eager.py#", ".eager.py.swp", "._eager.py"]
)
def test_what_editors_leave_is_no_code(root: Path, name: str) -> None:
    before = scan([root])
    (root / "bad" / name).symlink_to("user@host.1:2")
    (root / f".#{name}").mkdir()
    (root / f".#{name}" / "spec.py").write_text(SPEC)
    after = scan([root])
    assert after.problems == ()
    assert after.hash == before.hash


def as_folder(path: Path) -> None:
    path.mkdir()


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def as_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere.py")


def as_loop(path: Path) -> None:
    path.symlink_to(path.name)


def as_flood(path: Path) -> None:
    path.write_bytes(b"#" * (kernel_files.LARGEST_BYTES + 1))


ODD = [as_folder, as_pipe, as_device, as_dangling_link, as_loop, as_flood]


@pytest.mark.parametrize("make", ODD)
@pytest.mark.parametrize("name", ["spec.py", "reference.py"])
def test_without_its_spec_or_judge_a_kernel_is_left_out(
    root: Path, make: Callable[[Path], None], name: str
) -> None:
    (root / "bad" / name).unlink()
    make(root / "bad" / name)
    catalog = scan([root])
    assert names(catalog) == ["good"]
    [problem] = catalog.problems
    assert problem.message.startswith(f"bad/{name} cannot be used: ")


@pytest.mark.parametrize("make", ODD)
@pytest.mark.parametrize("name", ["eager.py", "util.py", "triton_tiles.py", "tiles.cuh", "cuda_ext_one.cu"])
def test_another_file_that_cannot_be_read_is_left_out(
    root: Path, make: Callable[[Path], None], name: str
) -> None:
    (root / "bad" / name).unlink(missing_ok=True)
    make(root / "bad" / name)
    catalog = scan([root])
    bad, _ = catalog.kernels
    assert [found.stem for found in bad.implementations if name.startswith(found.stem)] == []
    [problem] = catalog.problems
    assert problem.message.startswith(f"bad/{name} is left out: ")
    assert problem.path == str(root / "bad" / name)


def test_a_file_that_can_be_read_again_is_an_edit(root: Path) -> None:
    (root / "bad" / "util.py").symlink_to("nowhere.py")
    before = scan([root])
    (root / "bad" / "nowhere.py").write_text("")
    assert scan([root], before).problems == ()


@pytest.mark.skipif(may_read_all(), reason="root may read all")
@pytest.mark.parametrize("name", ["spec.py", "reference.py", "eager.py", "util.py", ""])
def test_what_may_not_be_read_is_said(root: Path, name: str) -> None:
    path = root / "bad" / name
    path.touch()
    path.chmod(0)
    catalog = scan([root])
    path.chmod(0o700)
    assert "good" in names(catalog)
    [problem] = catalog.problems
    assert "permission denied" in problem.message


def test_a_folder_that_may_not_be_listed_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the test before, for those who are root."""
    listed = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "bad":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    catalog = scan([root])
    assert names(catalog) == ["good"]
    assert [problem.message for problem in catalog.problems] == [
        f"{root / 'bad'} cannot be read: permission denied."
    ]


def test_names_that_are_not_utf_8_are_said_in_what_can_be_printed_and_stored(root: Path) -> None:
    (root / "bad" / os.fsdecode(b"helper\xff.py")).write_text("")
    shutil.copytree(root / "good", root / os.fsdecode(b"k\xff"))
    catalog = scan([root])
    assert names(catalog) == ["bad", "good"]
    messages = [problem.message for problem in catalog.problems]
    assert messages[0] == r"bad/helper\xff.py is left out: its name is not UTF-8."
    assert messages[1].endswith(r"k\xff is left out: its name is not UTF-8.")
    msgspec.json.encode(catalog.problems)


def test_a_folder_that_vanishes_in_mid_scan_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kernel_files.kernel_folders

    def then_vanish(path: Path) -> list[Path]:
        folders = found(path)
        shutil.rmtree(root / "bad")
        return folders

    monkeypatch.setattr("roofscope.profiling.planning.catalog.kernel_folders", then_vanish)
    catalog = scan([root])
    assert names(catalog) == ["good"]
    [problem] = catalog.problems
    assert "no such file" in problem.message


@pytest.mark.parametrize("root", [Path("/nonexistent/kernels"), Path("/dev/null")])
def test_a_root_that_cannot_be_listed_is_said(root: Path) -> None:
    [problem] = scan([root]).problems
    assert problem.message.startswith(f"{root} cannot be read: ")


def test_a_folder_of_too_many_files_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_files, "MOST_ENTRIES", 5)
    for number in range(4):
        (root / "bad" / f"notes{number}").touch()
    catalog = scan([root])
    assert names(catalog) == ["good"]
    assert "holds more than 5 files" in catalog.problems[0].message


def test_links_that_lead_round_end(root: Path) -> None:
    (root / "bad" / "again").symlink_to(root, target_is_directory=True)
    (root / "round").symlink_to(root, target_is_directory=True)
    catalog = scan([root])
    assert names(catalog) == ["bad", "good"]
    assert catalog.problems == ()


def test_a_kernel_whose_file_goes_is_not_unchanged(root: Path) -> None:
    kernel = scan([root]).kernel("bad")
    assert kernel
    for name in ("eager.py", "reference.py"):
        (root / "bad" / name).unlink()
        (root / "bad" / name).mkdir()
        assert not kernel.is_unchanged(kernel.implementations[0])


def test_a_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x" * kernel_files.LARGEST_BYTES)
    assert len(read_file(tmp_path / "a.py")) == kernel_files.LARGEST_BYTES
    with pytest.raises(FileFault, match="it is gone"):
        read_file(tmp_path / "b.py")


def test_control_characters_are_shown_as_escapes() -> None:
    assert printable("a\x1b[31m\nb") == r"a\x1b[31m\nb"
    assert printable("a\ud800b") == r"a\ud800b"
    assert printable(os.fsdecode(b"a\xff")) == r"a\xff"


def test_a_path_that_no_system_takes_is_a_problem_of_that_path(root: Path) -> None:
    """As somebody may have written it into the settings."""
    catalog = scan([Path("/nul\0"), Path("/half\ud800"), root])
    assert names(catalog) == ["bad", "good"]
    assert [problem.path for problem in catalog.problems] == [r"/nul\x00", r"/half\ud800"]
    for path in ("/nul\0", "/half\ud800"):
        with pytest.raises(FileFault):
            survey(Path(path))

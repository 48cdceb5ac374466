"""Code that a user's file names in strings only is shown, hashed and watched, or said not to be."""

from pathlib import Path

import pytest

from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.one_file.complete import keep
from roofscope.profiling.planning.one_file.parts import Parts, read_parts, running_files
from roofscope.tests.unit.test_own_files import FORM

BUILT = """
import ctypes, os
from pathlib import Path
from torch.utils.cpp_extension import load, load_inline
HERE = Path(__file__).parent
files = [str(HERE / "csrc" / "a.cu"), os.path.join(HERE, "b.cpp")]
built = load(name="built", sources=files)
other = load_inline(name="other", cpp_sources="", cuda_sources=(HERE / "c.cuh").read_text())
fast = ctypes.CDLL("libfast.so")
NOTES = "notes.txt"


def add(x, y):
    return built.add(x, y)
"""


def test_code_named_in_strings_is_shown_hashed_and_watched(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    names = ("csrc/a.cu", "b.cpp", "c.cuh", "libfast.so")
    for name in (*names, "notes.txt", "d.cu"):
        (tmp_path / name).write_text('#include "e.cuh"\n' if name == "csrc/a.cu" else "")
    (tmp_path / "csrc" / "e.cuh").write_text("")
    form = own_form(tmp_path, BUILT)
    shown = {str(path.relative_to(tmp_path)) for path in running_files(tmp_path / "add.py", "x + y")}
    assert shown == {"add.py", "csrc/e.cuh", *names}
    before = read_parts(form)
    assert before.warning == ""
    for name in (*names, "csrc/e.cuh"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "// edited\n")
        now = read_parts(form)
        assert source_hash_of(now) != source_hash_of(before), name
        before = now
    (tmp_path / "d.cu").write_text("// edited")
    assert source_hash_of(read_parts(form)) == source_hash_of(before)


@pytest.mark.parametrize(
    "line",
    [
        "load(name='x', sources=[f'{NAME}.cu'])",
        "load(name='x', sources=glob.glob('*'))",
        "load(name='x', sources=unknown)",
        "ctypes.CDLL(os.environ['LIBRARY'])",
    ],
)
def test_code_that_no_literal_names_is_said(tmp_path: Path, line: str) -> None:
    form = own_form(tmp_path, f"import ctypes\nbuilt = {line}\n\n\ndef add(x, y):\n    return x + y\n")
    assert "line 2 of add.py builds or loads code of files that no literal names" in read_parts(form).warning
    problems = [one.message for one in scan([form]).problems]
    assert any("an edit of them is not noticed" in text for text in problems)


def own_form(folder: Path, text: str) -> Path:
    (folder / "add.py").write_text(text)
    keep(FORM, folder / "add.roofscope.py")
    return folder / "add.roofscope.py"


def source_hash_of(parts: Parts) -> str:
    [own] = [one for one in parts.implementations if one.variant == "add"]
    return own.source_hash

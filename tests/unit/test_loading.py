"""What is executed of a kernel is the file that was listed and hashed."""

import inspect
import os
import py_compile
from pathlib import Path

import pytest

from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.kernel_files import FileFault
from roofscope.profiling.planning.loading import load_module
from roofscope.tests.unit.test_catalog import EAGER, SPEC

HONEST = "def run(x):\n    return x * 2\n"


def hide(path: Path, text: str) -> None:
    """Another program in ``__pycache__``, which Python takes for the file's without a look at the file."""
    own = path.read_text()
    path.write_text(text)
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    path.write_text(own)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels" / "doubled"
    folder.mkdir(parents=True)
    for name, text in (("spec.py", SPEC), ("reference.py", EAGER), ("eager.py", HONEST)):
        (folder / name).write_text(text)
    return folder


def test_a_compiled_file_beside_it_is_not_taken(kernel: Path) -> None:
    hide(kernel / "eager.py", "def run(x):\n    return x * 3\n")
    assert load_module(kernel / "eager.py").run(1) == 2


def test_nor_is_one_beside_a_spec(kernel: Path, tmp_path: Path) -> None:
    hide(kernel / "spec.py", f"open({str(tmp_path / 'ran')!r}, 'w')\n{SPEC}")
    assert [found.spec.name for found in scan([kernel]).kernels] == ["doubled"]
    assert not (tmp_path / "ran").exists()


def test_a_module_knows_its_file_and_its_source_can_be_read(kernel: Path) -> None:
    module = load_module(kernel / "eager.py")
    assert (module.__name__, module.__file__) == ("kernels.doubled.eager", str(kernel / "eager.py"))
    assert inspect.getsource(module.run) == HONEST  # as Triton reads it
    (kernel / "eager.py").write_text(f"\n\n{HONEST.replace('2', '44')}")
    assert inspect.getsourcelines(load_module(kernel / "eager.py").run)[1] == 3


def test_a_file_may_name_its_encoding(kernel: Path) -> None:
    (kernel / "eager.py").write_text("# coding: latin-1\nname = '\xe9'\n", encoding="latin-1")
    assert load_module(kernel / "eager.py").name == "\xe9"


def test_what_would_hang_its_reader_is_refused(kernel: Path) -> None:
    os.mkfifo(kernel / "triton_pipe.py")
    with pytest.raises(FileFault, match="no regular file"):
        load_module(kernel / "triton_pipe.py")

"""Work that a form states, derived from its reference."""

import functools
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.domain import outside
from roofscope.profiling.planning.one_file.complete import complete, keep
from roofscope.profiling.planning.one_file.draft import Asked, draft
from roofscope.profiling.planning.one_file.form import Form, form_path, read_form
from roofscope.profiling.planning.spec import Dtype, Workload


@functools.cache
def _derived(reference: str, *inputs: str) -> dict[str, str]:
    """The files of a form, by name: each takes a process that imports torch, and several tests ask for it."""
    names = ", ".join(word.partition("=")[0] for word in inputs)
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "f.py"
        source.write_text(f"def f({names}):\n    return x\n")
        form = complete(draft(Asked(source, (), reference, inputs, f"f({names})")), folder)
        keep(form, form_path(source))
        return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def form_of_call(folder: Path, reference: str, *inputs: str) -> Form:
    folder.mkdir(exist_ok=True)
    for name, text in _derived(reference, *inputs).items():
        (folder / name).write_text(text)
    return read_form(form_path(folder / "f.py"))


def kernel_in(folder: Path) -> Kernel:
    catalog = scan([folder / "f.roofscope.py"])
    assert catalog.problems == ()
    return catalog.kernels[0]


@pytest.mark.parametrize("dtype", [*Dtype])
def test_a_repeated_dimension_stays_one(tmp_path: Path, dtype: Dtype) -> None:
    form = form_of_call(tmp_path, "x * m", "x=4096x1024", "m=4096x1")
    assert form.inputs == {"x": "rows, cols", "m": "rows, 1"}
    assert set(form.outputs.values()) == {"rows, cols"}
    (odd,) = form.odd_sizes
    assert set(odd) == {"rows", "cols"}
    spec = kernel_in(tmp_path).spec
    work = spec.work_at(spec.presets[0].sizes, dtype)
    assert work.read_bytes == (4096 * 1024 + 4096) * dtype.itemsize
    assert work.write_bytes == 4096 * 1024 * dtype.itemsize
    assert spec.work_at(odd, dtype).write_bytes == odd["rows"] * odd["cols"] * dtype.itemsize


@pytest.mark.parametrize("dtype", [*Dtype])
def test_work_of_one_choice_of_sizes_is_right_in_every_type_and_holds_nowhere_else(
    tmp_path: Path, dtype: Dtype
) -> None:
    form = form_of_call(tmp_path, "x.reshape(64, 128) * 2 + i[0, 0]", "x=8192", "i=16x16:int64<9")
    assert form.odd_sizes == ()
    kernel = kernel_in(tmp_path)
    sizes = kernel.spec.presets[0].sizes
    work = kernel.spec.work_at(sizes, dtype)
    assert (work.read_bytes, work.write_bytes) == (8192 * dtype.itemsize + 8, 8192 * dtype.itemsize)
    other = {name: size * 2 for name, size in sizes.items()}
    for implementation in kernel.implementations:
        assert outside(implementation, Workload("f.py", dtype, sizes)) is None
        assert outside(implementation, Workload("f.py", dtype, other)) is not None


@pytest.mark.parametrize(
    ("was", "becomes"),
    [('"x + y"', '"x * 2 + y"'), ('"y": "n, n"', '"y": "n"'), ('"y": "n, n"', '"y": "n, n: int64"')],
)
def test_work_derived_before_an_edit_of_the_form_is_not_called_derived(
    tmp_path: Path, was: str, becomes: str
) -> None:
    form_of_call(tmp_path, "x + y", "x=64x64", "y=64x64")
    path = tmp_path / "f.roofscope.py"
    assert kernel_in(tmp_path).spec.work.derived
    assert was in path.read_text()
    path.write_text(path.read_text().replace(was, becomes))
    catalog = scan([path])
    (problem,) = catalog.problems
    assert "edited after FLOPS, READS and WRITES were derived" in problem.message
    assert not catalog.kernels[0].spec.work.derived


def test_formulas_hold_at_sizes_that_the_user_edits_and_numbers_do_not(tmp_path: Path) -> None:
    form = form_of_call(tmp_path, "x + y", "x=64x64", "y=64x64")
    assert not msgspec.structs.replace(form, sizes={"n": 128}).is_stale
    fixed = form_of_call(tmp_path / "fixed", "x.reshape(64, 128)", "x=8192")
    assert not fixed.is_stale
    assert msgspec.structs.replace(fixed, sizes={"n": 4096}).is_stale

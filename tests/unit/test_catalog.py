"""Adding a kernel touches one folder, and a broken one takes nothing else down."""

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from roofscope.profiling.planning import source_hash
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.spec import Provider, Tolerance

SPEC = """
from roofscope.profiling.planning.spec import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
SPEC = KernelSpec(
    name="doubled", title="Doubled", formula="y = 2x", axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),), outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula("n", "n*s", "n*s"), tolerance=Tolerance(1e-6, 1e-3, 1e-2),
    presets=(Preset("small", {"n": 4096}),), odd_sizes=({"n": 5},), large_magnitude=100.0,
)
"""
EAGER = "def run(x):\n    return x * 2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "doubled"
    folder.mkdir()
    (folder / "spec.py").write_text(SPEC)
    (folder / "reference.py").write_text(EAGER)
    (folder / "eager.py").write_text(EAGER)
    return folder


def only_kernel(root: Path) -> Kernel:
    [kernel] = scan([root]).kernels
    return kernel


def test_one_folder_is_one_kernel(folder: Path) -> None:
    kernel = only_kernel(folder.parent)
    assert [i.stem for i in kernel.implementations] == [
        "eager",
        "compile_default",
        "compile_reduce_overhead",
        "compile_max_autotune",
        "compile_max_autotune_no_cudagraphs",
    ]


def test_one_file_is_one_implementation_and_cuda_takes_a_pair(folder: Path) -> None:
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    (folder / "library_theirs.py").write_text("import not_installed")
    (folder / "cuda_packed.py").write_text("def run(program, x): ...")
    assert "cuda_packed" not in [i.stem for i in only_kernel(folder.parent).implementations]
    (folder / "cuda_packed.cu").write_text("// kernel")
    found = {i.stem: i.provider for i in only_kernel(folder.parent).implementations}
    assert found["cuda_packed"] is Provider.CUDA
    assert found["triton_tiles"] is Provider.TRITON
    assert found["library_theirs"] is Provider.LIBRARY


def test_eager_versions_may_be_several_and_one_is_compiled(folder: Path) -> None:
    (folder / "eager_by_addition.py").write_text("def run(x):\n    return x + x\n")
    kernel = only_kernel(folder.parent)
    other = kernel.implementation("eager_by_addition")
    assert other
    assert (other.provider, other.label) == (Provider.EAGER, "eager by addition")
    assert [source.name for source in kernel.sources(other)] == ["eager_by_addition.py"]
    plain, compiled = kernel.implementation("eager"), kernel.implementation("compile_default")
    assert plain
    assert compiled
    (folder / "eager_by_addition.py").write_text("def run(x):\n    return 2 * x\n")
    after = only_kernel(folder.parent)
    assert (after.implementation("eager"), after.implementation("compile_default")) == (plain, compiled)
    assert not kernel.is_unchanged(other)
    assert kernel.is_unchanged(plain)


def test_an_extension_is_one_file_and_needs_no_launcher(folder: Path) -> None:
    (folder / "cuda_ext_textbook.cu").write_text("// one")
    (folder / "cuda_external.cu").write_text("// a version for NVRTC, by its name")
    catalog = scan([folder.parent])
    [kernel] = catalog.kernels
    extension = kernel.implementation("cuda_ext_textbook")
    assert extension is not None
    assert (extension.provider, extension.variant) == (Provider.CUDA_EXT, "textbook")
    assert [source.name for source in kernel.sources(extension)] == ["cuda_ext_textbook.cu"]
    assert kernel.implementation("cuda_external") is None
    assert ["no launcher cuda_external.py" in problem.message for problem in catalog.problems] == [True]


def test_a_hash_follows_the_implementations_own_files(folder: Path) -> None:
    (folder / "cuda_packed.py").write_text("def run(program, x): ...")
    (folder / "cuda_packed.cu").write_text("// one")
    before = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    (folder / "cuda_packed.cu").write_text("// two")
    after = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    assert {stem for stem in before if before[stem] != after[stem]} == {"cuda_packed"}


def test_a_shared_file_is_part_of_each_that_may_use_it(folder: Path) -> None:
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    before = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    (folder / "tuning.py").write_text("CONFIGS = ()")
    after = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    assert {stem for stem in before if before[stem] != after[stem]} == {"triton_tiles"}


@pytest.mark.parametrize("name", ["spec.py", "reference.py", "eager.py", "autograd.py", "tuning.cuh"])
def test_an_edit_of_any_code_changes_the_catalogs_hash(folder: Path, name: str) -> None:
    before = scan([folder.parent]).hash
    assert scan([folder.parent]).hash == before
    with (folder / name).open("a") as file:
        file.write("# edited\n")
    assert scan([folder.parent]).hash != before


def test_an_edit_of_what_kernels_share_changes_the_catalogs_hash(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(source_hash, "SHARED", shared)
    before = scan([folder.parent]).hash
    (shared / "rows.py").write_text("WARP = 32\n")
    assert scan([folder.parent]).hash != before


def test_a_file_imported_from_another_kernel_is_part_of_who_imports_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_hash, "LIBRARY", tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "eager.py").write_text("from roofscope.kernels.other.deeper import half\n")
    (other / "deeper.py").write_text("half = 0.5\n")
    (folder / "eager.py").write_text("from roofscope.kernels.other.eager import half\n\n" + EAGER)
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    before = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    (other / "deeper.py").write_text("half = 0.25 * 2\n")
    after = {i.stem: i.source_hash for i in only_kernel(folder.parent).implementations}
    assert {stem for stem in before if before[stem] == after[stem]} == {"triton_tiles"}


@pytest.mark.parametrize(
    ("launcher", "source", "follows"),
    [
        ("def run(program, x): ...", '#include "other/rows.cuh"\n', {"rows.cuh", "deeper.cuh"}),
        ("from roofscope.kernels.other import plans\n", "// none\n", {"plans.py"}),
        ("from roofscope.kernels.other import (\n    plans as p,\n)\n", "// none\n", {"plans.py"}),
        ("def run(program, x): ...", "// none\n", set[str]()),
        # Named in ways that are not read: all that kernels share may be meant.
        ("import roofscope.kernels\n", "// none\n", {"shared.cuh"}),
        ("import importlib\nimportlib.import_module('x')\n", "// none\n", {"shared.cuh"}),
        ("def run(program, x): ...", "#include NAME\n", {"shared.cuh"}),
    ],
)
def test_an_edit_of_a_file_of_the_library_is_one_of_who_names_it(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    launcher: str,
    source: str,
    follows: set[str],
) -> None:
    library = tmp_path / "library"
    files = {"rows.cuh": '#include "other/deeper.cuh"\n', "deeper.cuh": "// one\n", "plans.py": "TILE = 64\n"}
    places = {name: library / "other" / name for name in files} | {
        "shared.cuh": library / "shared" / "shared.cuh"
    }
    for name, path in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.get(name, "// shared\n"))
    monkeypatch.setattr(source_hash, "LIBRARY", library)
    monkeypatch.setattr(source_hash, "SHARED", library / "shared")
    (folder / "cuda_packed.py").write_text(launcher)
    (folder / "cuda_packed.cu").write_text(source)

    def hashed() -> str:
        found = only_kernel(folder.parent).implementation("cuda_packed")
        assert found is not None
        return found.source_hash

    seen: set[str] = set()
    for name, path in places.items():
        before = hashed()
        path.write_text(path.read_text() + "// edited\n" if path.suffix == ".cuh" else "TILE = 32\n")
        if hashed() != before:
            seen.add(name)
    assert seen == follows


def test_a_spec_made_from_another_is_made_from_that_ones_file_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_now = scan().kernel("attention_causal")
    assert is_now is not None
    old = ModuleType("roofscope.kernels.attention.spec")
    vars(old).update(vars(importlib.import_module("roofscope.kernels.attention.spec")))
    vars(old)["SPEC"] = msgspec.structs.replace(vars(old)["SPEC"], tolerance=Tolerance(1.0, 1.0, 1.0))
    monkeypatch.setitem(sys.modules, "roofscope.kernels.attention.spec", old)
    found = scan().kernel("attention_causal")
    assert found is not None
    assert found.spec == is_now.spec


def test_sources_are_read_with_their_hashes(folder: Path) -> None:
    kernel = only_kernel(folder.parent)
    eager = kernel.implementation("eager")
    assert eager is not None
    assert [(source.name, source.text) for source in kernel.sources(eager)] == [("eager.py", EAGER)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SPEC = 1", "must define SPEC"),
        ("raise RuntimeError('half written')", "half written"),
        ("a = 1\ndef (", "cannot be used: line 2: "),
        ("", "cannot be used: AttributeError: "),
        ("from profiling.spec import Axis", "is imported from roofscope."),
        ("from kernels.shared.rows import are_packed", "is imported from roofscope."),
        ("import another.module", "ModuleNotFoundError: No module named 'another'."),
    ],
)
def test_a_broken_spec_is_told_and_left_out(folder: Path, text: str, words: str) -> None:
    broken = folder.parent / "broken"
    broken.mkdir()
    (broken / "spec.py").write_text(text)
    catalog = scan([folder.parent])
    assert [kernel.spec.name for kernel in catalog.kernels] == ["doubled"]
    [problem] = catalog.problems
    assert words in problem.message


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('("n",)', '("n")', "Expected array, got str - at inputs[0].shape"),
        ('title="Doubled"', "title=None", "Expected str, got null - at title"),
        ("odd_sizes=({", "odd_sizes=({'m': 3, ", "no axis 'm'"),
        ('{"n": 4096}', '{"n": "big"}', "Expected int, got str"),
        ('"n*s"', '"m*s"', "uses 'm', which is no axis (at n=4096)"),
        ('"n*s"', '"n//(n-n)"', "divides by zero"),
        ('"n*s"', '"n*1.5"', "is not integer arithmetic"),
        ('"n*s"', "1", "Expected str, got int"),
        ('("n",)', '("n-100",)', "negative dimension"),
    ],
)
def test_a_spec_that_could_not_be_planned_or_stored_is_told_and_left_out(
    folder: Path, right: str, wrong: str, words: str
) -> None:
    spec = folder / "spec.py"
    assert right in spec.read_text()
    spec.write_text(spec.read_text().replace(right, wrong, 1))
    catalog = scan([folder.parent])
    assert catalog.kernels == ()
    [problem] = catalog.problems
    assert problem.message.startswith("doubled/spec.py cannot be used: ")
    assert words in problem.message


def test_a_kernel_that_nothing_judges_is_told_and_left_out(folder: Path) -> None:
    (folder / "reference.py").unlink()
    catalog = scan([folder.parent])
    assert catalog.kernels == ()
    [problem] = catalog.problems
    assert problem.path == str(folder)
    assert "doubled has no reference.py" in problem.message


def test_a_source_without_its_launcher_is_told(folder: Path) -> None:
    (folder / "cuda_packed.cu").write_text("// kernel")
    [problem] = scan([folder.parent]).problems
    assert "no launcher cuda_packed.py" in problem.message


@pytest.mark.parametrize("name", ["triton_;rm -rf ~;.py", "triton_Mine.py", "cuda_a\nb.py", "eager_ä.py"])
def test_a_version_whose_name_no_version_may_have_is_told(folder: Path, name: str) -> None:
    (folder / name).write_text("def run(x): ...")
    catalog = scan([folder.parent])
    [problem] = catalog.problems
    assert problem.message.endswith("is left out: the name of an idea has a to z, 0 to 9 and _ alone.")
    assert problem.message.isprintable()


def test_the_library_itself_has_no_problem() -> None:
    catalog = scan()
    assert catalog.problems == ()
    names = {kernel.spec.name for kernel in catalog.kernels}
    assert {"vector_add", "weighted_sum", "gelu", "softmax", "matmul"} <= names


@pytest.mark.parametrize("edited", ["triton_tiles.py", "tuning.py", ""])
def test_a_kernel_knows_whether_its_files_are_those_of_the_hash(folder: Path, edited: str) -> None:
    (folder / "triton_tiles.py").write_text("def run(x): ...")
    (folder / "tuning.py").write_text("CONFIGS = ()")
    kernel = only_kernel(folder.parent)
    if edited:
        (folder / edited).write_text("# edited")
    unchanged = {found.stem for found in kernel.implementations if kernel.is_unchanged(found)}
    assert ("triton_tiles" in unchanged) == (not edited)
    assert "eager" in unchanged
    judge = folder / "reference.py"
    judge.write_text(f"{judge.read_text()}# edited")
    assert not any(map(kernel.is_unchanged, kernel.implementations))
    (folder / "eager.py").unlink()
    assert not kernel.is_unchanged(kernel.implementations[0])


def test_what_a_reference_imports_is_part_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention's gradients are judged by attention's own reference."""
    other = folder.parent / "other"
    other.mkdir()
    (other / "reference.py").write_text("FACTOR = 2\n")
    judge = folder / "reference.py"
    judge.write_text(f"from roofscope.kernels.other.reference import FACTOR\n{judge.read_text()}")
    monkeypatch.setattr(source_hash, "LIBRARY", folder.parent)
    kernel = only_kernel(folder.parent)
    assert kernel.is_unchanged(kernel.implementations[0])
    (other / "reference.py").write_text("FACTOR = 3\n")
    assert not kernel.is_unchanged(kernel.implementations[0])


def test_a_scan_gives_back_what_is_known_where_no_code_has_changed(folder: Path) -> None:
    known = scan([folder.parent])
    assert scan([folder.parent], known) is known
    (folder / "eager.py").write_text("# edited")
    assert scan([folder.parent], known) is not known


def test_a_name_that_exists_twice_is_said(folder: Path, tmp_path: Path) -> None:
    later = tmp_path / "later" / "doubled"
    shutil.copytree(folder, later)
    catalog = scan([folder.parent, later.parent])
    [kernel], [problem] = catalog.kernels, catalog.problems
    assert kernel.folder == later
    assert problem.message == f"doubled is there twice: {later} is used, {folder} is hidden."


def test_a_folder_named_twice_is_one(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.parent, target_is_directory=True)
    assert scan([folder.parent, folder, tmp_path / "link"]).problems == ()


def test_a_broken_folder_says_which_kernel_stands_for_it(folder: Path, tmp_path: Path) -> None:
    later = tmp_path / "later" / "doubled"
    later.mkdir(parents=True)
    (later / "spec.py").write_text("SPEC = 1")
    [problem] = scan([folder.parent, later.parent]).problems
    assert "must define SPEC" in problem.message
    assert problem.message.endswith(f"doubled stands for {folder} meanwhile.")


def test_what_a_scan_holds_against_a_pair_is_said_once(folder: Path) -> None:
    (folder / "cuda_packed.cu").write_text("// kernel")
    (folder / "cuda_packed.py").write_text("DOMAIN = 3\n")
    [problem] = scan([folder.parent]).problems
    assert "is no text" in problem.message

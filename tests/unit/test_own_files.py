"""One file of a user's, as it stands: what it offers, what is guessed, what is asked for, and its form."""

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.cli.errors import USAGE
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.kernel_files import FileFault, read_file
from roofscope.profiling.planning.one_file import complete as completing
from roofscope.profiling.planning.one_file.complete import keep, path_for
from roofscope.profiling.planning.one_file.cpp_offers import cpp_offers
from roofscope.profiling.planning.one_file.draft import (
    Asked,
    Missing,
    chosen_offers,
    draft,
    guessed_reference,
)
from roofscope.profiling.planning.one_file.form import (
    FormFault,
    form_of,
    form_path,
    form_text,
    read_form,
    tensor_of,
    tensor_text,
)
from roofscope.profiling.planning.one_file.offers import Kind
from roofscope.profiling.planning.one_file.parts import read_parts, running_files, survey_form
from roofscope.profiling.planning.one_file.slicing import needed_statements
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.planning.survey import survey_file
from roofscope.tests.own_forms import ADD as FORM

TUTORIALS = Path(__file__).parents[1] / "data" / "tutorials"


@pytest.mark.parametrize(
    ("file", "function", "kind", "reference"),
    [
        ("vector_add.py", "add", Kind.TRITON, "x + y"),
        ("fused_softmax.py", "softmax", Kind.TRITON, "fused_softmax.py:naive_softmax"),
        ("matmul.py", "matmul", Kind.TRITON, "a @ b"),
        (
            "layer_norm.py",
            "layer_norm",
            Kind.TRITON,
            "torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias)",
        ),
        ("gelu.cu", "gelu", Kind.EXTENSION, "torch.nn.functional.gelu(x, approximate='tanh')"),
        ("add_extension.cu", "add_cuda", Kind.EXTENSION, "a + b"),
        ("add_extension.cpp", "add", Kind.EXTENSION, "a + b"),
        ("vector_add.cu", "vectorAdd", Kind.BARE, "A + B"),
    ],
)
def test_a_tutorials_function_is_found_and_its_reference_guessed(
    file: str, function: str, kind: Kind, reference: str
) -> None:
    (offer,) = chosen_offers(TUTORIALS / file, ())
    assert (offer.name, offer.kind) == (function, kind)
    assert guessed_reference(TUTORIALS / file, offer) == reference


@pytest.mark.parametrize(
    ("file", "call", "inputs", "dtypes"),
    [
        ("vector_add.py", "add(x, y)", {"x": "n", "y": "n"}, tuple(Dtype)),
        ("fused_softmax.py", "softmax(x)", {"x": "n_rows, n_cols"}, tuple(Dtype)),
        ("matmul.py", "matmul(a, b)", {"a": "M, K", "b": "K, N"}, (Dtype.FLOAT16,)),
        (
            "layer_norm.py",
            "layer_norm(x, x.shape[-1:], weight, bias, 1e-5)",
            {"x": "M, N", "weight": "N", "bias": "N"},
            tuple(Dtype),
        ),
        ("gelu.cu", "gelu(x)", {"x": "n"}, (Dtype.FLOAT32,)),
        ("add_extension.cpp", "add(a, b)", {"a": "n", "b": "n"}, (Dtype.FLOAT32,)),
    ],
)
def test_the_call_and_the_inputs_are_guessed_of_the_file(
    file: str, call: str, inputs: dict[str, str], dtypes: tuple[Dtype, ...]
) -> None:
    source = TUTORIALS / file
    (offer,) = chosen_offers(source, ())
    made = draft(Asked(source, reference=guessed_reference(source, offer)))
    assert (made.form.call, made.form.inputs, made.form.dtypes) == (call, inputs, dtypes)
    assert made.was_guessed.startswith("--input ")


def test_a_bare_kernel_asks_for_its_launch_with_a_guess() -> None:
    source = TUTORIALS / "vector_add.cu"
    with pytest.raises(Missing) as caught:
        draft(Asked(source, reference="A + B"))
    assert (
        "add --grid 'cdiv(numElements, 256)' --block 256 --call 'vectorAdd(A, B, C, numElements)'"
    ) in str(caught.value)
    made = draft(Asked(source, reference="A + B", grid="cdiv(numElements, 256)", block="256"))
    assert made.written == ("C",)
    assert made.form.inputs == {"A": "numElements", "B": "numElements"}


def test_what_must_compute_it_is_asked_for_with_a_guess() -> None:
    with pytest.raises(Missing, match=r"--reference 'x \+ y'"):
        draft(Asked(TUTORIALS / "vector_add.py"))


def test_several_functions_are_listed_with_their_lines() -> None:
    with pytest.raises(Missing, match=r"softmax\(x\) on line 6 and softmax_in_half_steps\(x\) on line 11"):
        chosen_offers(TUTORIALS / "eager_softmax.py", ())
    assert [one.name for one in chosen_offers(TUTORIALS / "eager_softmax.py", ("softmax",))] == ["softmax"]


def test_a_function_that_is_not_there_is_said() -> None:
    with pytest.raises(FormFault, match="has no function 'nothing'"):
        chosen_offers(TUTORIALS / "vector_add.py", ("nothing",))


@pytest.mark.parametrize(
    ("words", "sizes", "texts"),
    [
        (
            ("x=4096x1024:bf16", "y=4096x1024"),
            {"rows": 4096, "cols": 1024},
            {"x": "rows, cols", "y": "rows, cols"},
        ),
        (("x=64", "y=64"), {"n": 64}, {"x": "n", "y": "n"}),
        (("y=64:int64<9", "x=64x8"), {"rows": 64, "cols": 8}, {"x": "rows, cols", "y": "rows: int64 < 9"}),
    ],
)
def test_inputs_are_read_as_they_are_written(
    words: tuple[str, ...], sizes: dict[str, int], texts: dict[str, str]
) -> None:
    made = draft(Asked(TUTORIALS / "vector_add.py", reference="x", inputs=words))
    assert (made.form.sizes, made.form.inputs) == (sizes, texts)
    assert made.form.dtypes[0] is (Dtype.BFLOAT16 if "bf16" in words[0] else Dtype.FLOAT32)


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("x", "is no tensor"),
        ("x=4:fp9", "no known element type"),
        ("x=4", "takes y too"),
        ("x=0", "no sizes"),
    ],
)
def test_an_input_that_cannot_be_is_said(word: str, fault: str) -> None:
    with pytest.raises(FormFault, match=fault):
        draft(Asked(TUTORIALS / "vector_add.py", reference="x + y", inputs=(word,)))


def test_a_product_of_matrices_has_three_axes() -> None:
    made = draft(Asked(TUTORIALS / "matmul.py", reference="a @ b", inputs=("a=8x4", "b=4x16")))
    assert made.form.inputs == {"a": "M, K", "b": "K, N"}
    assert made.form.sizes == {"M": 8, "K": 4, "N": 16}


def test_a_number_of_which_nothing_is_known_is_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "scaled.cu"
    source.write_text("__global__ void scaled(const float* x, float* y, float by, int n) { y[0] = by; }")
    with pytest.raises(Missing, match=r"takes by.*--call 'scaled\(x, y, by, n\)'"):
        draft(Asked(source, reference="2 * x", grid="1", block="1"))


# What of a Python file runs


def kept(source: str, *names: str) -> list[str]:
    return [ast.unparse(node) for node in needed_statements(ast.parse(source), names)]


def test_what_stands_below_the_functions_is_not_run() -> None:
    text = (TUTORIALS / "vector_add.py").read_text()
    run = "\n".join(kept(text, "add"))
    assert "def add(" in run
    assert "def add_kernel(" in run
    assert "DEVICE = " in run
    assert "def benchmark" not in run
    assert "print" not in run
    assert "torch.rand(" not in run


def test_names_of_a_function_itself_need_nothing_of_the_file() -> None:
    source = "import torch\nx = torch.rand(3)\nk = 2\ndef f(x):\n    y = [k for k in x]\n    return y\n"
    assert kept(source, "f") == ["def f(x):\n    y = [k for k in x]\n    return y"]


def test_settings_of_modules_are_kept_and_calls_of_the_files_own_are_not() -> None:
    source = "import os\nos.environ['A'] = '1'\ndef f():\n    return os\ndef g():\n    return 1\ng()\nf()\n"
    assert kept(source, "f")[:2] == ["import os", "os.environ['A'] = '1'"]
    assert len(kept(source, "f")) == 3


def test_what_a_definition_needs_is_run_before_it() -> None:
    source = "a = 1\nb = a\nc = 3\nif b:\n    def f():\n        return b\nelse:\n    f = None\n"
    assert [line.split()[0] for line in kept(source, "f")] == ["a", "b", "if"]


@pytest.mark.parametrize(
    "change",
    [
        "DATA.update(BLOCK=256)",
        "DATA['part'].append(3)",
        "DATA.part.mul_(3)",
        "DATA.view(-1).zero_()",
        "old = DATA.pop()",
        "DATA['a'] = made()",
        "DATA['a'] += made()",
        "DATA.a = made()",
        "del DATA['a']",
        "for b in (1, 2):\n    DATA.append(made(b))",
        "for one in DATA:\n    one.num_warps = 4",
        "with torch.no_grad():\n    DATA.fill_(made())",
        "if torch.cuda.is_available():\n    DATA.append(1)",
        "DATA.append(made())",
    ],
)
def test_what_changes_a_functions_data_is_run(change: str) -> None:
    before = "import torch\ndef made(b=1):\n    return b\nDATA = start()\n"
    source = f"{before}{change}\ndef f(x):\n    return x, DATA\n"
    run = kept(source, "f")
    assert change in run
    assert ("def made(b=1):\n    return b" in run) == ("made" in change)


def test_what_changes_a_part_of_the_data_under_another_name_is_run() -> None:
    source = "DATA = {'a': {}}\npart = DATA['a']\npart['b'] = 2\ndef f():\n    return DATA\n"
    assert len(kept(source, "f")) == 4


@pytest.mark.parametrize(
    "statement",
    [
        "RESULTS.append(f(1))",
        "f.warmup(1)",
        "f[1](2)",
        "print(DATA.sum())",
        "bench.run(print_data=True)",
        "for n in (1, 2):\n    RESULTS.append(f(n))",
        "for n in (1, 2):\n    print(f(n))",
        "y = f(DATA)",
    ],
)
def test_what_calls_the_function_or_changes_other_data_is_not_run(statement: str) -> None:
    source = f"RESULTS = []\nDATA = [1]\ndef bench():\n    pass\ndef f(x):\n    return x, DATA\n{statement}\n"
    assert kept(source, "f") == ["DATA = [1]", "def f(x):\n    return (x, DATA)"]


# C++


def test_a_kernel_in_a_comment_or_only_declared_is_none() -> None:
    source = (
        "// __global__ void a(float* x) {}\n__global__ void b(float* x);\n"
        'const char* s = "__global__ void c(int* x) {}";\n'
        'extern "C" __global__ void __launch_bounds__(256, 2) '
        "d(const float* __restrict__ x, float* y, int n = 3)\n{ }\n"
    )
    (offer,) = cpp_offers(source)
    assert (offer.name, offer.line) == ("d", 4)
    assert [(p.name, p.type, p.default) for p in offer.parameters] == [
        ("x", "const float* __restrict__", ""),
        ("y", "float*", ""),
        ("n", "int", "3"),
    ]


def test_functions_of_tensors_come_before_the_kernels_that_they_launch() -> None:
    source = (
        "template <typename T> __global__ void k(const T* x, T* y) { y[0] = x[0]; }\n"
        "void f(const torch::Tensor& x, at::Tensor y, double eps) { }\n"
        "static int helper(int a) { return a; }\n"
    )
    (offer,) = cpp_offers(source)
    assert (offer.name, offer.kind, offer.returns) == ("f", Kind.EXTENSION, False)
    assert [parameter.is_tensor for parameter in offer.parameters] == [True, True, False]


_LONG = 1 << 20


@pytest.mark.parametrize(
    "text",
    [
        "/* " * (_LONG // 3),
        "__global__ void f(" * (_LONG // 18),
        "__global__ __launch_bounds__(" * (_LONG // 29),
        "static " * (_LONG // 7) + "__global__ void f(int* x) {",
        "__global__ void f(int* x) {" * (_LONG // 27),
        "void f(torch::Tensor x, " * (_LONG // 24),
        "void f(torch::Tensor x) {" * (_LONG // 25) + "}" * (_LONG // 25),
        "std::tuple<Tensor,Tensor" * (_LONG // 24),
        "template <typename T> " * (_LONG // 22),
        "__global__ void f(int " + "a " * (_LONG // 2) + ") {}",
        "\"'" * (_LONG // 2),
    ],
    ids=range(11),
)
def test_a_file_that_is_not_trusted_yet_is_read_in_as_many_steps_as_it_is_long(text: str) -> None:
    """Where an end is looked for from each beginning, this test hangs."""
    assert len(cpp_offers(text)) <= 200


def test_an_unclosed_comment_hides_what_follows_it() -> None:
    source = "__global__ void a(int* x) {}\n/* __global__ void b(int* x) {}\n__global__ void c(int* x) {}\n"
    assert [offer.name for offer in cpp_offers(source)] == ["a"]


def test_a_template_and_what_stands_before_a_kernel_are_read() -> None:
    source = (
        "template <class T>\n"
        "static inline __global__ void k(T* x, int n) { if (n > 0) { x[0] = 1; } } // end\n"
    )
    (offer,) = cpp_offers(source)
    assert (offer.name, offer.template, offer.line) == ("k", "T", 2)
    assert offer.body == "{ if (n > 0) { x[0] = 1; } "


# The form


def test_a_form_is_read_as_it_was_written() -> None:
    assert form_of(form_text(FORM)) == FORM


def test_each_line_of_a_form_is_explained() -> None:
    text = form_text(FORM)
    assert text.startswith('"""How Roofscope measures add.py.')
    assert text.count("\n# ") >= 8
    compile(text, "add.roofscope.py", "exec")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import os", "line 1: it is read and never run"),
        ('FILE = open("x")', "line 1: FILE must be a plain value"),
        ("FILE = (", "line 1: "),
        ('FILE = "a.py"', "missing required field"),
        (form_text(FORM) + "COLOUR = 3\n", "unknown field"),
        (form_text(FORM).replace('"n": 1000', '"n": "many"'), "Expected int"),
    ],
)
def test_a_form_that_cannot_be_used_says_why(text: str, fault: str) -> None:
    with pytest.raises(FormFault) as caught:
        form_of(text)
    assert fault.lower() in str(caught.value).lower()


@pytest.mark.parametrize("text", ["rows, cols", "n", "rows: int64 < cols", "n: float32"])
def test_a_tensor_is_written_as_it_is_read(text: str) -> None:
    assert tensor_text(tensor_of("x", text)) == text


def test_the_forms_of_add_py_and_add_cu_are_two() -> None:
    assert form_path(Path("add.py")).name == "add.roofscope.py"
    assert form_path(Path("add.cu")).name == "add.cu.roofscope.py"


def form_in(folder: Path, source: str = "def add(x, y):\n    return x + y\n", /, **changes: object) -> Path:
    (folder / "add.py").write_text(source)
    path = folder / "add.roofscope.py"
    text = form_text(FORM)
    for name, value in changes.items():
        text = "\n".join(
            f"{name.upper()} = {value!r}" if line.startswith(f"{name.upper()} =") else line
            for line in text.splitlines()
        )
    path.write_text(text)
    return path


def test_a_form_is_a_kernel_of_the_file_with_eager_and_compiled_versions(tmp_path: Path) -> None:
    catalog = scan([form_in(tmp_path)])
    assert catalog.problems == ()
    (kernel,) = catalog.kernels
    assert kernel.spec.name == "add.py"
    stems = [found.stem for found in kernel.implementations]
    assert stems[:2] == ["eager", "compile_default"]
    assert stems[-1] == "eager_add"
    own = kernel.implementations[-1]
    assert (own.label, own.provider) == ("eager add", Provider.EAGER)
    assert [source.name for source in kernel.sources(own)] == ["add.py"]
    assert kernel.paths(own) == (tmp_path / "add.py",)


def test_an_edit_of_the_file_is_an_edit_of_its_version_alone(tmp_path: Path) -> None:
    before = scan([form_in(tmp_path)])
    (kernel,) = before.kernels
    assert scan([tmp_path / "add.roofscope.py"], before) is before
    (tmp_path / "add.py").write_text("def add(x, y):\n    return y + x\n")
    (edited,) = scan([tmp_path / "add.roofscope.py"], before).kernels
    assert edited.implementation("eager") == kernel.implementation("eager")
    assert edited.implementation("eager_add") != kernel.implementation("eager_add")
    assert not kernel.is_unchanged(kernel.implementations[-1])
    assert kernel.is_unchanged(kernel.implementations[0])


def test_an_edit_of_a_file_that_it_imports_is_an_edit_too(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def two():\n    return 2\n")
    source = "from helper import two\ndef add(x, y):\n    return x + y\n"
    before = scan([form_in(tmp_path, source)]).hash
    (tmp_path / "helper.py").write_text("def two():\n    return 3\n")
    assert scan([tmp_path / "add.roofscope.py"]).hash != before


def test_another_reference_is_another_judge(tmp_path: Path) -> None:
    first = read_parts(form_in(tmp_path)).judge
    assert read_parts(form_in(tmp_path, reference="x - -y")).judge != first


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"call": "plus(x, y)"}, "has no function 'plus'; it has add"),
        ({"file": "../add.py"}, "must be the name of a file beside the form"),
        ({"file": "gone.py"}, "its file gone.py cannot be read"),
        ({"reference": "gone.py:f"}, "its reference gone.py cannot be read"),
        ({"reference": "add.py:f"}, "its reference add.py has no function 'f'"),
        ({"inputs": {"x": "m", "y": "n"}}, "'m'"),
    ],
)
def test_a_form_that_does_not_fit_its_file_is_left_out(
    tmp_path: Path, changes: dict[str, object], fault: str
) -> None:
    catalog = scan([form_in(tmp_path, **changes)])
    assert catalog.kernels == ()
    (problem,) = catalog.problems
    assert fault in problem.message


def test_a_form_that_its_user_edited_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "add.roofscope.py"
    keep(FORM, path)
    keep(FORM, path)
    path.write_text(form_text(FORM) + "# mine\n")
    with pytest.raises(FormFault, match="was edited"):
        keep(FORM, path)
    assert path.read_text().endswith("# mine\n")


def test_another_function_has_a_form_of_its_own(tmp_path: Path) -> None:
    path = form_in(tmp_path)
    assert path_for(tmp_path / "add.py", ()) == path
    assert path_for(tmp_path / "add.py", ("add",)) == path
    assert path_for(tmp_path / "add.py", ("twice",)).name == "add.twice.roofscope.py"


def test_a_form_that_cannot_be_written_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(completing.Path, "write_text", full)
    with pytest.raises(FormFault, match="No space left on device"):
        keep(FORM, tmp_path / "add.roofscope.py")


def test_a_file_that_others_may_write_is_not_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text("")
    (tmp_path / "helper.py").write_text("")
    found = survey_file(path, [tmp_path / "helper.py"])
    assert not found.is_open
    assert found.kernels[0].files == ("add.py", "helper.py")
    (tmp_path / "helper.py").chmod(0o666)
    assert survey_file(path, [tmp_path / "helper.py"]).is_open
    assert not survey_file(path).is_open
    assert read_form(form_in(tmp_path)) == FORM


# What runs with a file

PACKAGE = {
    "ops/__init__.py": "",
    "ops/k.py": "from . import deep\nfrom .deep.leaf import x\n",
    "ops/deep/__init__.py": "",
    "ops/deep/leaf.py": "x = 1\n",
    "tuning.py": "",
    "sib.py": "",
    "lazy.py": "",
    "other.py": "",
}
IMPORTS = (
    "import os, tuning\nfrom . import sib\nfrom ops.k import f\n"
    "import importlib\ndef add(x, y):\n    importlib.import_module('lazy')\n    return x + y\n"
)


def package_in(folder: Path) -> Path:
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return form_in(folder, IMPORTS)


def test_all_that_a_file_imports_runs_with_it_and_nothing_else(tmp_path: Path) -> None:
    package_in(tmp_path)
    found = {str(path.relative_to(tmp_path)) for path in running_files(tmp_path / "add.py", "")}
    assert found == {"add.py", *PACKAGE} - {"other.py"}


def test_a_package_that_others_may_write_is_not_ones_own(tmp_path: Path) -> None:
    form = package_in(tmp_path)
    assert not survey_form(form).is_open
    (tmp_path / "ops").chmod(0o777)
    assert survey_form(form).is_open


@pytest.mark.parametrize("name", ["ops/__init__.py", "ops/k.py", "ops/deep/leaf.py", "tuning.py", "sib.py"])
def test_an_edit_in_a_package_is_an_edit_of_the_file(tmp_path: Path, name: str) -> None:
    form = package_in(tmp_path)
    before = scan([form])
    (tmp_path / name).write_text("y = 2\n")
    assert scan([form], before).hash != before.hash
    assert not before.kernels[0].is_unchanged(before.kernels[0].implementations[-1])


def test_a_compiled_module_stands_before_its_source(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "helper.so").write_bytes(b"\x7fELF")
    form_in(tmp_path, "import helper\ndef add(x, y):\n    return x + y\n")
    names = {path.name for path in running_files(tmp_path / "add.py", "")}
    assert names == {"add.py", "helper.py", "helper.so"}


def test_a_file_in_a_package_is_found_by_the_packages_name(tmp_path: Path) -> None:
    home = tmp_path / "pkg"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "helper.py").write_text("")
    form_in(home, "from pkg.helper import x\ndef add(x, y):\n    return x + y\n")
    found = {str(path.resolve().relative_to(tmp_path)) for path in running_files(home / "add.py", "")}
    assert found == {"pkg/add.py", "pkg/__init__.py", "pkg/helper.py"}


def test_more_files_than_can_be_looked_at_are_refused(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / f"m{number}.py").write_text("")
    lines = "".join(f"import m{number}\n" for number in range(501))
    form = form_in(tmp_path, lines + "def add(x, y):\n    return x + y\n")
    (problem,) = scan([form]).problems
    assert "more than 500 files beside it would run with it" in problem.message
    with pytest.raises(FormFault, match="more than 500 files"):
        survey_form(form)


# Two files of one name


def two_of_one_name(folder: Path) -> list[Path]:
    for name in ("a", "b"):
        (folder / name).mkdir()
    return [form_in(folder / "a"), form_in(folder / "b")]


def test_of_two_files_of_one_name_the_hidden_one_is_said(tmp_path: Path) -> None:
    first, second = two_of_one_name(tmp_path)
    catalog = scan([first, second])
    assert [kernel.form for kernel in catalog.kernels] == [second]
    (problem,) = catalog.problems
    assert problem.message == f"add.py is there twice: {second} is used, {first} is hidden."
    (second.parent / "add.py").unlink()
    catalog = scan([first, second])
    assert [kernel.form for kernel in catalog.kernels] == [first]
    (problem,) = catalog.problems
    assert problem.message.endswith(f"; add.py stands for {first} meanwhile.")


def test_two_files_of_one_name_are_refused_in_one_run(tmp_path: Path) -> None:
    words = [str(form.parent / "add.py") for form in two_of_one_name(tmp_path)]
    out = tmp_path / "s.roofscope"
    found = CliRunner().invoke(cli, ["run", *words, "--device", "cpu", "--out", str(out)])
    assert found.exit_code == USAGE
    assert "both make a kernel named add.py; name one of them in each run" in found.stderr
    assert not out.exists()


# Forms that no Python can read


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (r'FILE = "a\0.py"', "no file can have this name"),
        (r'FILE = "a\ud800.py"', "no file can have this name"),
        (r'CALL = "add(x, \ud800)"', "Python cannot read it"),
        (r'REFERENCE = "r\0.py:f"', "cannot be shown"),
    ],
)
def test_a_form_with_impossible_characters_is_a_problem_of_its_own(
    tmp_path: Path, line: str, fault: str
) -> None:
    (tmp_path / "good").mkdir()
    good, bad = form_in(tmp_path / "good"), form_in(tmp_path).rename(tmp_path / "bad.roofscope.py")
    name = line.partition(" ")[0]
    lines = [line if one.startswith(f"{name} =") else one for one in bad.read_text().splitlines()]
    bad.write_text("\n".join(lines))
    catalog = scan([bad, good])
    assert [kernel.form for kernel in catalog.kernels] == [good]
    (problem,) = catalog.problems
    assert fault in problem.message


@pytest.mark.parametrize("sign", ["-", "("])
def test_a_file_that_is_nested_too_deeply_is_a_problem_of_its_own(tmp_path: Path, sign: str) -> None:
    catalog = scan([form_in(tmp_path, sign * 100_000 + "1\n")])
    assert catalog.kernels == ()
    (problem,) = catalog.problems
    assert "Python cannot read add.py" in problem.message


def test_a_name_that_no_file_can_have_is_a_fault_of_the_file() -> None:
    with pytest.raises(FileFault, match="no file can have this name"):
        read_file(Path("a\0.py"))

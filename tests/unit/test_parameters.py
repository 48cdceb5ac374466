"""Declared constants of an implementation: what a file may declare, and what a run makes of them."""

import ast
from pathlib import Path

import pytest

from roofscope import Choice
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.edited_jobs import edited_jobs
from roofscope.profiling.planning.grid import MOST_VARIANTS, parse_settings, variants, with_settings
from roofscope.profiling.planning.loading import load_module, load_names
from roofscope.profiling.planning.parameters import (
    Parameter,
    ParameterError,
    carried,
    macro_text,
    put_values,
    read_parameters,
)
from roofscope.profiling.planning.plan import Job, PlanError, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.tests.worker.toys import add_toy

IMPORT = "from roofscope import Choice\n"
TUNED = f"""{IMPORT}
BLOCK = Choice(64, 128, 256)
WARPS: int = Choice(4, 8, default=8)
GRID = BLOCK * WARPS


def run(x, block=BLOCK):
    return x * 2
"""


def found(source: str, name: str = "triton_x.py") -> dict[str, tuple[object, ...]]:
    return {one.name: one.choices for one in read_parameters(name, source)}


def toy(tmp_path: Path, tuned: str = TUNED) -> Kernel:
    folder = tmp_path / "toy"
    if not folder.exists():
        add_toy(tmp_path, "toy", "def run(x):\n    return x * 2\n")
    (folder / "eager_tuned.py").write_text(tuned)
    kernel = scan([tmp_path]).kernel("toy")
    assert kernel
    return kernel


def tuned_of(kernel: Kernel) -> Implementation:
    one = kernel.implementation("eager_tuned")
    assert one
    return one


def jobs_of(kernel: Kernel, *stems: str) -> tuple[Job, ...]:
    sizes = [SizeChoice("small", or_any=True)]
    return plan_jobs([kernel], device="cpu", dtypes=[Dtype.FLOAT32], size_choices=sizes, stems=stems)


def test_by_itself_a_choice_is_its_default() -> None:
    assert Choice(64, 128, 256) == 64
    assert Choice("rows", "cols", default="cols") == "cols"
    assert Choice(True, False) is True


@pytest.mark.parametrize(
    ("choices", "default", "fault"),
    [
        ((), None, "no choices"),
        ((1, 2.0), None, "several types"),
        ((1, True), None, "several types"),
        ((64, 64), None, "twice"),
        ((64, 128), 32, "none of its choices"),
        (("a b", "c"), None, "letters, digits"),
        ((float("nan"), 1.0), None, "must be a number"),
        ((2**70, 1), None, "64 bits"),
        (tuple(range(65)), None, "64 are the most"),
    ],
)
def test_what_is_no_choice_is_refused_alone_and_in_a_file(
    choices: tuple[int, ...], default: int | None, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        Choice(*choices, default=default)
    if "nan" in repr(choices):
        return  # no literal
    given = f", default={default}" if default is not None else ""
    with pytest.raises(ParameterError, match=fault):
        read_parameters("a.py", f"{IMPORT}X = Choice({', '.join(map(repr, choices))}{given})\n")


def test_declarations_are_read_from_the_source_and_never_run() -> None:
    hostile = f"import no_such_package\nraise SystemExit\n{IMPORT}"
    assert found(f"{hostile}BLOCK = Choice(64, 128)\n") == {"BLOCK": (64, 128)}
    assert found("import roofscope as r\nX: int = r.Choice(-1, 2)\n") == {"X": (-1, 2)}
    wrapped = (
        "from roofscope import Choice as Any\nimport triton.language as tl\nX = tl.constexpr(Any(1, 2))\n"
    )
    assert found(wrapped) == {"X": (1, 2)}
    assert found("from random import Choice\nX = Choice(1, 2)  # of roofscope\n") == {}
    assert found("from roofscope import Choice\nX = Choice(1, 2\n") == {}  # its build says so


def test_a_choice_that_no_name_at_the_top_has_is_refused_with_its_line() -> None:
    with pytest.raises(ParameterError, match="on line 3 is assigned to no name"):
        read_parameters("a.py", f"{IMPORT}def run(x):\n    return x * Choice(2, 3)\n")
    with pytest.raises(ParameterError, match="X on line 2 has a choice that is no plain number"):
        read_parameters("a.py", f"{IMPORT}X = Choice(4 * 4, 32)\n")
    with pytest.raises(ParameterError, match="declares the parameter X twice"):
        read_parameters("a.py", f"{IMPORT}X = Choice(4, 32)\nX = Choice(1, 2)\n")


def test_a_source_in_cpp_declares_in_a_comment() -> None:
    source = "// BLOCK = Choice(128, 256, default=256)\n#ifndef BLOCK\n#define BLOCK 256\n#endif\n"
    (block,) = read_parameters("gelu.cu", source)
    assert (block.choices, block.default, block.value) == ((128, 256), 256, 256)
    with pytest.raises(ParameterError, match="BLOCK on line 1 is no Choice"):
        read_parameters("gelu.cu", "// BLOCK = Choice(128\n")
    assert macro_text(True) == "1"
    assert macro_text(0.5) == "0.5"


def test_a_module_has_the_chosen_values_when_it_runs_on_the_lines_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "triton_x.py"
    path.write_text(TUNED)
    block, warps = read_parameters(path.name, TUNED)
    module = load_module(path, (block.chosen(256), warps))
    assert (module.BLOCK, module.WARPS, module.GRID) == (256, 8, 2048)
    assert module.run.__defaults__ == (256,)
    assert module.run.__code__.co_firstlineno == TUNED.splitlines().index("def run(x, block=BLOCK):") + 1
    assert load_module(path).GRID == 64 * 8
    assert vars(load_names(path, ["GRID"], (block.chosen(128), warps)))["GRID"] == 1024


def test_a_wrapped_choice_keeps_what_wraps_it() -> None:
    source = "from roofscope import Choice\nX = tuple(Choice('a', 'b'))\n"
    tree = ast.parse(source)
    (x,) = read_parameters("a.py", source)
    put_values(tree, [x.chosen("b")])
    assert ast.unparse(tree.body[1]) == "X = tuple('b')"


def test_the_catalog_knows_them_and_a_wrong_declaration_costs_its_file_alone(tmp_path: Path) -> None:
    kernel = toy(tmp_path)
    assert [one.text for one in tuned_of(kernel).parameters] == ["BLOCK=64", "WARPS=8"]
    wrong = toy(tmp_path, f"{IMPORT}X = Choice(1, 2.0)\n")
    assert wrong.implementation("eager_tuned") is None
    assert wrong.implementation("eager")
    assert "eager_tuned.py is left out: its parameter X on line 2 has choices of several types" in str(
        wrong.left_out
    )


def test_values_other_than_the_default_are_another_variant_by_key_and_label(tmp_path: Path) -> None:
    kernel = toy(tmp_path)
    declared = tuned_of(kernel)
    assert declared.key == "toy/eager_tuned"
    block, warps = declared.parameters
    chosen = declared.with_parameters((block.chosen(128), warps))
    assert chosen.key == "toy/eager_tuned BLOCK=128"
    assert chosen.label == "eager tuned BLOCK=128"
    assert chosen.stem == declared.stem
    assert chosen.declared == declared
    assert kernel.is_unchanged(chosen)
    assert kernel.sources(chosen) == kernel.sources(declared)


def test_settings_make_a_variant_of_each_combination_in_the_same_job(tmp_path: Path) -> None:
    kernel = toy(tmp_path)
    (job,) = with_settings(jobs_of(kernel), parse_settings(["block=64,256", "WARPS=all"]))
    assert [one.name for one in job.implementations if one.stem == "eager_tuned"] == [
        "eager_tuned WARPS=4",
        "eager_tuned",
        "eager_tuned BLOCK=256 WARPS=4",
        "eager_tuned BLOCK=256",
    ]
    assert [one.stem for one in job.implementations if one.stem != "eager_tuned"] == [
        "eager",
        "compile_default",
    ]
    assert len(variants(tuned_of(kernel), parse_settings(["all"]))) == 6
    assert len(variants(tuned_of(kernel), parse_settings(["all", "BLOCK=128"]))) == 2
    assert with_settings(jobs_of(kernel), ()) == jobs_of(kernel)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["BLOCK=512"], "eager_tuned declares BLOCK=64, 128 or 256; '512' is none of them."),
        (
            ["BLOK=64"],
            "None of the versions chosen declares a parameter 'BLOK': eager_tuned has BLOCK, WARPS.",
        ),
        (["BLOCK"], "'BLOCK' sets no parameter; write it like BLOCK=64,128 or all."),
        (["BLOCK=64,"], "'BLOCK=64,' sets no parameter"),
        (["BLOCK=64", "block=128"], "block is set twice"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(
    tmp_path: Path, options: list[str], sentence: str
) -> None:
    with pytest.raises(PlanError) as caught:
        with_settings(jobs_of(toy(tmp_path)), parse_settings(options))
    assert sentence in str(caught.value)


def test_a_grid_beyond_bounds_is_refused_with_how_to_narrow_it(tmp_path: Path) -> None:
    many = (
        f"{IMPORT}A = Choice{tuple(range(9))}\nB = Choice{tuple(range(8))}\ndef run(x):\n    return x * 2\n"
    )
    kernel = toy(tmp_path, many)
    with pytest.raises(PlanError) as caught:
        with_settings(jobs_of(kernel), parse_settings(["all"]))
    assert str(caught.value) == (
        f"toy/eager_tuned comes to 72 combinations (9 of A x 8 of B); {MOST_VARIANTS} are the most in a run. "
        "Name fewer values, as in A=0,1."
    )
    with pytest.raises(PlanError, match="declares a parameter; `roofscope list`"):
        with_settings(jobs_of(kernel, "eager"), parse_settings(["all"]))


def test_an_edit_measures_the_variants_that_were_measured_as_far_as_they_are_declared(tmp_path: Path) -> None:
    kernel = toy(tmp_path)
    jobs = with_settings(jobs_of(kernel, "eager_tuned"), parse_settings(["BLOCK=128,256"]))
    (tmp_path / "toy" / "eager_tuned.py").write_text(TUNED.replace("64, 128, 256", "64, 128, 512"))
    edited = scan([tmp_path])
    again = edited.kernel("toy")
    assert again
    (job,) = edited_jobs([tuned_of(again)], jobs, edited, "cpu", 9).jobs
    assert [one.values for one in job.implementations] == [
        "BLOCK=128",
        "",
    ]  # 256 is no choice any more
    assert {one.source_hash for one in job.implementations} == {tuned_of(again).source_hash}


def test_values_are_carried_by_name() -> None:
    before = (Parameter("A", (1, 2), 1, 2), Parameter("B", (1, 2), 1, 2))
    now = (Parameter("B", (2, 3), 3, 3), Parameter("C", (1, 2), 1, 1))
    assert [one.value for one in carried(now, before)] == [2, 1]


def test_an_implementation_without_parameters_is_as_it_was() -> None:
    one = Implementation("softmax", Provider.TRITON, "online", "a" * 64)
    assert (one.key, one.name, one.values, one.declared) == ("softmax/triton_online", one.stem, "", one)

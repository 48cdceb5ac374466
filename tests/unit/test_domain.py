"""At which sizes an implementation works: what its file may state, and what follows."""

from pathlib import Path

import pytest

from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.domain import DomainError, is_inside, outside, read_domain
from roofscope.profiling.planning.formula import FormulaError, condition_fault, evaluate, holds
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.tests.sessions import make_session
from roofscope.tests.worker.toys import add_toy

SPEC = make_session().specs["softmax"]
EAGER = "def run(x):\n    return x * 2\n"


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("n % 8 == 0", True),
        ("n % 7 == 0", False),
        ("64 <= n <= 4096", True),
        ("64 <= n < 64", False),
        ("n == 64 or n // 0 == 1", True),
        ("n != 64 and n // 0 == 1", False),
        ("not n < 64 and (m > n or m*s % 16 == 0)", True),
    ],
)
def test_conditions_compare_integer_arithmetic(condition: str, is_met: bool) -> None:
    assert holds(condition, {"n": 64, "m": 4, "s": 4}) is is_met
    assert condition_fault(condition, {"n", "m", "s"}) is None


@pytest.mark.parametrize(
    "condition",
    [
        *("n % 8", "n", "True", "n in (1, 2)", "n is 8", "n % 8 == 0.5", "n == 'a'", "f(n) == 1", "n ==", ""),
        *("n.real == 1", "n[0] == 1", "n == 64 or __import__('os')", "k == 1", "n if n else n == 1"),
        *("(n := 3) == 3", "lambda: n == 1", "n & 7 == 0", "n < 9 < m.x"),
    ],
)
def test_anything_else_is_refused_wherever_it_stands(condition: str) -> None:
    """Also where ``and`` or ``or`` would not reach it."""
    fault = condition_fault(condition, {"n", "m"})
    assert fault is not None
    assert fault.endswith(".")


def test_a_formula_takes_no_memory_beyond_reason() -> None:
    with pytest.raises(FormulaError, match="exponent"):
        evaluate("9**9**9", {})
    assert evaluate("2**30 % 7", {}) == 2**30 % 7


def test_a_domain_is_read_from_the_source_and_never_run() -> None:
    hostile = "import no_such_package\nraise SystemExit\n"
    assert read_domain("triton_x.py", f'{hostile}DOMAIN = "cols % 8 == 0"\n', SPEC) == "cols % 8 == 0"
    assert read_domain("triton_x.py", 'DOMAIN: str = ("cols % 8 == 0"\n  " and rows > 1")', SPEC) == (
        "cols % 8 == 0 and rows > 1"
    )
    assert read_domain("triton_x.py", "def run(x):\n    DOMAIN = 3\n", SPEC) == ""
    assert read_domain("triton_x.py", "def run(x:\n", SPEC) == ""
    assert read_domain("triton_x.py", "x\n" * 2**18, SPEC) == ""
    assert read_domain("cuda_ext_x.cu", '// DOMAIN = "cols % 8 == 0"\nint x;\n', SPEC) == "cols % 8 == 0"
    assert read_domain("cuda_ext_x.cu", "int x;\n", SPEC) == ""


def test_a_file_too_long_to_be_parsed_states_none() -> None:
    """A million statements would take a gigabyte."""
    with pytest.raises(DomainError, match="more than 256 KiB"):
        read_domain("triton_x.py", 'DOMAIN = "cols > 1"\n' + "x\n" * 2**18, SPEC)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("DOMAIN = 8", "line 1 is no text"),
        ("DOMAIN = 'a' + 'b'", "line 1 is no text"),
        ("DOMAIN = ' '", "is empty"),
        ("DOMAIN = 'n % 8 == 0'", "'n', which is no axis"),
        ("DOMAIN = 'cols % 8'", "is no condition"),
    ],
)
def test_a_domain_that_cannot_be_used_says_why(line: str, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        read_domain("triton_x.py", line, SPEC)


def test_a_workload_outside_gets_one_sentence() -> None:
    one = Implementation("softmax", Provider.TRITON, "packed", "hash", "cols*s % 16 == 0")
    inside = Workload("softmax", Dtype.FLOAT32, {"rows": 3, "cols": 4})
    beyond = Workload("softmax", Dtype.BFLOAT16, {"rows": 3, "cols": 4})
    assert outside(one, inside) is None
    assert outside(one, beyond) == (
        "softmax / Triton packed takes only cols*s % 16 == 0, "
        "which rows=3, cols=4 in bf16 (s=2) does not meet."
    )
    assert not is_inside("cols // rows > 1", {"rows": 0, "cols": 4}, Dtype.FLOAT32)
    assert is_inside("", {"rows": 0, "cols": 4}, Dtype.FLOAT32)


def scanned(root: Path) -> Kernel:
    [kernel] = scan([root]).kernels
    return kernel


def test_the_catalog_keeps_the_domain_of_each_file(tmp_path: Path) -> None:
    folder = add_toy(tmp_path, "toy", f'DOMAIN = "n > 3"\n{EAGER}')
    (folder / "triton_tiles.py").write_text('DOMAIN = "n % 16 == 0"\n')
    (folder / "library_theirs.py").write_text('DOMAIN = "n % 32 == 0"\n')
    (folder / "cuda_packed.cu").write_text('// DOMAIN = "n > 99"\n')  # of a pair, the launcher states it
    (folder / "cuda_packed.py").write_text('DOMAIN = "n % 8 == 0"\n')
    (folder / "cuda_ext_taught.cu").write_text('// DOMAIN = "n % 4 == 0"\n')
    (folder / "triton_any.py").write_text(EAGER)
    domains = {found.stem: found.domain for found in scanned(tmp_path).implementations}
    assert domains["eager"] == domains["compile_default"] == "n > 3"
    assert domains["triton_tiles"] == "n % 16 == 0"
    assert domains["library_theirs"] == "n % 32 == 0"
    assert domains["cuda_packed"] == "n % 8 == 0"
    assert domains["cuda_ext_taught"] == "n % 4 == 0"
    assert domains["triton_any"] == ""


def test_a_file_with_a_bad_domain_is_left_out_and_the_rest_stays(tmp_path: Path) -> None:
    folder = add_toy(tmp_path, "toy", EAGER)
    (folder / "triton_tiles.py").write_text('DOMAIN = "m % 16 == 0"\n')
    catalog = scan([tmp_path])
    assert catalog.kernels[0].implementation("eager") is not None
    assert catalog.kernels[0].implementation("triton_tiles") is None
    [problem] = catalog.problems
    assert problem.path == str(folder / "triton_tiles.py")
    assert problem.message == (
        "toy/triton_tiles.py is left out: its DOMAIN cannot be used: "
        "The formula 'm % 16 == 0' uses 'm', which is no axis."
    )

"""Rules of advice that read the recorded source: what is double in CUDA, and what multiplies matrices."""

import pytest
from msgspec.structs import replace

from roofscope.profiling.analysis.advice.case import Case
from roofscope.profiling.analysis.advice.doubles import Doubles, double_lines
from roofscope.profiling.analysis.advice.tensor_cores import multiplies_matrices, tensor_cores
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.roofline.roofline import Bound
from roofscope.tests.sessions import DEVICE
from roofscope.tests.unit.test_advice import cases, constructed, judge


@pytest.mark.parametrize(
    ("line", "is_double"),
    [
        ("y[i] = 0.5 * v;", True),
        ("y[i] = 0.5f * v;", False),
        ("double sum = 0;", True),
        ("const float scale = 0.5;", False),  # the compiler converts it
        ("// 0.5 * v in double", False),
        ('asm("fma.rn.f64 0.5 * x");', False),
        ("#define X 0.5 * 2", False),
        ("y = v / 3.;", True),
        ("y = v1.x * 2;", False),
        ("y = 1e-6f + v;", False),
        ("void f(double eps);", False),
        ("void f(float* y, const double eps) { y[0] = rsqrtf(v + (float)eps); }", False),
        ("void f(float* y, double eps) { y[0] = rsqrtf(v + static_cast<float>(eps)); }", False),
        ("void f(double eps = 1e-5, int n) { const float e = eps; y[n] = e * 2; }", False),
        ("void f(double eps) { y[0] = v + eps; }", True),
        ("void f(int n, double eps) {\n  y[n] = eps * v;\n}", True),
        ("void f(double eps) { y[0] = sqrt(v, eps); }", True),
        ("void f(double eps) { g((float)eps); } void h(float eps) { y = eps * v; }", False),
        ("void f(const double* p) { y = p[0] * 2; }", True),
        ("void f(const double* p) { g(p + 2); }", False),
        ("n = sizeof(double) * 4;", False),
        ("return (double)x * y;", True),
        ("s += static_cast<double>(x) * y;", True),
        ("for (double x = 0; x < 1; x += h) {}", True),
        ("double a, b;", True),
    ],
)
def test_what_is_double_in_cuda(line: str, is_double: bool):
    assert bool(double_lines(line)) is is_double


def test_of_our_library_only_what_means_to_is_in_double():
    found = {path.stem for path in LIBRARY.rglob("*.cu*") if double_lines(path.read_text(encoding="utf-8"))}
    assert found == {"cuda_naive", "cuda_textbook", "cuda_ext_textbook"}


def test_double_lines_are_counted_from_one():
    source = "void f(\n  double eps) {\n  float e = 1;\n  y = e + eps;\n}\n"
    assert double_lines(source) == (4,)


@pytest.mark.parametrize(("capability", "floats"), [((9, 0), 2), ((7, 5), 32), ((8, 0), 2), ((8, 6), 64)])
def test_floats_a_double_follow_the_lanes_of_the_device(capability: tuple[int, int], floats: float):
    session, point, made = constructed()
    session.origins, session.device = (), replace(DEVICE, compute_capability=capability)
    found = judge(session, point, replace(made, build=BuildInfo(0.1, double_instructions=18)))
    [rule] = [each for each in found.all if isinstance(each, Doubles)]
    assert rule.floats_a_double == floats


@pytest.mark.parametrize(
    ("name", "text", "multiplies"),
    [
        ("eager.py", "def run(x, w):\n    return x @ w", True),
        ("eager.py", "y = x.float()@w", True),
        ("eager.py", "y = torch.bmm(x, w)", True),
        ("eager.py", "y = x.mm(w)", True),
        ("eager.py", "y = torch.addmm(b, x, w)", True),
        ("eager.py", "y = torch.baddbmm(b, x, w)", True),
        ("eager.py", "y = torch._scaled_mm(x, w)", True),
        ("eager.py", "y = torch.einsum('ij,jk->ik', x, w)", True),
        ("eager.py", "y = F.scaled_dot_product_attention(q, k, v)", True),
        ("eager.py", "y = torch.nn.functional.linear(x, w)", True),
        ("triton_tiles.py", "s = tl.dot(a, b, s)", True),
        ("triton_tiles.py", "s = tl.dot_scaled(a, b)", True),
        ("triton_tiles.py", "@triton.jit\ndef f(gamma, comma):\n    pass", False),
        ("triton_tiles.py", "# y = x @ w\ny = (x * w).sum()", False),
        ("triton_tiles.py", '"""Like x @ w."""\ny = gamma * summary(x)', False),
        ("library_x.py", "from flash_attn import flash_attn_func", True),
        ("cuda_ffma.cu", "y = gamma * x + Emma; // mma", False),
        ("cuda_mma.cu", 'asm("mma.sync.aligned.m16n8k16")', True),
        ("cuda_mma.cu", 'asm("wgmma.mma_async")', True),
        ("cuda_mma.cu", "wmma::load_matrix_sync(a, p, 16);", True),
        ("cuda_mma.cu", "ldmatrix(); hmma_16816(a);", True),
        ("cuda_mma.cu", "using namespace cutlass;", True),
    ],
)
def test_what_multiplies_matrices(name: str, text: str, multiplies: bool):
    assert multiplies_matrices(SourceFile(name, "", text)) is multiplies


def test_of_our_products_all_but_the_plain_ones_multiply_matrices():
    files = [path for path in (LIBRARY / "matmul").glob("*.*") if path.suffix in (".py", ".cu")]
    own = [path for path in files if path.stem not in ("spec", "reference") and path.suffix != ".py"]
    lacking = {p.stem for p in own if not multiplies_matrices(SourceFile(p.name, "", p.read_text()))}
    # These three name their instructions in a header that they share.
    in_headers = {"cuda_mma", "cuda_wgmma", "cuda_tf32x3_loose"}
    assert lacking - in_headers == {"cuda_ffma", "cuda_ffma_tma", "cuda_naive", "cuda_tiles"}


@pytest.mark.parametrize(
    ("name", "text", "fires"),
    [
        ("cuda_x.cu", "#include <cuda_fp16.h>\ny = a * b;", True),
        ("cuda_x.cu", '#include "shared/ampere.cuh"\nmultiply(a, b);', False),
        ("triton_x.py", "import triton", True),
        ("triton_x.py", "from roofscope.kernels.shared.persistent_matmul import multiply", False),
        ("triton_x.py", "from .helper import multiply", False),
    ],
)
def test_what_stands_in_files_that_are_not_recorded_is_not_known(name: str, text: str, fires: bool):
    """At a fifth of the float units' rate the source decides."""
    session, found = cases("h200-tour")
    case = found.of(next(point for point in session.points if point.number == 61))
    assert case is not None
    slow = slowed_to(replace(case, sources=(SourceFile(name, "", text),)), 0.2)
    assert bool(tensor_cores(slow)) is fires


def slowed_to(case: Case, share: float) -> Case:
    """At this share of what the plain float units do."""
    floats, rate = case.roofline.best(Bound.FP32), case.point.achieved_flop_rate
    assert floats is not None
    assert rate is not None
    timed = replace(case.measured.time, median_s=case.time_s * rate / (share * floats.value))
    outcome = replace(case.measured, time=timed)
    return replace(case, point=replace(case.point, outcome=outcome), measured=outcome)


@pytest.mark.parametrize(("share", "fires"), [(0.03, True), (0.019, False)])
def test_a_product_too_slow_for_any_unit_has_another_cause_first(share: float, fires: bool):
    session, found = cases("h200-tour")
    case = found.of(next(point for point in session.points if point.number == 63))
    assert case is not None
    rule = tensor_cores(slowed_to(case, share))
    assert bool(rule) is fires
    assert not (rule and rule.is_near_floats)

"""Readable names of kernels: those of recorded traces, and any text at all."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.profiling.traces.columns import Category
from roofscope.profiling.traces.inductor_names import operators
from roofscope.profiling.traces.reading import open_trace
from roofscope.profiling.traces.short_names import LONGEST, short_name, short_names
from roofscope.tests.public_files import DATA

TRACES = DATA / "traces"
KNOWN = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)": "elementwise add fp32",
    "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN": "nvjet 128x256x64 bf16 cluster 2x1 NTN",
    "nvjet_sm90_hss_320x128_64x3_1x2_h_bz_coopB_TNN": "nvjet 320x128x64 hss cluster 1x2 TNN",
    "triton_poi_fused_add_mul_0": "fused add, mul (pointwise)",
    "triton_red_fused__to_copy_mean_pow_12": "fused _to_copy, mean, pow (reduction)",
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 64, 64, 4, 0, 0, "
    "cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<128, 64, 64, 4, cutlass::bfloat16_t>>, 0, 1>"
    "(pytorch_flash::Flash_fwd_params)": "FlashAttention fwd head 128, 64x64 bf16",
    "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_ttt_align8": (
        "cutlass sm90 gemm fp16 128x128x64 ttt"
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(P)": (
        "cutlass sm80 gemm bf16 256x128x32 tn"
    ),
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nt_align1>(": "cutlass sm80 gemm fp32 64x64x8 nt",
    "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32_warpgroupsize1x1x1_execute_kernel__5x_cublas": (
        "xmma gemm tf32 64x128x32 nn"
    ),
    "sm90_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_g1_x": (
        "xmma convolution dgrad fp16 256x64x32"
    ),
    "ampere_sgemm_128x64_nn": "ampere gemm fp32 128x64 nn",
    "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn": "ampere gemm bf16 64x64 tn",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (
        "NCCL AllReduce Sum bf16 RING LL"
    ),
    "Memcpy HtoD (Pageable -> Device)": "copy, pageable to device",
    "Memset (Device)": "fill, device",
    "softmax_online_kernel": "softmax_online",
    "_ZN7cutlass6KernelINS_4conv6kernel38ImplicitGemm": "Kernel",
    "": "(no name)",
}
RECORDED = {
    "cuDNN attention forward 64x128x64 sm90",
    "elementwise gelu backward bf16",
    "elementwise copy fp32 to bf16",
    "elementwise mul fp32",
    "reduce mean fp32",
    "multi-tensor fused adam bf16",
    "vectorized_layer_norm bf16",
    "CatArrayBatchedCopy",
    "nvjet 256x128x64 bf16 cluster 1x2 bias TNT",
}


@pytest.mark.parametrize("full", KNOWN)
def test_names_that_are_known(full: str) -> None:
    assert short_name(full) == KNOWN[full]


def kernels_of(name: str) -> list[str]:
    slices = (trace := open_trace(TRACES / f"{name}.json.gz")).slices
    at_work = np.flatnonzero(slices.category <= Category.MEMSET).tolist()
    return sorted({trace.name_of(at) for at in at_work})


def test_kernels_of_a_recorded_block_are_readable() -> None:
    found = short_names(kernels_of("block-eager"))
    assert set(found) >= RECORDED
    assert not [name for name in found if "<" in name or "::" in name]


def test_the_type_is_that_of_what_is_read() -> None:
    """Functors of bfloat16 add up in float32."""
    names = {
        full: short_name(full) for full in kernels_of("operators") if "BinaryFunctor<c10::BFloat16" in full
    }
    assert names
    assert all(short.endswith("bf16") for short in names.values())


@pytest.mark.parametrize("name", ["block-eager", "block-compiled", "operators"])
def test_two_kernels_of_a_trace_have_two_names(name: str) -> None:
    full = kernels_of(name)
    found = short_names(full)
    assert len(set(found)) == len(full)
    assert max(map(len, found)) <= LONGEST


def test_what_tells_names_apart_is_in_them() -> None:
    ending = "elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
    found = short_names([f"void at::native::{kind}_{ending}" for kind in ("vectorized", "unrolled")])
    assert found == ["elementwise add fp32 [vectorized]", "elementwise add fp32 [unrolled]"]


def test_operators_of_a_fused_kernel() -> None:
    assert operators("add_native_layer_norm_native_layer_norm_backward_view") == [
        "add",
        "native_layer_norm",
        "native_layer_norm_backward",
        "view",
    ]
    assert operators("_softmax__softmax_backward_data_mul") == ["_softmax", "_softmax_backward_data", "mul"]


ANY = st.one_of(
    st.text(),
    st.sampled_from(sorted(KNOWN)).flatmap(
        lambda full: st.tuples(st.integers(0, len(full)), st.text()).map(
            lambda cut: full[: cut[0]] + cut[1] + full[cut[0] :]
        )
    ),
    st.from_regex(r"(void )?[a-z:_<>(){}~ ,0-9]{0,60}", fullmatch=True),
)


@given(ANY)
@example("void at::native::vectorized_elementwise_kernel<")
@example("nvjet_")
@example("_ZN999abc")
@example("\x00\x1b[31m\n")
@example("<" * 5000)
def test_any_text_has_a_short_name(full: str) -> None:
    found = short_name(full)
    assert 0 < len(found) <= LONGEST
    assert found.strip()
    assert not [letter for letter in found if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]


@given(st.lists(ANY, max_size=12))
@example(["a<1>", "a<2>", "a [1]", "a [2]"])
@example(["k()", "k( )", "k"])
def test_different_names_stay_different(full: list[str]) -> None:
    found = short_names(full)
    assert len(found) == len(full)
    assert len(set(zip(full, found, strict=True))) == len(set(full)) == len(set(found))
    assert all(found)
    assert max(map(len, found), default=0) <= LONGEST


def test_trace_open_prints_short_names_and_full_ones_on_demand() -> None:
    path, wide = str(TRACES / "block-eager.json.gz"), {"COLUMNS": "400"}
    short = CliRunner().invoke(cli, ["trace", "open", path], env=wide).stdout
    assert "elementwise gelu backward bf16" in short
    assert "at::native" not in short
    full = CliRunner().invoke(cli, ["trace", "open", path, "--full-names"], env=wide).stdout
    assert "at::native::GeluBackwardCUDAKernelImpl" in full
    document = CliRunner().invoke(cli, ["trace", "open", path, "--json"]).stdout
    assert '"short_name": "elementwise gelu backward bf16"' in document
    assert "at::native::GeluBackwardCUDAKernelImpl" in document


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("kernel_cutlass__add_tensorptrbf16gmemalign16o8i6418_tensorptrbf16gmemalign16o8i6418__8_0", "_add"),
        ("kernel_cutlass__multiply_CopyAtom_ThrID10_TVLayoutSrc1819201_tensor00odiv81110_0", "_multiply"),
        ("kernel_cutlass_my_tensor_add_tensorptrf32gmemalign16o4i6414__4_0", "my_tensor_add"),
    ],
)
def test_kernels_of_the_cute_dsl_have_the_names_of_their_file(full: str, short: str) -> None:
    assert short_name(full) == short

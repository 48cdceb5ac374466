"""What torch.compile calls the kernels that Inductor fused: ``triton_poi_fused_add_mul_0``."""

import re

_FUSED = re.compile(
    r"triton_(?P<kind>poi|red|per|tem|for|foreach|spl|mix)_fused_(?P<names>\w+?)_(?P<number>\d+)"
)
_KINDS = {
    "poi": "pointwise",
    "red": "reduction",
    "per": "persistent reduction",
    "tem": "template",
    "for": "foreach",
    "foreach": "foreach",
    "spl": "split scan",
    "mix": "mixed",
}
# ATen's names of several words: the separator of the list is a letter of the names.
_NAMES = """
_adaptive_avg_pool2d _cdist_forward _fused_rms_norm _index_put_impl _local_scalar_dense _log_softmax
_native_batch_norm_legit _native_batch_norm_legit_functional _scaled_dot_product_cudnn_attention
_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention _scaled_mm _softmax
_to_copy _unsafe_index _unsafe_index_put _unsafe_view addmm_activation as_strided avg_pool2d
bitwise_and bitwise_not bitwise_or clamp_max clamp_min constant_pad_nd convert_element_type
cross_entropy_loss device_put div_mod embedding_dense fill_ floor_divide full_like hardtanh
index_add index_put index_select inductor_random inductor_seeds layer_norm leaky_relu log_softmax
logical_and logical_not logical_or logical_xor masked_fill max_pool2d max_pool2d_with_indices
mse_loss native_batch_norm native_dropout native_group_norm native_layer_norm new_full new_ones
new_zeros nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward ones_like prepare_softmax_online
rms_norm scatter_add select_scatter silu_and_mul slice_scatter softmax_online split_with_sizes
upsample_bilinear2d upsample_nearest2d zeros_like
"""
_WORDS = sorted((tuple(name.split("_")) for name in re.findall(r"\w+", _NAMES)), key=len, reverse=True)
_BEHIND = ("backward", "backward_data")  # belongs to the name before it
_VIEWS = (
    "view _unsafe_view permute select unsqueeze squeeze expand t transpose reshape as_strided slice alias"
)
_WITHOUT_WORK = frozenset(re.findall(r"\w+", _VIEWS))
_LONGEST = 60


def inductor_name(text: str) -> str:
    """``fused add, mul (pointwise)``; "" for any other kernel. Views are left out where room is short."""
    found = _FUSED.fullmatch(text)
    if not found:
        return ""
    names = operators(found["names"])
    working = [name for name in names if name not in _WITHOUT_WORK] or names
    kind = _KINDS[found["kind"]]
    room = _LONGEST - len(f"fused  ({kind})")
    shown = names if len(", ".join(names)) <= room else working
    joined = ", ".join(name.removeprefix("native_") for name in shown)
    if len(joined) > room:
        joined = f"{joined[: room - 1].rstrip(', ')}…"
    return f"fused {joined} ({kind})"


def operators(joined: str) -> list[str]:
    """The operators of a list whose separator also stands in the names; in doubt each word is one."""
    words, names = joined.split("_"), list[str]()
    while words:
        found = next((name for name in _WORDS if tuple(words[: len(name)]) == name), (words[0],))
        del words[: len(found)]
        name = "_".join(found)
        for behind in _BEHIND[::-1]:
            size = behind.count("_") + 1
            if name and words[:size] == behind.split("_"):
                name = f"{name}_{behind}"
                del words[:size]
        if name:
            names.append(name)
    return names

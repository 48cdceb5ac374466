"""What NVIDIA's libraries, CUTLASS, FlashAttention and NCCL call their kernels.

The element types of nvjet (cuBLAS since 12.9) are those of recorded matmuls: `tst` ran bfloat16, `hsh`
float16 and `qqtst` float8 e4m3 with bfloat16 results. Its tile's depth and number of stages
follow from the shared memory that its kernels ask for. CUTLASS's names: "Profiler" of its documentation.
The CuTe DSL appends the types of the arguments to the name that a function has in its file.
"""

import re
from collections.abc import Callable

_NVJET = re.compile(
    r"nvjet_(?:sm\d+_)?(?P<types>[a-z]+)_(?P<tile>\d+x\d+)_(?P<depth>\d+)x\d+_(?P<cluster>\d+x\d+)_?(?P<rest>\w*)"
)
_CUTE = re.compile(r"kernel_cutlass_(?P<name>\w+?)_(?:tensor(?:ptr|\d)|Ptr[a-z]|CopyAtom_|TiledM)\w*")
_NVJET_TYPES = {"tst": "bf16", "hsh": "fp16", "qqtst": "fp8 e4m3 to bf16"}
_CUTLASS = re.compile(r"cutlass(?:3x)?_(?:sm)?(?P<chip>\d+)_(?P<unit>\w*?tensorop|simt)_(?P<rest>\w+)")
_XMMA = re.compile(r"sm\d+_xmma_(?P<what>[a-z]+)_(?P<rest>\w+)")
_XMMA_TYPES = re.compile(r"(?:(?:tf|bf|f|s|u)\d+|e\dm\d){2}")
_XMMA_TILE = re.compile(r"(?:(?P<layout>[nt]{2})_[nt]_)?tilesize(?P<tile>\d+x\d+x\d+)")
_OLDER = re.compile(r"(?P<chip>maxwell|volta|turing|ampere)_(?P<rest>\w*gemm\w*)")
_TYPES = {
    "bf16": "bf16",
    "f16": "fp16",
    "fp16": "fp16",
    "tf32": "tf32",
    "f32": "fp32",
    "fp32": "fp32",
    "f64": "fp64",
    "e4m3": "fp8 e4m3",
    "e5m2": "fp8 e5m2",
    "s8": "int8",
    "u8": "uint8",
}
_BLAS = {"sgemm": "fp32", "hgemm": "fp16", "dgemm": "fp64"}
_WORKS = {"fprop": "convolution", "dgrad": "convolution dgrad", "wgrad": "convolution wgrad"}
_TILE = re.compile(r"(?<![0-9a-z])(\d+x\d+(?:x\d+)?)(?:_(\d+)x\d+)?(?![0-9a-z])")
_LAYOUT = re.compile(r"_([nt]{2,3})(?:_|\Z)")
_SDPA = re.compile(
    r"cudnn_generated_\w*?sdpa_(?P<chip>sm\d+)_\w*?(?P<way>[fb]prop)\w*?_(?P<tile>\d+x\d+x\d+)_"
)
_FLASH = re.compile(r"\bflash_(?P<what>(?:fwd|bwd)\w*?)_kernel\b")
_FLASH_TRAITS = re.compile(r"Flash_\w+_traits<(\d+), (\d+), (\d+), \d+.*?cutlass::(bfloat16|half)_t")
_EFFICIENT = re.compile(r"fmha_cutlass(?P<way>[FB])_(?P<type>\w+?)_\w*?aligned_(?P<tile>\d+x\d+)")
_NCCL = re.compile(r"nccl(?:Dev)?Kernel_(?P<what>\w+)")
_CUDNN = re.compile(r"(?:void )?cudnn::(?:\w+::)*(?P<what>\w+)")


def library_name(text: str) -> str:
    """An empty text where the name is of no form that is known here."""
    return next(filter(None, (rule(text) for rule in _RULES)), "")


def _nvjet(text: str) -> str:
    found = _NVJET.match(text)
    if not found:
        return ""
    kept = [
        each
        for each in found["rest"].split("_")
        if each in ("bias", "splitK") or re.fullmatch("[NT]{3}", each)
    ]
    types = _NVJET_TYPES.get(found["types"], found["types"])
    return f"nvjet {found['tile']}x{found['depth']} {types} cluster {found['cluster']} {' '.join(kept)}"


def _cutlass(text: str) -> str:
    found = _CUTLASS.search(text)
    if not found:
        return ""
    rest = found["rest"]
    return f"cutlass sm{found['chip']} {_work(rest)} {_element(rest)} {_tile(rest)} {_layout(rest)}"


def _xmma(text: str) -> str:
    """Types stand as those of A and B, then what the pipe multiplies, then the result."""
    found = _XMMA.match(text)
    tile = _XMMA_TILE.search(found["rest"]) if found else None
    if not found or not tile:
        return ""
    types = [word for word in found["rest"].split("_") if _XMMA_TYPES.fullmatch(word)][:2]
    pipe = re.match(r"tf32|bf16|f16|f32|f64|s8|u8|e4m3|e5m2", types[-1]) if types else None
    what = _WORKS.get(found["what"], found["what"])
    return f"xmma {what} {_TYPES[pipe[0]] if pipe else ''} {tile['tile']} {tile['layout'] or ''}"


def _older(text: str) -> str:
    found = _OLDER.match(text)
    if not found:
        return ""
    rest = found["rest"]
    return f"{found['chip']} gemm {_element(rest)} {_tile(rest)} {_layout(rest)}"


def _work(rest: str) -> str:
    return next((said for word, said in _WORKS.items() if word in rest), "gemm" if "gemm" in rest else "")


def _element(rest: str) -> str:
    words = rest.split("_")
    return next((_TYPES.get(word) or _BLAS[word] for word in words if word in _TYPES or word in _BLAS), "")


def _tile(rest: str) -> str:
    found = _TILE.search(rest)
    return (
        f"{found[1]}x{found[2]}"
        if found and found[2] and found[1].count("x") == 1
        else found[1]
        if found
        else ""
    )


def _layout(rest: str) -> str:
    found = _LAYOUT.search(rest)
    return found[1] if found else ""


def _sdpa(text: str) -> str:
    found = _SDPA.match(text)
    return f"cuDNN attention {_way(found['way'][0])} {found['tile']} {found['chip']}" if found else ""


def _flash(text: str) -> str:
    found = _FLASH.search(text)
    if not found:
        return ""
    traits = _FLASH_TRAITS.search(text)
    if not traits:
        return f"FlashAttention {found['what']}"
    head, rows, columns, element = traits.groups()
    element = "bf16" if element == "bfloat16" else "fp16"
    return f"FlashAttention {found['what']} head {head}, {rows}x{columns} {element}"


def _efficient(text: str) -> str:
    found = _EFFICIENT.match(text)
    if not found:
        return ""
    element = _TYPES.get(found["type"], found["type"])
    return f"efficient attention {_way(found['way'].lower())} {element} {found['tile']}"


def _way(letter: str) -> str:
    return "forward" if letter == "f" else "backward"


def _nccl(text: str) -> str:
    found = _NCCL.match(text)
    return f"NCCL {found['what'].replace('_', ' ')}" if found else ""


def _cudnn(text: str) -> str:
    found = _CUDNN.match(text)
    return f"cuDNN {found['what'].removesuffix('_kernel').removesuffix('Kernel')}" if found else ""


def cute_name(text: str) -> str:
    """The name of a CuTe DSL kernel as its file has it; "" for any other."""
    found = _CUTE.match(text)
    return found["name"] if found else ""


_RULES: tuple[Callable[[str], str], ...] = (
    _nvjet,
    _sdpa,
    _flash,
    _efficient,
    _cutlass,
    cute_name,
    _xmma,
    _older,
    _nccl,
    _cudnn,
)

"""Writes .exp/cu/<variant>.<piece>.cu, a few kernels each, and which variant has which: .exp/cu/kernels.json.

base: main's headers (copies in .exp/base). early: those of this tree. earlyw, earlyd: the same with stores of C by warps,
or by threads (.exp/macro). tf_*, gelu_*: the large tiles of matmul_tf32 and of matmul_bias_gelu.
"""
import json, re, sys, os
sys.path.insert(0, ".exp")
from new_tiles import NEW
PIECE = 9
os.makedirs(".exp/cu", exist_ok=True)
tree = open("kernels/shared/wgmma_matmul.cuh").read()
old = "if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();"
assert old in tree
open(".exp/macro/shared/wgmma_matmul.cuh", "w").write(tree.replace(old, "if (threadIdx.x % WARP == 0) wait_for_reads<0>();"))
own = re.findall(r"WGMMA_KERNEL\((\w+, [^_]*?), __VA_ARGS__\)", open("kernels/shared/wgmma_kernels.cuh").read().split("#define WGMMA_KERNELS")[1])
b = lambda x: "true" if x else "false"
new = [f"{n}, {r}, {c}, {s}, {a}, {e}, {p}, {b(x)}" for n, (r, c, s, a, e, p, x) in NEW.items()]
PLAIN = "struct Finish { __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; } };\n#define FIN Finish{}\n"
GELU = '#include "matmul_bias_gelu/finish.cuh"\n#define FIN FINISH\n'
MINE = "#define MINE(A, B, C, D, E, F, G, H, ...) WGMMA_KERNEL(A, B, C, D, E, F, G, H, __VA_ARGS__)\n"
has = {}
def put(variant, dtype, defines, finish, kernels, whole=True):
    folder = {"base": ".exp/base", "w": ".exp/macro", "d": ".exp/macro"}.get("base" if "base" in variant else variant[-1], "")
    header = "wgmma_matmul" if "base" in variant else "wgmma_kernels"
    for i in range(0, len(kernels), PIECE):
        name = f"{variant}.{i // PIECE}"
        some = kernels[i : i + PIECE]
        text = "".join(f"#define {d}\n" for d in defines) + f'#include "shared/{header}.cuh"\n' + finish + MINE
        text += "".join(f"MINE({k}, FIN)\n" for k in some) + ("WHOLE_ROWS_KERNEL\n" if i == 0 and whole else "")
        open(f".exp/cu/{name}.cu", "w").write(text)
        has[name] = dict(variant=variant, dtype=dtype, folder=folder, kernels=[k.split(",")[0] for k in some] + (["whole_rows"] if i == 0 else []))
direct = [k for k in own if re.match(r"(tile_(64x128|128x128|128x256|128x192|64x64|128x256_pair|128x192_2x1)|across_(64x128|256x128_pair|144x128_pair|112x128_2x2|96x64_1x4|208x128_pair|80x64|96x64_quarters|64x64_eighths)),", k)]
plain = [k for k in own + new if ", false" in k and re.match(r"(tile_(64x128|128x128|128x256|128x192|64x64|128x256_pair|128x192_2x1|128x224_pair)|n\w+),", k)]
put("base", "bfloat16", [], PLAIN, own + [k for k in new if re.match(r"n64x128|n128x128|x128x64", k)])
put("early", "bfloat16", [], PLAIN, own + new)
put("earlyd", "bfloat16", ["DIRECT_STORES"], PLAIN, direct + [k for k in new if re.match(r"n64x128|n128x128|x128x64|x64x128|x64x64|x96x64", k)])
put("earlyw", "bfloat16", ["WARP_STORES"], PLAIN, plain)
big = [k for k in own if re.match(r"(tile_128x256_pair|across_256x128_pair|tile_128x256|tile_128x192_2x1),", k)]
for v, d in (("base", []), ("early", []), ("earlyw", ["WARP_STORES"]), ("earlyd", ["DIRECT_STORES"])):
    put("tf_" + v, "float32", ["MULTIPLIES_TF32", *d], PLAIN, big)
    put("gelu_" + v, "bfloat16", d, GELU, big)
def other(name, dtype, text, kernels):
    open(f".exp/cu/{name}.cu", "w").write(text)
    has[name] = dict(variant=name, dtype=dtype, folder="", kernels=kernels)
other("few", "bfloat16", '#include "shared/few_rows.cuh"\n#include "shared/long_sums.cuh"\n#include "shared/short_sums.cuh"\n' + PLAIN + "FEW_ROWS_KERNELS(FIN)\nLONG_SUMS_KERNELS(FIN)\nSHORT_SUMS_KERNELS(FIN)\n",
      ["ordered_rows", "few_rows_8", "few_rows_16", "few_rows_32", "long_sums_32x64", *("short_sums_" + x for x in ("32x64", "32x64_wide", "64x32", "64x64", "64x64_wide", "64x128", "128x128", "64x256"))])
loose = open("kernels/matmul_tf32/cuda_loose.cu").read()
other("loose_tf", "float32", '#include "matmul_tf32/cuda_loose.cu"\n', ["*"])
other("loose_x3", "float32", '#include "matmul/cuda_tf32x3_loose.cu"\n', ["*"])
other("amid", "float32", '#define MULTIPLIES_TF32\n#include "matmul_tf32/amid.cuh"\n#include "shared/whole_rows.cuh"\nAMID_KERNELS\nWHOLE_ROWS_KERNEL\n', ["*"])
json.dump(has, open(".exp/cu/kernels.json", "w"))
print(len(has), "pieces,", sum(len(h["kernels"]) for h in has.values()), "kernels;", len(own), "of the tree")

"""name -> (kind, defines). Kinds: f128 c128 f64 c64 fs cs."""
E0 = dict(EARLY_FROM=0)
ONE = dict(EARLY_FROM=0, DV_EARLY=1, PART_ONE=1)
ONE64 = dict(DV_64=1, PART_ONE_64=1)
V = {}
ROOT = {}  # of each variant: base (main's headers), lab (macros), new (the committed headers)
def add(kind, name, **d):
    V[f"{kind}.{name}"] = (kind, d); ROOT[f"{kind}.{name}"] = name if name in ("base", "new") else "lab"
for k in ("f128", "c128", "f64", "c64"): add(k, "base"); add(k, "new")
add("f128", "edge4", **E0, EDGE=1, HELD_OF_128=4)
for h in (3, 4): add("f128", f"dv{h}", **E0, DV_EARLY=1, HELD_OF_128=h)
add("f128", "dk3", **E0, DV_EARLY=1, DK_FIRST=1, HELD_OF_128=3)
add("f128", "one4", **ONE, HELD_OF_128=4)
for h in (3, 4, 5): add("f128", f"dec{h}", **ONE, HELD_OF_128=h, DECOUPLED=1)
for h in (4,): add("f128", f"late{h}", **E0, EDGE=1, PART_ONE=1, HELD_OF_128=h, DECOUPLED=1)
add("f128", "tel4", **ONE, HELD_OF_128=4, DECOUPLED=1, TELL_FIRST=1)
add("c128", "edge3", **E0, EDGE=1, HELD_OF_128=3)
add("c128", "one3", **ONE, HELD_OF_128=3)
for h in (3, 4): add("c128", f"dec{h}", **ONE, HELD_OF_128=h, DECOUPLED=1)
add("c128", "tel3", **ONE, HELD_OF_128=3, DECOUPLED=1, TELL_FIRST=1)
for k in ("f64", "c64"):
    add(k, "edge1", EDGE_64=1, HELD_OF_64=1)
    add(k, "dv1", DV_64=1, HELD_OF_64=1)
    add(k, "one1", **ONE64, HELD_OF_64=1)
    for h in (0, 1): add(k, f"dec{h}", **ONE64, HELD_OF_64=h, DECOUPLED=1)
    add(k, "late1", EDGE_64=1, PART_ONE_64=1, HELD_OF_64=1, DECOUPLED=1)
    add(k, "tel1", **ONE64, HELD_OF_64=1, DECOUPLED=1, TELL_FIRST=1)
for k in ("fs", "cs"):
    add(k, "base")
    add(k, "edge", EDGE_SHORT=1)
TEXT = {
    "128": "BACKWARD_KERNELS(128, {c})\nBACKWARD_PRODUCTS(propagate_pairs_128, 128, {c}, true)\n",
    "64": "BACKWARD_KERNELS(64, {c})\n",
    "s": "SHORT_KERNELS({c})\n",
}
def expand(text, roots, seen):
    out = []
    for line in text.splitlines():
        if line.startswith('#include "shared/'):
            file = line.split('"')[1]
            if file in seen: continue
            seen.add(file)
            path = next(p for r in roots if (p := r / file).exists())
            out.append(expand(path.read_text(), roots, seen))
        elif line.strip() != "#pragma once": out.append(line)
    return "\n".join(out) + "\n"
def source(name):
    from pathlib import Path
    here = Path(__file__).parent
    root = ROOT[name]
    roots = ([here / root] if root != "new" else []) + [here.parent / "kernels"]
    return expand(text(name), roots, set())
def text(name):
    kind, d = V[name]
    c = "true" if kind[0] == "c" else "false"
    lines = "".join(f"#define {k} {v}\n" for k, v in d.items())
    return lines + '#include "shared/attention_backward_short.cuh"\n#include "shared/wgmma_attention_backward.cuh"\n' + TEXT[kind[1:]].format(c=c)

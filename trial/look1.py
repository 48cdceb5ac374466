from common import *
from gate import checking, timing
import math, subprocess
DRY = bool(os.environ.get("DRY"))
PART = os.environ.get("PART", "1")
LISTED = (["base", "early", "earlyw", "earlyd", *(f"{x}_{v}" for x in ("gelu", "tf") for v in ("base", "early", "earlyw", "earlyd"))] if PART == "1"
          else ["amid", "loose_tf", "loose_x3", "few", "tf_early"])
progs = compiled(LISTED)
if DRY: progs = {n: None for n in LISTED}
torch.backends.cuda.matmul.allow_tf32 = False
BAD = set()

def check(variant, names, sizes, dtype, extra=None):
    prog = progs[variant]
    if DRY: return print('check', variant, len(names))
    for m, n, k in sizes:
        with checking():
            a = uniform((m, k), dtype); b = uniform((k, n) if dtype.itemsize == 2 else (n, k), dtype)
            want = a.double() @ (b.double() if dtype.itemsize == 2 else b.double().T)
            bias = uniform((n,), dtype) if extra else None
            if extra: want = torch.nn.functional.gelu(want + bias.double(), approximate="tanh")
            top_ = want.abs().max()
            steps = -(-k * dtype.itemsize // 128)
            for name in names:
                tile = ALL[name]
                for plan in tile.plans(m, n, steps, 132, c_bytes=dtype.itemsize):
                    try:
                        c = launch(prog, name, tile, plan, a, b, dtype, *([bias] if extra else []), warp=variant.endswith("w"), direct=variant.endswith("d"))
                        err = ((c.double() - want).abs().max() / top_).item()
                    except Exception as error:
                        err = 9.0; print(variant, name, str(error)[:200], flush=True)
                        if "CUDA" in str(error): raise
                    if not err < 8e-3: BAD.add((variant, name)); print("WRONG", variant, name, m, n, k, plan, err, flush=True)

SIZES = [(1000, 1048, 528), (136, 264, 72), (256, 264, 2048), (2320, 4096, 64)]
big = ["tile_128x256_pair", "across_256x128_pair", "tile_128x256", "tile_128x192_2x1"]
DONE = []
HAS = {v: [n for n in ALL if any(n in h["kernels"] for h in HAS_OF.values() if h["variant"] == v)] for v in ("base", "early", "earlyw", "earlyd")}
if PART == "2": HAS = {}
for v in HAS:
    if v in progs and HAS[v]: check(v, [n for n in HAS[v] if v != "base" or n in NEW], SIZES, torch.bfloat16)
    said("checked", v, "wrong", len(BAD))
for v in ("base", "early", "earlyw", "earlyd") if PART == "1" else ():
    check("tf_" + v, big, SIZES, torch.float32); check("gelu_" + v, big, SIZES, torch.bfloat16, extra=True)
said("checked the big ones; wrong", sorted(BAD))

def made(m, n, k, dtype, bias=False, whole=False):
    one = dtype.itemsize * (m * k + k * n + m * n)
    count = max(2, min(96 if m * n * k < 2**26 else 48, math.ceil(130e6 / one)))
    sets = []
    for _ in range(count):
        s = (uniform((m, k), dtype), uniform((k, n) if dtype.itemsize == 2 or whole else (n, k), dtype))
        sets.append((*s, uniform((n,), dtype)) if bias else s)
    return sets

held = 0.0
def look(title, m, n, k, dtype, calls, keep=(), bias=False, whole=False, **more):
    global held
    if DRY: return print(title, m, n, k, len(calls), list(calls)[:200:9])
    with checking(): sets = made(m, n, k, dtype, bias, whole)
    with checking():
        for label, call in list(calls.items()):
            try: call(*sets[0])
            except Exception as error: print("   ", label, str(error)[:100]); del calls[label]
    pool, graphs = captured(calls, sets)
    with timing():
        t = time.time()
        found, close = times(graphs, len(sets), keep=keep, **more)
        held += time.time() - t
    said(title, f"{m}x{n}x{k}", "held %.1f" % held)
    print("  " + "; ".join(f"{l}{'' if l in close else '?'} {v:.2f}" for l, v in sorted(found.items(), key=lambda x: x[1])), flush=True)
    graphs.clear(); del pool, sets
    torch.cuda.empty_cache()

def call_of(variant, name, plan, dtype, **more):
    prog, tile, warp, direct = progs[variant], ALL[name], variant.endswith("w"), variant.endswith("d")
    return lambda a, b, *x: launch(prog, name, tile, plan, a, b, dtype, *x, warp=warp, direct=direct, **more)

def label_of(variant, name, plan, count): return f"{variant}:{name}" + (f"/{plan.blocks},{plan.alone}" if plan.alone < count else "")

def plans_of(m, n, k, itemsize, names, along_n=True):
    steps = -(-k * itemsize // 128)
    al = (k * itemsize % 128 == 0, (n if along_n else k) * itemsize % 128 == 0)
    out = [(p.time_ns, nm, p) for nm in names for p in ALL[nm].plans(m, n, steps, 132, al, None, itemsize)]
    return sorted(out, key=lambda x: x[0])

def sixteen(m, n, k, many=True):
    dt = torch.bfloat16
    old, new = plans_of(m, n, k, 2, TILES), plans_of(m, n, k, 2, NEW)
    least = old[0][0]
    calls, now = {"cublas": lambda a, b: a @ b}, None
    steps = -(-k // 64)
    al = (k % 64 == 0, n % 64 == 0)
    chosen, plan = best(m, n, steps, 132, al, None, 2)
    now = label_of("base", chosen, plan, ALL[chosen].count(m, n))
    calls[now] = call_of("base", chosen, plan, dt)
    calls["noattr"] = call_of("base", chosen, plan, dt, overlaps=False)
    for v, olds, news in (("early", 26, 26), ("base", 8, 12), ("earlyw", 6, 8), ("earlyd", 12, 12)):
        if v not in progs: continue
        some = [x for x in old if x[1] in HAS[v]][:olds] + [x for x in new if x[1] in HAS[v]][:news]
        for t, nm, p in some:
            if t < least * 1.7 and (v, nm) not in BAD:
                calls[label_of(v, nm, p, ALL[nm].count(m, n))] = call_of(v, nm, p, dt)
    look(f"bf16 now={now}", m, n, k, dt, calls, keep=(now, "cublas", "noattr"))

from roofscope.kernels.shared import loose_tf32, loose_tiles, wgmma_matmul, loose_rows
from roofscope.profiling.planning.catalog import load_module as load_
tree_amid = load_(Path("kernels/matmul_tf32/amid.py"))
AMID = {(t.rows, t.columns): t for t in tree_amid.TILES}
def amid(rows, columns, cluster, a, b, turned):
    return tree_amid.launch(progs["amid"], AMID[rows, columns], cluster, a, b, turned=turned)
def amid_ways(m, n, k):
    out = []
    for turned in (False, True):
        mx, ny = (n, m) if turned else (m, n)
        if mx * 3 < ny or mx < 8: continue
        for rows, columns in AMID:
            waste = -(-ny // columns) * columns / ny
            if waste > 1.35 and columns > 32: continue
            tiles = -(-mx // rows) * -(-ny // columns)
            for cluster in (1, 2, 4, 8, 16):
                if (tiles * cluster <= 160 or cluster == 1) and (tiles * cluster >= 50 or cluster == 16) and (cluster == 1 or k // cluster >= 128):
                    cost = -(-tiles * cluster // 132) * (columns + 60) * rows * (1.3 if rows == 64 else 1) / cluster
                    out.append((cost, rows, columns, cluster, turned))
    return sorted(out)[:16]
def amid_right():
    for m, n, k, at in ((131, 77, 1001, 16), (257, 144, 333, 19), (67, 33, 4099, 16), (13, 300, 77, 21), (64, 64, 31, 16)):
        with checking():
            buf = torch.full((m * k + 64,), float("nan"), device=DEV)
            a = buf[16:16 + m * k].view(m, k); a.copy_(uniform((m, k), torch.float32))
            buf2 = torch.full((n * k + 64,), float("nan"), device=DEV)
            b = buf2[16:16 + n * k].view(n, k); b.copy_(uniform((n, k), torch.float32))
            want = a.double() @ b.double().T
            for (rows, columns) in AMID:
                for cluster in (1, 2, 16):
                    for turned in (False, True):
                        got = amid(rows, columns, cluster, a, b, turned)
                        err = ((got.double() - want).abs().max() / want.abs().max()).item()
                        if not err < 2e-3: print("WRONG amid", rows, columns, cluster, turned, (m, n, k, at), err, flush=True)
    said("checked amid")
def loose(m, n, k, whole):
    torch.backends.cuda.matmul.allow_tf32 = False
    def cublas(a, b):
        torch.backends.cuda.matmul.allow_tf32 = not whole
        try: return a @ (b if whole else b.T)
        finally: torch.backends.cuda.matmul.allow_tf32 = False
    prog = progs["loose_x3" if whole else "loose_tf"]
    ways = sorted((loose_tf32.time_ns(t, c, m, n, k, 132, whole), t.name, t, c) for t in loose_tf32.tiles(whole) for c in loose_tf32.CLUSTERS if c == 1 or 2 * c * t.step <= k) if False else sorted(((loose_tf32.time_ns(t, c, m, n, k, 132, whole), t.name, c, t) for t in loose_tf32.tiles(whole) for c in loose_tf32.CLUSTERS), key=lambda x: x[:3])
    calls = {"cublas": cublas}
    for time_, name, c, t in ways[:18]:
        calls[f"{name}/{c}={time_ / 1e3:.1f}"] = lambda a, b, t=t, c=c: loose_tf32.launch(prog, t, c, a, b, whole=whole)
    if not whole:
        # A copy and tiles of wgmma.
        steps = -(-k // 32)
        for tm, nm, p in plans_of(m, n, k, 4, big, along_n=False)[:4]:
            def padded(a, b, nm=nm, p=p):
                from roofscope.kernels.shared.whole_rows import both_in_whole_units
                a, b = both_in_whole_units(progs["tf_early"], a, b)
                c = torch.empty((m, n), dtype=torch.float32, device=DEV)
                return launch(progs["tf_early"], nm, ALL[nm], p, a, b, torch.float32)
            calls["padded:" + label_of("early", nm, p, ALL[nm].count(m, n))] = padded
    if not whole:
        for cost, rows, columns, cluster, turned in amid_ways(m, n, k):
            calls[f"amid{rows}x{columns}/{cluster}{'T' if turned else ''}"] = lambda a, b, w=(rows, columns, cluster), t=turned: amid(*w, a, b, t)
    look("loose " + ("fp32" if whole else "tf32"), m, n, k, torch.float32, calls, keep=("cublas",), whole=whole)

def long_(m, n, k):
    dt = torch.bfloat16
    both = progs["few"]
    if not DRY and "tile_64x64" not in both and all((MADE / f"{p}.cubin").exists() for p, h in HAS_OF.items() if h["variant"] == "early"):
        both.of.update(Pieces("early").of)  # part 1 has compiled them
    calls = {"cublas": lambda a, b: a @ b, "now": lambda a, b: wgmma_matmul.multiply(both, "x", a, b, dt)}
    for c in (1, 2, 4, 8, 16):
        if c == 1 or -(-k // (64 * c)) >= 1:
            def call(a, b, c=c):
                loose_tiles.LONG_CLUSTER = c
                try: return loose_tiles.multiply_long_sums(both, a, b, dt, shares=1)
                finally: loose_tiles.LONG_CLUSTER = 16
            calls[f"long{c}"] = call
    for name, tile in loose_tiles.SHORT_TILES.items():
        if tile.fits(m, n, k, 132): calls[name] = lambda a, b, name=name: loose_tiles.multiply_short_sums(both, a, b, dt, name=name)
    look("long bf16", m, n, k, dt, calls, keep=("cublas", "now"), near=3)

prof = subprocess.Popen([sys.executable, ".exp/names.py"], stdout=open("/tmp/o/hB.names.txt", "w"), stderr=subprocess.STDOUT) if os.path.isdir("/tmp/o") and not DRY and os.environ.get("PART", "1") == "1" else None
LIMIT = float(os.environ.get("LIMIT_S", "118"))
jobs = [("16", 1024, 1024, 1024), ("16", 512, 512, 512), ("16", 2048, 2048, 2048), ("tf", 8192, 8192, 8192), ("gelu", 8192, 8192, 8192),
        ("16", 1536, 1536, 1536), ("16", 768, 768, 768), ("16", 1280, 1280, 1280), ("big", 4096, 4096, 4096), ("gelu", 4096, 4096, 4096),
        ("long", 471, 21, 603), ("loose", 2005, 143, 4877), ("loose", 12759, 109, 8175), ("loose", 62, 511, 10047), ("loose", 111, 10657, 3751), ("loose", 1561, 1031, 3001), ("x3", 599, 11281, 16), ("long", 301, 45, 901), ("long", 151, 131, 777),
        ("long", 99, 501, 1201), ("long", 1003, 17, 411),
        ("16", 1792, 1792, 1792), ("16", 896, 896, 896), ("16", 640, 640, 640), ("16", 1024, 1024, 4096), ("16", 2048, 1024, 1024), ("16", 1024, 2048, 512),
        ("16", 1112, 80, 6552), ("16", 4208, 320, 1464), ("16", 512, 512, 4096), ("16", 256, 1024, 2048), ("16", 1152, 1152, 1152), ("16", 2304, 2304, 768),
        ("tf", 1024, 1024, 1024), ("16", 1000, 1000, 1000), ("16", 128, 4096, 4096), ("16", 4096, 1024, 256), ("16", 720, 1360, 1928), ("16", 3072, 768, 2048),
        ("16", 336, 2456, 1112), ("16", 1600, 408, 3200), ("tf", 4096, 4096, 4096), ("16", 2560, 2560, 2560), ("long", 61, 301, 353), ("long", 25, 1999, 603), ("loose", 301, 201, 2001), ("loose", 5001, 501, 1001), ("loose", 97, 3001, 301), ("loose", 8191, 63, 255), ("loose", 31, 12001, 2501), ("loose", 701, 97, 12345), ("loose", 3001, 3001, 1001), ("16", 3072, 3072, 3072)]
from roofscope.profiling.planning.catalog import load_module
lt = load_module(Path("kernels/matmul_bias_gelu/library_cublaslt.py")).run
jobs = [j for j in jobs if (j[0] in ("loose", "x3", "long")) == (PART == "2")]
MOST = 27 if PART == "1" else 9
for kind, m, n, k in jobs:
    if time.time() - START > LIMIT or held > MOST: said("stops before", m, n, k); break
    try:
        if kind == "16": sixteen(m, n, k)
        elif kind == "big":
            calls = {"cublas": lambda a, b: a @ b}
            for v in ("base", "early", "earlyw", "earlyd"):
                for t, nm, p in plans_of(m, n, k, 2, [x for x in big if x in HAS[v]]): calls[label_of(v, nm, p, ALL[nm].count(m, n))] = call_of(v, nm, p, torch.bfloat16)
            look("big", m, n, k, torch.bfloat16, calls, keep=("cublas",), more=8, block_us=1500)
        elif kind == "loose":
            if not DONE and not DRY: DONE.append(1); amid_right()
            loose(m, n, k, False)
        elif kind == "x3": loose(m, n, k, True)
        elif kind == "long": long_(m, n, k)
        elif kind == "gelu":
            calls = {"cublaslt": lt}
            for v in ("base", "early", "earlyw", "earlyd"):
                for t, nm, p in plans_of(m, n, k, 2, big[:3])[:4]:
                    calls[label_of(v, nm, p, ALL[nm].count(m, n))] = call_of("gelu_" + v, nm, p, torch.bfloat16)
            look("gelu", m, n, k, torch.bfloat16, calls, bias=True, keep=("cublaslt",), more=6, near=1.03, block_us=2000)
        else:
            def cublas(a, b):
                torch.backends.cuda.matmul.allow_tf32 = True
                try: return a @ b.T
                finally: torch.backends.cuda.matmul.allow_tf32 = False
            calls = {"cublas": cublas}
            for v in ("base", "early", "earlyw", "earlyd"):
                for t, nm, p in plans_of(m, n, k, 4, big, along_n=False)[: (5 if m > 4096 else 8)]:
                    calls[label_of(v, nm, p, ALL[nm].count(m, n))] = call_of("tf_" + v, nm, p, torch.float32)
            look("tf32", m, n, k, torch.float32, calls, keep=("cublas",), more=6, near=1.04, block_us=2000)
    except Exception as error:
        print("FAILED", kind, m, n, k, str(error)[:300], flush=True)
        if "CUDA error" in str(error): raise
said("held", held)
if prof: prof.wait(timeout=20); print(open("/tmp/o/hB.names.txt").read()[-6000:])

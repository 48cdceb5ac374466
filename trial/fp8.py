import os, sys, time, warnings
warnings.filterwarnings("ignore")
T0 = float(os.environ.get("START", time.time())); LAST = T0 + 112
sys.path.insert(0, ".exp")
from harness import timed
import torch
from pathlib import Path
import gate, contextlib, threading
_since = None
@contextlib.contextmanager
def _watched(kind):
    global _since
    with kind():
        _since = time.time()
        try: yield
        finally: _since = None
checking, timing = (lambda: _watched(gate.checking)), (lambda: _watched(gate.timing))
def _watch():
    while True:
        time.sleep(0.5); at = _since
        if at and time.time() - at > 25: print("HELD TOO LONG, leaving", flush=True); os._exit(9)
threading.Thread(target=_watch, daemon=True).start()
from roofscope.kernels.shared import loose_fp8
from roofscope.kernels.shared.loose_tiles import LooseTile
from roofscope.kernels.matmul_fp8_blocks import scaled_blocks
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module, scan
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.worker.inputs import InputMaker
device = torch.device("cuda")
catalog = scan()
HOLD, held_all = float(os.environ.get("HOLD", "4")), 0.0
def say(*a): print(*a, flush=True)
def program(path):
    path = Path(path)
    began = time.time()
    p = cuda.CudaProgram(path if path.is_absolute() else Path.cwd() / path, Dtype.BFLOAT16, cuda.architecture_of((9, 0)), device)
    say(f"# {path.parent.name}/{path.name} compiled in {time.time()-began:.1f} s at {time.time()-T0:.0f} s")
    return p
def lib(kernel, stem): return program(LIBRARY / kernel / f"{stem}.cu"), load_module(LIBRARY / kernel / f"{stem}.py")
def inputs(kernel, m, n, k, places=0):
    k_ = catalog.kernel(kernel)
    t = InputMaker(k_.spec, Dtype.BFLOAT16, device, seed=m + n + k).make({"m": m, "n": n, "k": k})
    if not places: return t
    def moved(x, p):
        room = torch.full((x.numel() + 48,), 0x7F, dtype=torch.uint8, device=device)
        return room[p:p + x.numel()].view(x.dtype).view(x.shape).copy_(x)
    return (moved(t[0], places), moved(t[1], places * 3 % 16), *t[2:])
def reference(kernel, t): return load_module(LIBRARY / kernel / "reference.py").run(*(x.double() if kernel == "matmul_fp8" else x for x in t))
def error(got, want): return ((got.double() - want).norm() / want.norm()).item()
def sets_of(t, outputs, most=48):
    each = sum(x.numel() * x.element_size() for x in t) + outputs
    count = min(max(-(-170_000_000 // each), 2), most)
    return [t, *(tuple(x.clone() for x in t) for _ in range(count - 1))]

SHORT = {tile.name.removeprefix("short_"): tile for tile in loose_fp8.SHORT_TILES}
SHORT["64x64_tall"], SHORT["64x128_many"] = loose_fp8.ShortTile(64, 64, 128, 6), loose_fp8.ShortTile(64, 128, 256, 4)
def short(p, name, turns):
    tile = SHORT[name]
    def call(a, b, sa, sb):
        (m, k), n = a.shape, b.shape[0]
        c = torch.empty((m, n), dtype=torch.bfloat16, device=device)
        p.launch("short_" + name, (tile.blocks(m, n, k, 132, turns=turns), tile.across(n)), tile.threads, a.view(torch.uint8), b.view(torch.uint8), c, sa, sb, m, n, k, shared_bytes=tile.shared_bytes(k), overlaps=True)
        return c
    return call

def run(kernel, size, calls, most=48, rounds=6):
    global held_all
    if time.time() > LAST or held_all > HOLD: say("no time", size); return
    m, n, k = size
    with checking():
        t = inputs(kernel, m, n, k)
        sets = sets_of(t, 2 * m * n, most)
    with timing():
        began = time.time()
        times = timed(calls, sets, rounds=rounds, block_ms=1.0)
    held_all += time.time() - began
    say(f"TIME {kernel} {m} {n} {k} | " + " ".join(f"{a}={b:.2f}" for a, b in sorted(times.items(), key=lambda p: p[1])), f"| held {time.time()-began:.2f}")
    torch.cuda.empty_cache()

def check(kernel, calls, sizes, places=(0, 4, 5, 14)):
    worst = {}
    with checking():
        for m, n, k in sizes:
            for place in places:
                t = inputs(kernel, m, n, k, place)
                want = reference(kernel, t)
                for label, call in calls.items():
                    try: e = error(call(*t), want)
                    except Exception as x: e = float("nan"); say(label, m, n, k, place, str(x)[:200])
                    if not e < 8e-3: say("WRONG", kernel, label, m, n, k, place, e)
                    worst[label] = max(worst.get(label, 0), e)
        torch.cuda.synchronize()
    say("CHECK", kernel, " ".join(f"{a}={b:.1e}" for a, b in worst.items()))

ODD = [(1, 1, 1), (5, 7, 3), (31, 66, 30), (64, 128, 64), (130, 131, 127), (257, 19, 99), (16, 1025, 33), (70, 300, 128), (129, 257, 17), (200, 1001, 48), (130, 2003, 77), (63, 250, 16), (300, 121, 90)]
SHAPES = [(869,14526,34),(2974,2293,127),(7461,354,58),(154,4934,22),(802,223,37),(2259,89,37),(1303,1179,30),(274,241,27),(187,215,91),
  (13000,700,90),(500,9001,120),(3001,3003,65),(10001,2001,17),(64,12001,100),(12001,65,100),(2048,4097,127),(4001,8003,95),(300,1001,40),(1201,601,126),(16000,33,63),(90,300,120),(31,15001,50),(5000,5002,100)]
def short_of(kernel, source, shapes):
    p = program(source)
    calls = {name + ("_t" if turns else ""): short(p, name, turns) for name in SHORT for turns in (False, True) if not (turns and name == "32x64")}
    check(kernel, calls, ODD)
    loose, module = lib(kernel, "cuda_loose")
    for s in shapes: run(kernel, s, {"now": lambda *t: module.run(loose, *t), **calls})
    say("# short done", f"{time.time()-T0:.0f}")

def part_short(): short_of("matmul_fp8_blocks", ".exp/short.cu", SHAPES)
def part_short1(): short_of("matmul_fp8", ".exp/short_one.cu", SHAPES[:3] + [(46,15549,37),(5813,33,29),(5025,181,127),(1201,601,126),(3001,3003,65),(300,1001,40)])

def part_stores():
    p = program(".exp/stores.cu")
    def call(name, width):
        def go(c):
            m, n = c.shape
            grid = -(-m * n // 8192) if name == "linear" else -(-m // 64) * -(-n // width)
            p.launch(name, grid, 256, c, m, n)
            return c
        return go
    calls = {"pairs64": call("pairs64", 64), "linear": call("linear", 0)}
    for name in "w64_1 w128_1 w256_1 w128_8 w128_16 w128_64 w256_8 w256_16 w256_64".split(): calls[name] = call(name, int(name[1:].split("_")[0]))
    for m, n in [(2959,12001),(869,14526),(2959,12008),(869,14592),(4069,10746),(2974,2293),(1879,6563)]:
        with checking():
            sets = [(torch.empty((m, n), dtype=torch.bfloat16, device=device),) for _ in range(max(4, 200_000_000 // (2*m*n)))]
        with timing(): times = timed(calls, sets, rounds=5, block_ms=1.0)
        say("STORE", m, n, f"{2*m*n/1e6:.0f} MB |", " ".join(f"{a}={b:.2f}" for a, b in sorted(times.items(), key=lambda p: p[1])))

def tiles_of(kernel, stem, programs):
    """label -> call for each tile"""
    module = load_module(LIBRARY / kernel / f"{stem}.py")
    calls = {}
    for label, p in programs.items():
        for name, tile in module.TILES.items():
            boxes = tile.b_boxes if hasattr(tile, "b_boxes") else (tile.b_rows,)
            def go(*t, p=p, name=name, tile=tile, boxes=boxes): return scaled_blocks.launch(p, name, tile, boxes, *t, takes_any_c="pieces" not in stem)
            calls[f"{label}_{name.removeprefix('tile_')}"] = go
        if stem == "cuda_wgmma":
            for name in module.SHARED:
                for cluster in (2, 4):
                    calls[f"{label}_{name}/{cluster}"] = lambda *t, p=p, name=name, cluster=cluster: module.launch_shared(p, name, cluster, *t)
    return calls

def spares(p):
    from roofscope import tensor_map
    from roofscope.kernels.shared.whole_rows import both_in_whole_units
    Tile = load_module(LIBRARY / "matmul_fp8_blocks/cuda_halves.py").Tile
    calls = {}
    for columns, stages in ((256, 3), (128, 5)):
        for cluster in (2, 1):
            tile = Tile(128, columns, stages, 1, cluster)
            shared = stages * ((128 + columns) * 128 + 16 + 132 * 4) + 2 * columns * 128 + 32
            name = f"spare_128x{columns}" + ("_pair" if cluster == 2 else "")
            def go(a, b, sa, sb, tile=tile, name=name, shared=shared):
                (m, k), n = a.shape, b.shape[0]
                c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
                a, b = both_in_whole_units(p, a.view(torch.uint8), b.view(torch.uint8))
                a_map = tensor_map(a, (tile.rows, 128))
                p.launch(name, tile.blocks(tile.count(m, n), 132), tile.threads, a_map, tensor_map(b, (tile.b_rows, 128)), a_map, sa, sb, m, n, k, c, shared_bytes=shared, overlaps=True)
                return c
            calls["sp_" + name.removeprefix("spare_")] = go
    return calls

def part_words():
    part_stores()
    k = "matmul_fp8_blocks"
    spare = spares(program(".exp/halves_spare.cu"))
    check(k, spare, [(1,1,1),(5,7,3),(31,66,30),(130,131,129),(257,19,1000),(70,300,1028),(129,257,515),(300,1001,300),(64,250,130),(1000,4001,200),(3000,5003,260)], (0, 5))
    halves, wgmma = program(".exp/halves_words.cu"), program(".exp/wgmma_words.cu")
    calls = {**tiles_of(k, "cuda_halves", {"hw": halves}), **{a: b for a, b in tiles_of(k, "cuda_wgmma", {"ww": wgmma}).items() if "shared" not in a}}
    check(k, calls, [(1,1,1),(5,7,3),(31,66,30),(130,131,129),(257,19,1000),(70,300,1028),(129,257,515),(300,1001,300),(64,250,130)], (0, 5))
    h0, w0 = program(LIBRARY / k / "cuda_halves.cu"), program(LIBRARY / k / "cuda_wgmma.cu")
    old = {**tiles_of(k, "cuda_halves", {"h": h0}), **{a: b for a, b in tiles_of(k, "cuda_wgmma", {"w": w0}).items() if "shared" not in a}}
    for s in [(2959,12001,539),(10329,1069,6399),(14225,109,8395),(206,9010,1681),(545,13941,4331),(3001,5003,1001),(8191,4095,300),(1001,1003,1005),(2000,2002,515),(6001,3001,2049),(2400,9002,205),(700,7001,260)]:
        run(k, s, {**calls, **old, **spare}, rounds=4)
    say("# words done", f"{time.time()-T0:.0f}")

def quads(p):
    from roofscope import tensor_map
    from roofscope.kernels.shared.whole_rows import both_in_whole_units
    calls = {}
    for columns, stages in ((128, 5), (256, 4)):
        for above, beside in ((2, 2), (1, 2)):
            name, cl = f"q_128x{columns}_{above}x{beside}", above * beside
            shared = stages * ((128 + columns) * 128 + 16 + 132 * 4) + 2 * 128 * 128
            def go(a, b, sa, sb, name=name, cl=cl, shared=shared, columns=columns, above=above, beside=beside):
                (m, k), n = a.shape, b.shape[0]
                c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
                a, b = both_in_whole_units(p, a.view(torch.uint8), b.view(torch.uint8))
                a_map = tensor_map(a, (128 // beside, 128))
                count = -(-m // (128 * above)) * -(-n // (columns * beside))
                loose = n % 8 > 0
                p.launch(name, min(count, p.clusters_at_once(name, 384, cl, shared)) * cl, 384,  # some multiprocessors have no room in clusters of four
                     a_map, tensor_map(b, (columns // above, 128)), a_map if loose else tensor_map(c, (64, 64)), sa, sb, m, n, k, c if loose else 0, shared_bytes=shared, overlaps=True)
                return c
            calls[name] = go
    return calls

def part_whole():
    k = "matmul_fp8_blocks"
    quad = quads(program(".exp/halves_quad.cu"))
    check(k, quad, [(1,1,1),(5,7,3),(130,131,129),(257,19,1000),(70,300,1028),(256,512,1024),(300,1001,300),(1000,4000,2048),(2048,2048,1024)], (0, 5))
    w, h, p = (program(LIBRARY / k / f"cuda_{x}.cu") for x in ("wgmma", "halves", "pieces"))
    eager = load_module(LIBRARY / k / "eager.py").run
    calls = {"eager": eager, **quad, **tiles_of(k, "cuda_wgmma", {"w": w}), **tiles_of(k, "cuda_halves", {"h": h}), **tiles_of(k, "cuda_pieces", {"p": p})}
    for s in [(256,7168,2048),(128,7168,2048),(128,4096,7168),(256,4096,4096),(512,4096,4096),(512,2048,7168),(64,7168,2048),(256,2048,7168),(384,7168,2048),(256,24576,1536),(128,24576,1536),(1024,4096,2048),(512,7168,2048),(1000,4096,1024),(2048,2048,2048),(4096,2048,2048),(2048,7168,2048),(4096,4096,4096)]:
        run(k, s, calls, rounds=5)
    say("# whole done", f"{time.time()-T0:.0f}")

def part_fp8():
    k = "matmul_fp8"
    module = load_module(LIBRARY / k / "cuda_wgmma.py")
    words = program(".exp/fp8_words.cu")
    check(k, {"words": lambda *t: module.run(words, *t)}, [(1,1,1),(31,66,30),(130,131,129),(257,19,1000),(70,300,1028),(300,1001,300),(2000,2002,515)], (0, 5))
    now = program(LIBRARY / k / "cuda_wgmma.cu")
    eager = load_module(LIBRARY / k / "eager.py").run
    for s in [(2959,12001,539),(10157,930,1799),(779,693,1779),(2386,1087,1203),(3001,5003,1001),(8191,4095,300),(1001,1003,1005),(6001,3001,2049)]:
        run(k, s, {"now": lambda *t: module.run(now, *t), "words": lambda *t: module.run(words, *t), "eager": eager}, rounds=5)
    for s in [(2048,2048,2048),(256,7168,2048),(4096,4096,4096)]: run(k, s, {"now": lambda *t: module.run(now, *t), "eager": eager})
    say("# fp8 done", f"{time.time()-T0:.0f}")
globals()["part_" + sys.argv[1]]()

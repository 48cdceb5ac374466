import runpy, sys, os, time, math, json, traceback, multiprocessing as mp, contextlib, random
from pathlib import Path
from statistics import median
HERE = Path(__file__).resolve().parent
top = HERE.parent; os.chdir(top); runpy.run_path(str(top / "main.py")); sys.path.insert(0, str(top / ".ci" / "path")); sys.path.insert(0, str(HERE))
import torch
import fcntl
from roofscope.benchmarks.peers.table import candidates
from roofscope.benchmarks.shapes.drawing import draw, Kind
from roofscope.benchmarks.shapes.lines import usual_dtype
from roofscope.profiling.planning.catalog import scan, load_module
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Workload, Provider
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.candidate.compilers import Compiler, Compilers
from roofscope.profiling.worker.inputs import InputMaker
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.job.verify import Judge
from roofscope.profiling.worker.timing.graphs import OutputPool
from roofscope.kernels.shared import rows as ROWS_MODULE, slab as SLAB_MODULE
import gate

BEGAN = time.monotonic()
LIMIT = float(os.environ.get("LIMIT", "118"))
MOST_HELD = float(os.environ.get("HELD", "34"))
held = mp.Value("d", 0.0)
WARP = 32

def left(): return LIMIT - (time.monotonic() - BEGAN)

def _ms(graph, count):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay(); a.record()
    for _ in range(count): graph.replay()
    b.record(); b.synchronize()
    return a.elapsed_time(b) / count

def timed(graphs, n, rounds=6, block_ms=1.0):
    count = {k: max(1, min(30, int(block_ms / max(_ms(g, 1), 1e-4)))) for k, g in graphs.items()}
    found = {k: [] for k in graphs}
    for r in range(rounds):
        for k in (list(graphs) if r % 2 else reversed(list(graphs))):
            found[k].append(_ms(graphs[k], count[k]) * 1e3 / n)
    return {k: median(v) for k, v in found.items()}

class Bench:
    def __init__(self, name, dtype=None):
        self.catalog = scan()
        self.kernel = self.catalog.kernel(name)
        self.name, self.dtype = name, dtype or usual_dtype(self.kernel)
        self.device = torch.device("cuda", 0)
        self.reference, self.derive = load_reference(self.kernel)
        self.programs = {}
    def version(self, stem): return next(v for v in self.kernel.implementations if v.stem == stem)
    def built(self, stem, sizes):
        v = self.version(stem)
        if v.provider is Provider.CUDA and stem in self.programs: return self.programs[stem]
        call = providers.build(BuildRequest(v, self.kernel.folder, Workload(self.name, self.dtype, sizes), self.device)).call
        if v.provider is Provider.CUDA: self.programs[stem] = call
        return call
    def program(self, stem):
        from roofscope.profiling.worker.build.providers.cuda import CudaProgram, architecture_of
        key = "p:" + stem
        if key not in self.programs:
            t = time.monotonic()
            self.programs[key] = CudaProgram(self.kernel.folder / f"{stem}.cu" if "/" not in stem else Path(stem), self.dtype, architecture_of(torch.cuda.get_device_capability(0)), self.device)
            print(f"# {self.name}/{stem} compiled in {time.monotonic()-t:.1f} s at {time.monotonic()-BEGAN:.0f} s", flush=True)
        return self.programs[key]
    def run(self, sizes, calls, label="", stems=(), rounds=6, check=True):
        """calls: {label: call}; stems: further versions by providers."""
        if left() < 3 or held.value > MOST_HELD: return None
        notes, calls = [], dict(calls)
        for stem in stems:
            v = self.version(stem)
            if not is_inside(v.domain, sizes, self.dtype): continue
            try: calls[stem] = self.built(stem, sizes)
            except Exception as e: notes.append(f"{stem}: {str(e)[:100]}")
        # torch.compile and Triton compile at their first call, outside of the gate: one small launch each
        maker = InputMaker(self.kernel.spec, self.dtype, self.device, seed=7, derive=self.derive)
        judge = Judge(self.kernel.spec, Workload(self.name, self.dtype, sizes), self.reference)
        with gate.checking():
            inputs = maker.make(sizes)
        for stem in stems:
            if stem in calls and not stem.startswith(("cuda", "eager")):
                try: calls[stem](*inputs)
                except Exception as e: notes.append(f"{stem}: {str(e)[:100]}"); del calls[stem]
        with gate.checking():
            expected = judge._expected(inputs, sizes) if check else None
            if check: judge._expected = lambda *a: expected
            for k, call in list(calls.items()):
                try:
                    out = call(*inputs)
                    out = out if isinstance(out, tuple) else (out,)
                    if check: judge.compare(inputs, out, sizes, "here")
                except Exception as e:
                    notes.append(f"{'WRONG' if 'Wrong' in type(e).__name__ else 'FAILED'} {k}: {str(e)[:160]}"); del calls[k]
            del expected, judge
            nbytes = max(maker.set_bytes(sizes), 1)
            n = max(2, min(48, math.ceil(150e6 / nbytes)))
            sets = [inputs, *(tuple(t.clone() for t in inputs) for _ in range(n - 1))]
        pool, graphs = OutputPool(), {}
        for k, call in calls.items():
            try: graphs[k] = pool.capture(call, sets, n)
            except Exception as e: notes.append(f"NOGRAPH {k}: {str(e)[:120]}")
        with gate.timing():
            t = time.monotonic()
            found = timed(graphs, n, rounds)
            took = time.monotonic() - t
        with held.get_lock(): held.value += took
        del graphs, pool, sets, inputs
        torch.cuda.empty_cache()
        for note in notes: print("  !!", self.name, "x".join(map(str, sizes.values())), note, flush=True)
        theirs = {k: v for k, v in found.items() if k.split("_")[0] in ("eager", "compile", "library")}
        ours = {k: v for k, v in found.items() if k not in theirs}
        now, best = ours.get("now"), min(ours, key=ours.get) if ours else None
        peer = min(theirs.values()) if theirs else float("nan")
        r = lambda t: f"{peer / t:.2f}" if t else "-"
        print(f"{label}{self.name} {self.dtype[0]}{self.dtype[-2:]} {'x'.join(map(str, sizes.values()))} now/peer {r(now)} best/peer {r(ours[best]) if best else '-'} {best} [{nbytes/1e6:.1f}MB] | " + " ".join(f"{k}={v:.2f}" for k, v in found.items()), flush=True)
        return {"now": now, "peer": peer, **found}

def width_of(cols): return next(w for w in (4, 2, 1) if cols % w == 0)

@contextlib.contextmanager
def without_slab():
    real = ROWS_MODULE.many_short_rows
    ROWS_MODULE.many_short_rows = lambda *a: None
    try: yield
    finally: ROWS_MODULE.many_short_rows = real

# name: outputs and how the tensors are passed, slabs, floats a column
NORMS = {
    "rms_norm": (lambda i: (torch.empty_like(i[0]),), lambda i, o: (*i, *o), 1, 1),
    "layer_norm": (lambda i: (torch.empty_like(i[0]),), lambda i, o: (*i, *o), 1, 2),
    "softmax": (lambda i: (torch.empty_like(i[0]),), lambda i, o: (*i, *o), 1, 0),
    "softmax_backward": (lambda i: (torch.empty_like(i[0]),), lambda i, o: (*i, *o), 2, 0),
    "add_rms_norm": (lambda i: (torch.empty_like(i[0]), torch.empty_like(i[0])), lambda i, o: (*i, *o), 2, 1),
}

def norm_variants(b, rows, cols):
    p = b.program(str(HERE / f"c_{b.name}.cu") if b.name != "softmax_backward" else "cuda_registers")
    mod = load_module(b.kernel.folder / "cuda_registers.py", ())
    outs, args, slabs, floats = NORMS[b.name]
    size = 4 if b.dtype is Dtype.FLOAT32 else 2
    calls = {"now": lambda *i: mod.run(p, *i)}
    def old(*i):
        with without_slab():
            m = mod
            if hasattr(m, "many_short_rows"): m.many_short_rows = lambda *a: None
            return m.run(p, *i)
    def direct(name, grid, block, shared=0, early=True):
        def call(*i):
            o = outs(i)
            p.launch(f"{b.name}_{name}", grid, block, *args(i, o), rows, cols, shared_bytes=shared, overlaps=early)
            return o if len(o) > 1 else o[0]
        return call
    aligned = cols * size % 16 == 0
    if not aligned and b.name != "softmax_backward": calls["old"] = old
    for lanes in (1, 2, 4, 8):
        for threads in (128, 256):
            each = threads // lanes
            found = SLAB_MODULE.slab_by_lanes(torch.empty(rows, cols, dtype=getattr(torch, str(b.dtype)), device="meta"), lanes, threads, SLAB_MODULE.Space(slabs, 0, floats))
            if found and cols >= 2 * lanes:
                shared = found.shared_bytes
                assert found.blocks == -(-rows // each) and found.width == width_of(cols)
                calls[f"s{lanes}/{threads}"] = direct(f"slab_{width_of(cols)}_{lanes}", -(-rows // each), threads, shared)
                if lanes == 2 and threads == 128: calls["s2n/128"] = direct(f"slab_{width_of(cols)}_{lanes}", -(-rows // each), threads, shared, False)
    access = math.gcd(16, cols * size)
    packs = -(-cols * size // 16)
    if access in (4, 8) and size == 2 and b.name != "softmax_backward":
        for lanes in (1, 2, 4, 8, 16):
            if lanes * 2 >= packs > (lanes if lanes > 1 else 0):
                calls[f"p{lanes}"] = direct(f"pairs_{lanes}_by_{access}", -(-rows * lanes // 128), 128)
        for lanes in (2, 4, 8, 16, 32):
            if lanes >= packs > lanes // 2:
                calls[f"o{lanes}"] = direct(f"ones_{lanes}_by_{access}", -(-rows * lanes // 128), 128)
    if b.name != "softmax_backward" and not aligned:
        for lanes, each in ((16, 8), (32, 4), (32, 8)):
            if lanes * each >= cols > lanes * each // 2 and cols > 64: calls[f"e{lanes}.{each}"] = direct(f"elements_{lanes}_{each}", -(-rows * lanes // 128), 128)
    if b.name in ("rms_norm", "layer_norm", "softmax") and not aligned and size == 2:
        width = width_of(cols)
        each_access = 4 if width == 4 else 2
        for accesses in (2, 4) if width == 4 else (4, 8):
            lanes = next((l for l in (1, 2, 4, 8, 16) if l * accesses * each_access >= cols - (width == 1)), None)
            for threads in (128, 256):
                each = threads // (lanes or 1)
                shared = each * cols * size * slabs + 4 * floats * cols
                if lanes and shared <= 48 * 1024 and each % 8 == 0:
                    calls[f"k{lanes}.{accesses}/{threads}"] = direct(f"kept_{width}_{lanes}_{accesses}", -(-rows // each), threads, shared)
        each = cols - cols % 2
        sizes = mod.HELD.sizes
        if each <= sizes[-1] and cols >= mod.HELD.least:
            s = next(s for s in sizes if each <= s)
            calls["held"] = direct(f"held_{s}_{width_of(cols)}", -(-rows // 128), 128, 128 * cols * 2)
    return calls

def row_sum_variants(b, rows, cols):
    p = b.program(str(HERE / "c_row_sum.cu"))
    mod = load_module(b.kernel.folder / "cuda_pieces.py", ())
    size = 4 if b.dtype is Dtype.FLOAT32 else 2
    calls = {"now": lambda *i: mod.run(p, *i)}
    def direct(name, grid, block, shared=0):
        def call(x):
            y = torch.empty(rows, dtype=torch.float32, device=x.device)
            p.launch(f"row_sum_{name}", grid, block, x, y, rows, cols, shared_bytes=shared, overlaps=True)
            return y
        return call
    words = -(-(cols * size + 16 - size) // 16) if cols * size % 16 else cols * size // 16
    for lanes, most in ((4, 4), (8, 4), (16, 4), (32, 8)):
        for packs in (1, 2, 4, 8):
            if packs <= most and lanes * packs >= words and lanes * packs < 4 * words + lanes and (packs == 1 or lanes * packs // 2 < words):
                calls[f"l{lanes}x{packs}"] = direct(f"lanes_{lanes}_{packs}", -(-rows * lanes // 128), 128)
    for each, most in ((2, (1, 4)), (4, (1, 2, 4)), (6, (1, 2)), (8, (1, 2, 4)), (16, (1, 2)), (32, (1,))):
        if each * 32 >= cols > each * 16 or (each == 6 and 128 < cols <= 192):
            for r in most:
                calls[f"c{each}x{r}"] = direct(f"columns_{each}_{r}", -(-rows // (4 * r)), 128)
    if cols * size % 16:
        for threads in (32, 64, 128):
            if threads * cols * size <= 48 * 1024:
                calls[f"s/{threads}"] = direct(f"slab_{width_of(cols)}_1", -(-rows // threads), threads, threads * cols * size)
    return calls

def weighted_variants(b, rows, cols):
    p = b.program("cuda_row")
    mod = load_module(b.kernel.folder / "cuda_row.py", ())
    size = 4 if b.dtype is Dtype.FLOAT32 else 2
    calls = {"now": lambda *i: mod.run(p, *i)}
    def old(*i):
        real = mod.slab_of
        mod.slab_of = lambda *a: None
        try: return mod.run(p, *i)
        finally: mod.slab_of = real
    if cols * size % 16: calls["old"] = old
    def direct(name, grid, block, shared=0):
        def call(x, w):
            y = torch.empty(rows, dtype=x.dtype, device=x.device)
            p.launch(f"weighted_sum_{name}", grid, block, x, w, y, rows, cols, shared_bytes=shared, overlaps=True)
            return y
        return call
    for each, most in ((2, (1, 4)), (4, (1, 2, 4)), (8, (1, 2, 4)), (16, (1, 2)), (32, (1,))):
        if each * 32 >= cols > each * 16:
            for r in most:
                for turns in (1, 4):
                    calls[f"c{each}x{r}/{turns}"] = direct(f"columns_{each}_{r}", -(-rows // (4 * r * turns)), 128)
    for lanes in (1, 2, 4, 8):
        for threads in (64, 128, 256):
            each = threads // lanes
            shared = each * cols * size + 4 * cols
            if shared <= 48 * 1024 and cols >= 2 * lanes and each * cols * size % 16 == 0 and (lanes == 1 or threads > 64):
                calls[f"s{lanes}/{threads}"] = direct(f"slab_{width_of(cols)}_{lanes}", -(-rows // each), threads, shared)
    return calls

def cumsum_variants(b, rows, cols):
    p = b.program("cuda_lookback")
    mod = load_module(b.kernel.folder / "cuda_lookback.py", ())
    size = 4 if b.dtype is Dtype.FLOAT32 else 2
    calls = {"now": lambda *i: mod.run(p, *i)}
    def direct(name, grid, block, shared=0, early=True):
        def call(x):
            y = torch.empty_like(x)
            p.launch(f"cumsum_{name}", grid, block, x, y, rows, cols, shared_bytes=shared, overlaps=early)
            return y
        return call
    def old(*i):
        real = mod.slab_of
        mod.slab_of = lambda *a: None
        try: return mod.run(p, *i)
        finally: mod.slab_of = real
    calls["old"] = old
    for threads in (32, 64, 128, 256):
        if threads * cols * size <= 64 * 1024:
            calls[f"s/{threads}"] = direct(f"slab_{width_of(cols)}_1", -(-rows // threads), threads, threads * cols * size)
    if cols * size % 16 == 0:
        pitch = cols * size // 16 | 1
        for threads in (32, 64, 128, 256):
            if threads * pitch * 16 <= 64 * 1024:
                calls[f"a/{threads}"] = direct("apart", -(-rows // threads), threads, threads * pitch * 16)
    return calls

def sb_variants(b, rows, cols):
    p = b.program(str(HERE / "sb.cu"))
    q = b.program("cuda_registers")
    mod = load_module(b.kernel.folder / "cuda_registers.py", ())
    calls = {"now": lambda *i: mod.run(q, *i)}
    packs = cols // 8
    def direct(name, grid, block, shared=0):
        def call(dy, y):
            dx = torch.empty_like(dy)
            p.launch(name, grid, block, dy, y, dx, rows, cols, shared_bytes=shared)
            return dx
        return call
    combos = [(t, k, l, s, 1, 0) for t, k in ((512, 1), (256, 2), (128, 4)) for l, s in ((0, 0), (1, 0), (3, 0), (2, 0), (1, 1), (1, 2), (4, 0))]
    combos += [(256, 2, 1, 0, 2, 0), (512, 1, 1, 0, 2, 0), (512, 1, 1, 0, 1, 1), (256, 2, 1, 0, 1, 1)]
    for t, k, l, s, r, rev in combos:
        if t * k >= packs: calls[f"k{t}x{k}l{l}s{s}r{r}{'v' if rev else ''}"] = direct(f"k_{t}_{k}_{l}_{s}_{r}_{rev}", -(-rows // r), t)
    for stages, last, bulk in ((3, 0, 1), (3, 1, 1), (6, 0, 1), (6, 1, 1), (3, 1, 0), (6, 1, 0)):
        shared = stages * 2 * cols * 2
        per = min((220 * 1024) // (shared + 1024), 8)
        if per: calls[f"r{stages}l{last}b{bulk}"] = direct(f"r_{stages}_{last}_{bulk}", min(rows, 132 * per), 256, shared)
    return calls

def code_variants(b, rows, cols):
    p = b.program("cuda_registers")
    mod = load_module(b.kernel.folder / "cuda_registers.py", ())
    calls = {"now": lambda *i: mod.run(p, *i)}
    fp8 = b.name != "quantize_int8"
    def old(*i):
        real = mod.slab_of
        mod.slab_of = lambda *a: None
        try: return mod.run(p, *i)
        finally: mod.slab_of = real
    calls["old"] = old
    def direct(lanes, threads, shared):
        each = threads // lanes
        def call(x, *w):
            q = torch.empty((rows, cols), dtype=torch.float8_e4m3fn if fp8 else torch.int8, device=x.device)
            scale = torch.empty(rows, dtype=torch.float32, device=x.device)
            p.launch(f"{'rms_norm_quantize' if fp8 else 'quantize'}_slab_{width_of(cols)}_{lanes}", -(-rows // each), threads, x, *w, q, scale, rows, cols, shared_bytes=shared, overlaps=True)
            return q, scale
        return call
    for lanes in (1, 2, 4, 8):
        for threads in (128, 256):
            each = threads // lanes
            shared = each * cols * 3 + (4 * cols if fp8 else 0)
            if shared <= 48 * 1024 and cols >= 2 * lanes and each % 16 == 0: calls[f"s{lanes}/{threads}"] = direct(lanes, threads, shared)
    return calls

VARIANTS = {"quantize_int8": code_variants, "rms_norm_quantize_fp8": code_variants, **dict.fromkeys(NORMS, norm_variants), "row_sum": row_sum_variants, "weighted_sum": weighted_variants, "cumsum": cumsum_variants}
MAIN = {"layer_norm_backward": ("cuda_lanes", "cuda_persistent"), "rms_norm_backward": ("cuda_lanes", "cuda_persistent")}

def main_stems(kernel):
    if kernel.spec.name in MAIN: return MAIN[kernel.spec.name]
    return tuple(v.stem for v in kernel.implementations if v.provider is Provider.CUDA and v.stem in ("cuda_registers", "cuda_packed", "cuda_pieces", "cuda_row", "cuda_lookback", "cuda_online", "cuda_swizzled", "cuda_shared", "cuda_columns", "cuda_groups", "cuda_threshold", "cuda_phases"))

def region(name, shapes, compiled, seed_triton=()):
    b = Bench(name)
    for at, (rows, cols) in enumerate(shapes):
        sizes = {"rows": rows, "cols": cols}
        stems = ["eager", *(["compile_default"] if (rows, cols) in compiled else [])]
        try: b.run(sizes, VARIANTS[name](b, rows, cols), "", stems)
        except Exception as e: print("!!!", name, sizes, str(e)[:200]); traceback.print_exc(limit=4)

def survey(name, seed, count, compiled, skip_long=True):
    b = Bench(name)
    try: shapes = draw(b.kernel.spec, b.dtype, seed=seed, count=count, memory_bytes=64 * 2**30)
    except Exception as e: print("!!!", name, str(e)[:100]); return
    done = 0
    for shape in shapes:
        if skip_long and shape.kind is Kind.LONG: continue
        sizes = shape.workload.sizes
        stems = ["eager", *main_stems(b.kernel), *(["compile_default"] if done < compiled else [])]
        done += 1
        try:
            found = b.run(sizes, {}, "S ", stems)
            if not found: continue
            ours = [v for k, v in found.items() if k.startswith("cuda")]
            if ours and found["peer"] / min(ours) < 0.97:
                more = [v.stem for v in b.kernel.implementations if v.provider is Provider.TRITON and v.stem in candidates(b.kernel, b.dtype)]
                if more: b.run(sizes, {}, "S2 ", [*stems, *more])
        except Exception as e: print("!!!", name, sizes, str(e)[:200]); traceback.print_exc(limit=4)

def work(tasks):
    torch.set_num_threads(1)
    try:
        import importlib
        h = importlib.import_module("torch._inductor.runtime.triton_heuristics")
        tune = h.CachingAutotuner.benchmark_all_configs
        def alone(*a, **k):
            with gate.checking(): return tune(*a, **k)
        h.CachingAutotuner.benchmark_all_configs = alone
    except Exception as e: print("no tuning lock", e)
    for f, *args in tasks:
        if left() < 3: break
        try: f(*args)
        except Exception as e: print("!!!", f, args[:1], str(e)[:200]); traceback.print_exc(limit=4)
    print(f"# a process ended at {time.monotonic()-BEGAN:.0f} s, held {held.value:.1f} s", flush=True)

def big(): 
    b = Bench("softmax_backward")
    for rows, cols in ((32768, 4096),):
        b.run({"rows": rows, "cols": cols}, sb_variants(b, rows, cols), "", ["eager", "compile_default", "library_quack", "triton_registers"], rounds=6)

def play(groups):
    ctx = mp.get_context("fork")
    procs = [ctx.Process(target=work, args=(g,)) for g in groups]
    for p in procs: p.start()
    for p in procs: p.join(max(left() + 6, 1))
    for p in procs:
        if p.is_alive(): p.kill()
    print(f"# held {held.value:.1f} s in all; {time.monotonic()-BEGAN:.0f} s", flush=True)

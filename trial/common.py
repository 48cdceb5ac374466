import sys, time, threading, os
START = time.time()
sys.path.insert(0, ".exp")
import runpy
from pathlib import Path
top = Path.cwd(); runpy.run_path(str(top / "main.py")); sys.path.insert(0, str(top / ".ci" / "path"))
import torch
from statistics import median
from roofscope import tensor_map
from roofscope.kernels.shared.wgmma_plans import TILES, Tile, EQUAL, ROW, BAND, best, Plan
from roofscope.kernels.shared.tile_shares import new_ticket
from roofscope.profiling.worker.build.providers.cuda import CudaProgram
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.timing.graphs import OutputPool
from new_tiles import NEW

ALL = dict(TILES)
for name, (r, c, s, a, e, p, x) in NEW.items():
    ALL[name] = Tile(r, c, stages=s, step_ns=int(r * c * 0.0175 + 30), start_ns=400, above=a, beside=e, parts=p, across=x)
DEV = torch.device("cuda", 0)

def said(*a): print(f"[{time.time() - START:6.1f}]", *a, flush=True)

from roofscope.profiling.worker.build.providers import cuda as cuda_provider
import json
HAS_OF = json.loads(Path(".exp/cu/kernels.json").read_text())
MADE = Path(os.environ.get("CUBINS", "/tmp/hB_cubins"))
SCALARS = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16"}

def cubin_of(piece):
    """In a process of its own: NVRTC, with the variant's headers in front of the tree's."""
    made, h = MADE / f"{piece}.cubin", HAS_OF[piece]
    if made.exists(): return piece, ""
    try:
        core, top_ = cuda_provider.core, Path.cwd()
        options = core.ProgramOptions(name=piece, arch="sm_90a", std="c++17",
            include_path=[*([str(top_ / h["folder"])] if h["folder"] else []), str(top_ / "kernels"), str(cuda_provider.cuda_include_folder())],
            define_macro=[("SCALAR", SCALARS[h["dtype"]]), f"SCALAR_IS_{h['dtype'].upper()}"])
        module = core.Program(Path(f".exp/cu/{piece}.cu").read_text(), "c++", options).compile("cubin")
        part = made.with_suffix(f".{os.getpid()}")
        part.write_bytes(bytes(module.code)); part.rename(made)
        return piece, ""
    except Exception as error: return piece, str(error)[:1500]

class Pieces:
    """As a program, of several sources: each kernel by the one that has it."""
    def __init__(self, variant):
        self.of, self.any = {}, None
        for piece, h in HAS_OF.items():
            if h["variant"] != variant or not (MADE / f"{piece}.cubin").exists(): continue
            one = CudaProgram(Path(f".exp/cu/{piece}.cu"), Dtype(h["dtype"]), "sm_90a", DEV)
            self.of.update(dict.fromkeys(h["kernels"], one)); self.any = self.any or one
        self.multiprocessor_count = 132
    def one(self, name): return self.of.get(name) or self.of.get("*")
    def launch(self, name, *a, **k): self.one(name).launch(name, *a, **k)
    def clusters_at_once(self, name, *a, **k): return self.one(name).clusters_at_once(name, *a, **k)
    def __contains__(self, name): return self.one(name) is not None

cuda_provider.compiled = lambda source, *a, **k: (cuda_provider.core.ObjectCode.from_cubin((MADE / f"{source.stem}.cubin").read_bytes()), "")

def compiled(variants):
    if os.environ.get("DRY"): return {}
    import multiprocessing as mp
    MADE.mkdir(parents=True, exist_ok=True)
    pieces = [p for p, h in HAS_OF.items() if h["variant"] in variants]
    with mp.get_context("fork").Pool(int(os.environ.get("JOBS", "14"))) as pool:  # before CUDA is touched
        for piece, error in pool.imap_unordered(cubin_of, pieces, chunksize=1):
            if error: print("NO", piece, error, flush=True)
    said("compiled", len(pieces))
    return {} if os.environ.get("DRY") else {v: Pieces(v) for v in variants}

def launch(prog, name, tile, plan, a, b, dtype, *extra, warp=False, direct=False, overlaps=True):
    along_n = b.element_size() == 2
    (m, k), n = a.shape, b.shape[1 if along_n else 0]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    step = ROW // a.element_size()
    sums, flags = c, c
    if tile.parts == EQUAL and plan.alone < tile.count(m, n):
        sums = torch.empty(plan.blocks * tile.rows * tile.columns, dtype=torch.float32, device=a.device)
        flags = torch.empty(plan.blocks * tile.warpgroups, dtype=torch.int64, device=a.device)
    box = ROW // dtype.itemsize
    is_loose = n * dtype.itemsize % 16 != 0
    c_rows = 16 if warp and not tile.across else tile.c_rows
    c_box = (c_rows, box if tile.columns % box == 0 else box // 2)
    in_bands = step // (tile.above if tile.columns % (BAND * tile.above) else 1)
    b_box = (in_bands, BAND) if along_n else (tile.columns // tile.above, step)
    a_map = tensor_map(a, (tile.rows // tile.beside, step))
    prog.launch(name, plan.blocks, tile.threads, a_map, tensor_map(b, b_box), a_map if is_loose else tensor_map(c, c_box),
                m, n, k, sums, flags, new_ticket(), plan.alone, c if is_loose or direct else 0, *extra,
                shared_bytes=tile.shared_bytes, overlaps=overlaps)
    return c

def replay_us(graph, count, n):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay(); a.record()
    for _ in range(count): graph.replay()
    b.record(); b.synchronize()
    return a.elapsed_time(b) * 1e3 / count / n

def captured(calls, sets):
    """Captures outside of the timing gate."""
    pool, graphs = OutputPool(), {}
    for label, call in calls.items():
        try: graphs[label] = pool.capture(call, sets, len(sets))
        except Exception as error: print("   ", label, "has no graph:", str(error)[:120], flush=True)
    return pool, graphs

def times(graphs, n, more=6, near=1.12, keep=(), block_us=400):
    """One quick round of all, more of those that are near."""
    first = {k: min(replay_us(g, 1, n), replay_us(g, 1, n)) for k, g in graphs.items()}
    least = min(first.values())
    close = [k for k in graphs if first[k] < least * near or k in keep]
    count = {k: max(1, min(20, int(block_us / (first[k] * n)))) for k in close}
    found = {k: [] for k in close}
    for r in range(more):
        for k in (close if r % 2 else close[::-1]):
            found[k].append(replay_us(graphs[k], count[k], n))
    return {**first, **{k: median(v) for k, v in found.items()}}, set(close)

def uniform(shape, dtype):
    return (torch.rand(shape, device=DEV) * 2 - 1).to(dtype)

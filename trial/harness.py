"""harness.py: times calls as the engine does: each call captured by itself, in a chain; in turns, L2 cold.

    from harness import timed
    found = timed({"now": call, "variant": call2, "eager": call3}, sets, rounds=10)   # {label: median us a call}

`sets`: input tuples (rotate more than 150 MB of inputs and outputs together where the shape allows; at most 64).
Put `with gate.timing():` round it. A capture that fails is left out and its reason printed.
Run main.py first, as below, so that roofscope is importable from the tree that you run in.
"""
import runpy, sys
from pathlib import Path
from statistics import median
top = Path.cwd(); runpy.run_path(str(top / "main.py")); sys.path.insert(0, str(top / ".ci" / "path"))
import torch
from roofscope.profiling.worker.timing.graphs import OutputPool

def _ms(graph, count):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay(); a.record()
    for _ in range(count): graph.replay()
    b.record(); b.synchronize()
    return a.elapsed_time(b) / count

def timed(calls, sets, rounds=10, block_ms=1.5):
    pool, graphs = OutputPool(), {}
    for label, call in calls.items():
        try:
            call(*sets[0]); torch.cuda.synchronize()
            graphs[label] = pool.capture(call, sets, len(sets))
        except Exception as error:
            print("   ", label, "has no time:", str(error)[:160], flush=True)
    count = {k: max(1, min(40, int(block_ms / max(_ms(g, 1), 1e-4)))) for k, g in graphs.items()}
    found = {k: [] for k in graphs}
    for r in range(rounds):
        for k in (list(graphs) if r % 2 else reversed(list(graphs))):
            found[k].append(_ms(graphs[k], count[k]) * 1e3 / len(sets))
    return {k: median(v) for k, v in found.items()}

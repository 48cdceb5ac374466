import os, sys, time, subprocess, signal
sys.path.insert(0, ".exp")
T0 = time.time(); LIMIT = float(os.environ.get("LIMIT", "115"))
def left(): return LIMIT - (time.time() - T0)
def say(*a): print(*a, flush=True)
import variants
from pathlib import Path
src = Path("/tmp/o/hC/src"); src.mkdir(parents=True, exist_ok=True)
names = list(variants.V)
order = [names[i::14] for i in range(14)]
CHECK = os.environ.get("CHECK"); GOOD = "/tmp/o/hC/good"
procs = []
if not CHECK:
    for f in src.glob("*.cubin*"): f.unlink()
    open(GOOD, "w").close()
    procs = [subprocess.Popen([sys.executable, ".exp/comp.py", *o]) for o in order]
    checker = None
def start_checker(skip):
    global checker
    checker = subprocess.Popen([sys.executable, ".exp/bench.py"], env={**os.environ, "CHECK": "1", "SKIP": " ".join(skip)})
if not CHECK: start_checker([])
def ready(kind):
    """Waits until every variant of a kind was checked, or hangs."""
    seen, since = 0, time.time()
    while left() > 5:
        lines = [l.split() for l in open(GOOD).read().splitlines() if len(l.split()) == 2]
        state = {n: s for s, n in lines}
        good.clear(); good.update(n for n, s in state.items() if s == "ok")
        if all(state.get(n, "try") != "try" for n in names if n.split(".")[0] == kind): return
        if len(lines) != seen: seen, since = len(lines), time.time()
        trying = [n for n, s in state.items() if s == "try"]
        if (trying and time.time() - since > 25) or checker.poll() is not None:
            if checker.poll() is None: checker.kill()
            with open(GOOD, "a") as f:
                for n in trying: f.write(f"bad {n}\n"); say("HANGS OR DIES", n)
            state.update({n: "bad" for n in trying}); start_checker(list(state)); since = time.time()
        time.sleep(0.2)
good = set()

from gate import checking, timing
from harness import timed, torch, OutputPool, _ms

from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.planning.spec import Dtype
from roofscope.kernels.shared import wgmma_attention_backward as wab, short_attention_backward as sab
core = cuda.core
held = [0.0]
class Held:
    # A hang ends its process by SIGALRM, whoever waits for whom: else it would hold the gate, and this and all other
    # scripts would wait for it to the end.
    def __enter__(self): self.g = timing(); self.g.__enter__(); self.t = time.time(); signal.alarm(30)
    def __exit__(self, *a): 
        torch.cuda.synchronize(); signal.alarm(0); held[0] += time.time() - self.t; return self.g.__exit__(*a)
try:
    from roofscope.kernels.shared import fa4
except Exception as e:
    fa4 = None; say("no fa4", repr(e)[:200])
from roofscope.kernels.shared.torch_attention import cudnn_gradients
def load(name):
    f = src / f"{name}.cubin"
    until = time.time() + min(60, left())
    while not f.exists() and time.time() < until: time.sleep(0.1)
    if not f.exists(): say("not compiled", name); return None
    p = cuda.CudaProgram.__new__(cuda.CudaProgram)
    p.architecture = "sm_90a"; p.device = torch.device("cuda", 0); p.launched = {}; p._name = name
    p._module = core.ObjectCode.from_cubin(f.read_bytes()); p._ptx = ""
    p._functions, p._shared_bytes, p._clusters, p._at_once = {}, {}, {}, {}
    return p
def long(program, causal, pair=None, none=False):
    def call(*x):
        old = wab.short_plan, wab.blocks_together, wab.heads_within
        if none: wab.heads_within = lambda *a, **k: 0
        wab.short_plan = lambda *a, **k: None
        if pair: wab.blocks_together = lambda *a, **k: pair
        try: return wab.gradients(program, "x", *x, causal=causal)
        finally: wab.short_plan, wab.blocks_together, wab.heads_within = old
    return call
def short(program, causal, way):
    def call(*x):
        old = wab.short_plan
        wab.short_plan = lambda *a, **k: way
        try: return wab.gradients(program, "x", *x, causal=causal)
        finally: wab.short_plan = old
    return call
gen = torch.Generator("cuda"); 
def inputs(b, h, n, d, causal, count=1):
    out = []
    for _ in range(count):
        q, k, v, do = ((torch.rand(b, h, n, d, device="cuda", generator=gen) * 2 - 1).bfloat16() for _ in range(4))
        o, lse = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[:2]
        out.append((q, k, v, o.contiguous(), lse.float().contiguous(), do))
    return out
def reference(x, causal):
    q, k, v, o, lse, do = (t.double() for t in x)
    s = q @ k.mT / q.shape[-1] ** 0.5
    if causal: s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
    p = (s - lse[..., None]).exp(); dv = p.mT @ do
    ds = p * (do @ v.mT - (do * o).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
    return ds @ k, ds.mT @ q, dv
def errors(found, wanted): return [float((f.double() - w).norm() / w.norm().clamp_min(1e-30)) for f, w in zip(found, wanted)]
torch.cuda.init(); device_name = torch.cuda.get_device_name()
def label(name): return name.split(".")[1]
P = {}
def programs(kind):
    for n in names:
        if n.split(".")[0] == kind and n not in P:
            p = load(n)
            if p: P[n] = p
    return {n: P[n] for n in names if n.split(".")[0] == kind and n in P}
def check_all(out):
    """Prints and writes names that are right. The risky ones come last: a hang ends this process alone."""
    refs = {}
    def refs_of(c, dim, shapes):
        for s in shapes:
            if (c, dim, s) not in refs:
                x = inputs(*s, dim, c)[0]; refs[c, dim, s] = (x, reference(x, c))
        return [(s, *refs[c, dim, s]) for s in shapes]
    LONG, SHORT = [(1, 2, 333), (2, 3, 1000), (1, 2, 2200), (3, 11, 2303)], [(1, 2, 333), (2, 3, 1000)]
    def note(what):
        with open(out, "a") as f: f.write(what + "\n")
    for name in names:
        if name in os.environ.get("SKIP", "").split(): continue
        kind = name.split(".")[0]; causal, d = kind[0] == "c", kind[1:]
        p = load(name)
        if not p: note("bad " + name); continue
        with checking():
            note("try " + name); signal.alarm(20)
            worst, ok = 0.0, True
            for dim in ((64, 128) if d == "s" else (int(d),)):
                for s, x, w in refs_of(causal, dim, SHORT if d == "s" else LONG):
                    if d == "s": calls = {str(c.short): short(p, causal, c.short) for c in sab.COSTS[dim]}
                    else:
                        calls = {"1": long(p, causal, 1), "w0": long(p, causal, 1, True)}
                        if d == "128" and -(-s[2] // 128) % 2 == 0: calls["2"] = long(p, causal, 2)
                    for way, call in calls.items():
                        e = errors(call(*x), w); torch.cuda.synchronize()
                        bad = not max(e) < 6e-3
                        worst = max(worst, *e)
                        if bad: ok = False; say("check", name, s, dim, way, " ".join(f"{v:.2e}" for v in e), "BAD")
            signal.alarm(0)
        say("checked", name, f"{worst:.2e}", "ok" if ok else "BAD", round(time.time() - T0, 1))
        note(("ok " if ok else "bad ") + name)
if CHECK:
    check_all(GOOD); sys.exit(0)
with checking():
    x = inputs(1, 1, 256, 128, False)[0]; torch.cuda.synchronize()
    if fa4:
        for d in (128, 64):
            for c in (False, True):
                try: fa4.gradients(*inputs(1, 2, 300, d, c)[0], causal=c)
                except Exception as e: say("fa4 fails", d, c, repr(e)[:300])
say("# start", device_name, round(time.time() - T0, 1))
def show(title, found, base="base"):
    ref = found.get("fa4"); ours = found.get(base)
    say(title, "|", " ".join(f"{k}={v:.1f}({ref / v:.3f})" if ref else f"{k}={v:.1f}" for k, v in found.items()))
def go(title, calls, sets, **kw):
    if left() < 6: say("no time for", title); return
    with Held(): found = timed(calls, sets, **kw)
    show(title, found)
def measure_long(kind, shapes, extra=(), rounds=4):
    ready(kind)
    causal, d = kind[0] == "c", int(kind[1:])
    for b, h, n in shapes:
        count = 1 if b * h * n * n > 6e9 else 2
        with checking(): sets = inputs(b, h, n, d, causal, count)
        calls = {"fa4": lambda *x: fa4.gradients(*x, causal=causal)} if fa4 else {}
        for name, p in programs(kind).items():
            if name in good: calls[label(name)] = long(p, causal)
        if f"{kind}.new" in good: calls["new:w0"] = long(P[f"{kind}.new"], causal, None, True)
        for e in extra:
            if f"{kind}.{e}" in good: calls[e + ":1"] = long(P[f"{kind}.{e}"], causal, 1)
        go(f"{kind} {b}x{h}x{n}", calls, sets, rounds=rounds)
def sustained(kind, shape, which, count=20):
    ready(kind); programs(kind)
    causal, d = kind[0] == "c", int(kind[1:]); b, h, n = shape
    if left() < 10: return
    with checking(): sets = inputs(b, h, n, d, causal, 2)
    calls = {"fa4": lambda *x: fa4.gradients(*x, causal=causal)} if fa4 else {}
    for w in which:
        if f"{kind}.{w}" in good: calls[w] = long(P[f"{kind}.{w}"], causal)
    with Held():
        pool, graphs = OutputPool(), {}
        for k, c in calls.items(): c(*sets[0]); graphs[k] = pool.capture(c, sets, 2)
        found = {k: [] for k in graphs}
        for r in range(2):
            for k in (list(graphs) if r else reversed(list(graphs))): found[k].append(_ms(graphs[k], count // 2) * 500)
    show(f"sustained {kind} {b}x{h}x{n}", {k: sum(v) / len(v) for k, v in found.items()})
def measure_mid(kinds, shapes, rounds=8):
    """kinds: (long kind, short kind); shapes: b, h, n."""
    kl, ks = kinds; ready(kl); ready(ks); programs(kl); programs(ks); causal, d = kl[0] == "c", int(kl[1:])
    count_sm = torch.cuda.get_device_properties(0).multi_processor_count
    for b, h, n in shapes:
        per = 8 * b * h * n * d * 2 / 1e6
        count = max(1, min(16, int(150 / per)))
        with checking(): sets = inputs(b, h, n, d, causal, count)
        calls = {"fa4": lambda *x: fa4.gradients(*x, causal=causal)} if fa4 else {}
        for name in MID_LONG[kl]:
            if f"{kl}.{name}" in good:
                calls["L" + name] = long(P[f"{kl}.{name}"], causal)
                if name == MID_LONG[kl][-1]: calls["L" + name + "/w0"] = long(P[f"{kl}.{name}"], causal, None, True)
                if d == 128 and n >= 700 and name == MID_LONG[kl][-1] and -(-n // 128) % 2 == 0: calls["L" + name + "/p"] = long(P[f"{kl}.{name}"], causal, 3 - wab.blocks_together(128, -(-n // 128), n, causal=causal))
        for name in ("base", "edge"):
            if f"{ks}.{name}" not in good: continue
            for c in sab.COSTS[d]:
                blocks = sab._blocks(c.short, b * h, n)
                if c.alone and blocks > count_sm: continue
                calls[f"S{name}:{c.short.kernel[6:]}/{c.short.parts}.{c.short.stages}"] = short(P[f"{ks}.{name}"], causal, c.short)
        plan = sab.short_plan(b * h, n, d, count_sm, causal=causal)
        go(f"{kl} {b}x{h}x{n} plan={plan and (plan.kernel[6:], plan.parts, plan.stages)} sets={count}", calls, sets, rounds=rounds)
MID_LONG = {"f128": ["base", "edge4", "tel4", "new"], "f64": ["base", "late1", "new"], "c128": ["base", "tel3", "new"], "c64": ["base", "late1", "new"]}
exec(open(".exp/plan.py").read())
say("# held", round(held[0], 1), "s; all", round(time.time() - T0, 1))
for p in [*procs, checker]: p.poll() is None and p.kill()

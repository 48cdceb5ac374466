from common import *
p, m, e = program("linear_cross_entropy_training")
fr = m.few_rows
from roofscope.kernels.shared.whole_rows import both_in_whole_units
def few(x, w, l, dl, loose=None, small=None):
    loss = torch.empty(len(x), dtype=x.dtype, device=x.device); dx, dw = torch.empty_like(x), torch.empty_like(w)
    if not loose: x, w = both_in_whole_units(p, x, w)
    fr.run(p, x, w, l, dl, (loss, dx, dw), small=small, loose=loose)
    return loss, dx, dw
bad = 0
with gate.checking():
    for n, (r, v, h) in enumerate(CASES):
        x, w, l, dl = inputs(r, v, h)
        if r > 2: l[1] = -100
        loss, lse, dx, dw = reference(x, w, l, dl)
        for px, pw in ((0, 0), (1, 3), (6, 5 + n % 3)):
            a, b = moved(x, px), moved(w, pw)
            for name in fr.LOOSE:
                got = few(a, b, l, dl, loose=name); torch.cuda.synchronize()
                es = [(got[0].double() - loss).abs().max().item() / max(loss.abs().max().item(), 1e-3), err(got[1], dx) if v > 1 else 0, err(got[2], dw) if v > 1 else 0]
                if not max(es) < 1.5e-2: bad += 1; print("WRONG", name, (r, v, h), (px, pw), es, flush=True)
print(f"# train correctness: {bad} wrong, {left():.0f} s left", flush=True)
from roofscope.profiling.planning.parameters import Parameter
import inspect
q = None
def parts_of(r, v, h):
    with gate.timing():
        size = 2*h*(r+v)
        def make():
            x, w, l, dl = inputs(r, v, h)
            return x, w, l, dl, torch.empty(r, device="cuda", dtype=BF), torch.empty_like(x), torch.empty_like(w), torch.randn(r, v + -v % 256, device="cuda", dtype=BF) * 0.01
        sets = sets_of(make, 2*size)
        calls = {}
        calls["now"] = lambda x, w, l, dl, lo, dx, dw, d: both_in_whole_units(p, x, w)
        calls["xcopy"] = lambda x, w, l, dl, lo, dx, dw, d: fr.one_in_whole_units(p, x)
        for name in ("loose_powers_1_64", "loose_powers_1_128", "loose_powers_2_128"):
            calls["d" + name[13:]] = (lambda name: lambda x, w, l, dl, lo, dx, dw, d: fr._make_d(p, x, w, l, dl, lo, name))(name)
        calls["dx"] = lambda x, w, l, dl, lo, dx, dw, d: (fr._make_dx(p, d, w, dx, True), dx)  # what returns None is refused
        c = -(-h // 128)
        for k in (1, 2, 3, 5, 8, 11, 16): calls[f"dx_{k}"] = (lambda k: lambda x, w, l, dl, lo, dx, dw, d: (fr._make_dx(p, d, w, dx, True, max(132 * k // (4 * c), 1)), dx))(k)
        calls["dw"] = lambda x, w, l, dl, lo, dx, dw, d: (fr._make_dw(p, d, fr.one_in_whole_units(p, x), dw), dw)
        if q: calls["dw4"] = lambda x, w, l, dl, lo, dx, dw, d: (fr._make_dw(q, d, fr.one_in_whole_units(p, x), dw), dw)
        calls["eager_z"] = lambda x, w, l, dl, lo, dx, dw, d: e.logits(x, w)
        calls["eager_dx"] = lambda x, w, l, dl, lo, dx, dw, d: d[:, :v] @ w
        calls["eager_dw"] = lambda x, w, l, dl, lo, dx, dw, d: d[:, :v].T @ x
        found = timed(calls, sets, rounds=5, block_ms=1.0)
    line(("parts", r, v, h), found, size / 4.0e6, ("eager_z",))
try:
    q = cuda.CudaProgram(LIBRARY / "linear_cross_entropy_training" / "four.cu", Dtype.BFLOAT16, cuda.architecture_of(torch.cuda.get_device_capability()), torch.device("cuda", 0))
except Exception as error: print("#", repr(error)[:200])
SH = [(9,41232,1451),(156,54207,1353),(41,56994,301),(3,127059,343),(7,7273,3731),(16,103872,1020),(243,9435,2419),(1,98056,1259),(22,3683,341),(128,32001,513),(64,32001,1023),(18,811,7929),(1,2133,6819),(157,17793,873),(12,97082,2956),(205,915,319),(52,765,99),(248,104270,166),(2,50797,94),(339,62372,339),(67,325,629),(525,1616,3583)]
spent = 0
for r, v, h in SH:
    if left() < 6 or spent > 12: print("# out of time", spent); break
    size = 2*h*(r+v)
    with gate.timing():
        t = time.time()
        sets = sets_of(lambda: inputs(r, v, h), 2*size)
        calls = {"now": lambda x, w, l, dl: m.run(p, x, w, l, dl), "eager": e.run}
        if r <= 256:
            calls["copy_few"] = few
            for name in fr.LOOSE: calls[name[13:]] = (lambda name: lambda *a: few(*a, loose=name))(name)
        if r > 64: calls.pop("of_parts", 0)
        found = timed(calls, sets, rounds=6, block_ms=1.0)
        spent += time.time() - t
    line((r, v, h), found, 2 * size / 4.0e6)
    if (r, v, h) in ((9,41232,1451), (128,32001,513), (64,32001,1023)): parts_of(r, v, h)
    del sets

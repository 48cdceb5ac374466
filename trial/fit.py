import re, sys, math, runpy, numpy as np
from pathlib import Path
top = Path.cwd(); runpy.run_path(str(top / "main.py")); sys.path.insert(0, str(top / ".ci" / "path")); sys.path.insert(0, ".exp")
from roofscope.kernels.shared import wgmma_plans as P
from roofscope.kernels.shared.wgmma_plans import *
from new_tiles import NEW
ALL = dict(TILES)
for name, (r, c, s, a, e, p, x) in NEW.items():
    if name not in ALL: ALL[name] = Tile(r, c, stages=s, step_ns=int(r * c * 0.0175 + 30), start_ns=400, above=a, beside=e, parts=p, across=x)

def rows_of(files, variant="early"):
    out, cur = [], None
    for f in files:
        for line in open(f):
            m = re.match(r"\[ *[\d.]+\] bf16 now=(\S+) (\d+)x(\d+)x(\d+) held", line)
            if m: cur = tuple(map(int, m.groups()[1:])); continue
            if line.startswith("[") : cur = None
            if cur and line.startswith("  ") and ";" in line:
                for part in line.strip().split("; "):
                    lab, v = part.rsplit(" ", 1)
                    quick = lab.endswith("?"); lab = lab.rstrip("?")
                    if not lab.startswith(variant + ":"): continue
                    name = lab.split(":")[1]; alone = None
                    if "/" in name: name, z = name.split("/"); blocks, alone = map(int, z.split(","))
                    out.append((cur, name, alone, float(v) * 1e3, quick))
    return out

def best_of(rows):
    d = {}
    for s, n, a, v, q in rows: d[s] = min(d.get(s, 1e18), v)
    return d

class G: pass
g0 = dict(end0=235., end_el=1/19., meet0=21., meetlog=6., meet_el=1/11.7, eq0=56., eq1=1107., eq_el=1/34.6, crowd_a=P._CROWD_A_NS, crowd_b=P._CROWD_B_NS, line=P._LINE_NS, amid=P._AMID, multi=P._MULTICAST_BYTES_PER_NS, dram=float(P._DRAM_BYTES_PER_NS), shared=float(P._SHARED_STEP_NS), offset=2000.)

def predict(t, size, alone, g, step_ns, start_ns, mp=132, c_bytes=2):
    m, n, k = size; steps = -(-k // 64)
    al = (k % 64 == 0, n % 64 == 0)
    together = t.cluster * max(t.parts, 1)
    most = most_blocks(together, mp, None)
    units, count = most // t.cluster, t.count(m, n)
    whole, rest = divmod(count, units)
    of_a, of_b = t.rows / t.beside, t._bands / t.above
    lines = g["line"] * (of_a * (1 if al[0] else g["amid"]) + of_b * (1 if al[1] else g["amid"]))
    multi = t._step_bytes / g["multi"] if t.cluster > 1 else 0
    step = (max(step_ns, 1.) ** 3 + lines ** 3 + multi ** 3) ** (1 / 3)
    above, beside = min(-(-m // t.rows), 132), min(-(-n // t.columns), 132)
    step += g["crowd_b"] * above / t.above * t._bands + g["crowd_a"] * beside / t.beside * t.rows
    el = t.rows * t.columns
    end = g["end0"] + el * g["end_el"]
    tile_ns = steps * step + end
    fa = m * steps * ROW * (1 if n <= t.columns * t.beside else P._FAR)
    fb = n * steps * ROW * (1 if m <= t.rows * t.above else P._FAR)
    dram = (fa + fb + c_bytes * m * n) / g["dram"]
    both = lambda x: math.hypot(x, dram)
    if alone is None or alone == count: return both((whole + bool(rest)) * tile_ns) + start_ns + g["offset"]
    if t.parts > 1:
        return both(whole * tile_ns + -(-steps // t.parts) * step + end) + start_ns + g["meet0"] + g["meetlog"] * math.log2(t.parts) + el * g["meet_el"] + g["offset"]
    if count - alone == rest:
        sh = -(-rest * steps // units)
        return both(whole * tile_ns + sh * step + end) + start_ns + g["eq0"] + g["eq1"] * -(-units // rest) + el * g["eq_el"] + sh * g["shared"] + g["offset"]
    sh = -(-(rest + units) * steps // units)
    return both((whole - 1) * tile_ns + sh * step + 2 * end) + start_ns + 213 + el / 112.1 + sh * g["shared"] + (P._APART * tile_ns if (m + n) * steps * ROW > P._HELD_BYTES else 0) + g["offset"]

def quality(rows, g, st, sp, show=False):
    bs = best_of(rows); by = {}
    for s, n, a, v, q in rows: by.setdefault(s, []).append((predict(ALL[n], s, a, g, st[n], sp[n]), v, n, a))
    losses = []
    for s, l in by.items():
        p, v, n, a = min(l)
        losses.append(v / bs[s])
        if show: print(s, n, a, f"pred {p:.0f} meas {v:.0f} best {bs[s]:.0f} {[x for x in l if x[1]==bs[s]][0][2:]} loss {v/bs[s]:.3f}")
    return np.mean(losses), max(losses), np.mean([math.log(x) for x in losses])

def fit(rows, laps=6):
    """Coordinate descent on the times within 1.35 of the best: starts of tiles, steps of the new ones, what all have."""
    bs = best_of(rows)
    near = [r for r in rows if r[3] < 1.35 * bs[r[0]]]
    g = dict(g0); names = sorted({r[1] for r in near})
    st = {n: float(ALL[n].step_ns) for n in ALL}; sp = {n: float(ALL[n].start_ns) for n in ALL}
    def error(some=near):
        return sum(math.log(predict(ALL[n], s, a, g, st[n], sp[n]) / v) ** 2 for s, n, a, v, q in some)
    by = {n: [r for r in near if r[1] == n] for n in names}
    def tune(table, key, some, moves):
        now = error(some)
        for move in moves:
            old = table[key]; table[key] = max(old + move, 0.0) if not isinstance(move, complex) else old * move.real
            new = error(some)
            if new < now: now = new
            else: table[key] = old
    for lap in range(laps):
        w = 0.6 ** lap
        tune(g, "offset", near, [d * w for d in (800, -800, 300, -300, 100, -100)])
        for key in ("end0", "end_el", "meet0", "meet_el", "eq0", "eq1", "eq_el", "crowd_a", "crowd_b", "line", "multi", "shared"):
            tune(g, key, near, [complex(1 + d * w) for d in (.5, -.33, .2, -.15, .07, -.06)])
        for n in names:
            tune(sp, n, by[n], [d * w for d in (400, -400, 150, -150, 50, -50)])
            if n in NEW: tune(st, n, by[n], [d * w for d in (60, -60, 20, -20, 7, -7)])
    return g, st, sp

if __name__ == "__main__":
    rows = rows_of(sys.argv[1:])
    print(len(rows), "times of", len({r[0] for r in rows}), "sizes")
    st0 = {n: ALL[n].step_ns for n in ALL}; sp0 = {n: ALL[n].start_ns for n in ALL}
    old = [r for r in rows if r[1] in TILES]
    print("chosen over best, mean, worst, mean log; now:", quality(old, g0, st0, sp0))
    g, st, sp = fit(rows)
    print("fitted, all tiles:", quality(rows, g, st, sp, show=True))
    print("fitted, tiles of today:", quality(old, g, st, sp))
    print({k: round(v, 4) for k, v in g.items()})
    wins = {}
    bs = best_of(rows)
    for s, n, a, v, q in rows:
        if v < bs[s] * 1.02: wins[n] = wins.get(n, 0) + 1
    for n in sorted(wins, key=lambda n: -wins[n]): print(n, "within 2 % of the best at", wins[n], "step", round(st[n]), "start", round(sp[n]), "" if n in TILES else "NEW")

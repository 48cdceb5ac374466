"""fit.py OUTPUT: what each candidate and each rule comes to, from lines of bench.py. Rules are at the end; edit them."""
import re, sys, math
from collections import defaultdict
lines = defaultdict(list)
for line in open(sys.argv[1]):
    m = re.match(r"([a-z_0-9]+) (\w+) (\d+)x(\d+) now/peer .* \| (.*)", line)
    if m: lines[m[1]].append((int(m[3]), int(m[4]), {k: float(v) for k, v in (p.split("=") for p in m[5].split())}))
THEIRS = ("eager", "compile", "library")
theirs = lambda k: k.split("_")[0] in THEIRS
mean = lambda v: math.exp(sum(map(math.log, v)) / len(v)) if v else float("nan")
def lanes_rule(most, threads):
    def rule(rows, cols, t):
        for lanes in (1, 2, 4, 8):
            if cols <= lanes * most or lanes == 8:
                for th in (threads, 128, 256):
                    if f"s{lanes}/{th}" in t: return f"s{lanes}/{th}"
        return "now"
    return rule
def kept_rule(accesses_first, threads):
    def rule(rows, cols, t):
        found = sorted((k for k in t if k.startswith("k") and k.endswith(f"/{threads}")), key=lambda k: int(k.split(".")[1].split("/")[0]), reverse=not accesses_first)
        return found[0] if found else "now"
    return rule
def first_of(*prefixes):
    return lambda rows, cols, t: next((k for p in prefixes for k in t if re.fullmatch(p, k)), "now")
def with_rows(rule, fewest): return lambda rows, cols, t: rule(rows, cols, t) if rows >= fewest else "now"
RULES = {f"lanes of {m} elements, {th} threads": lanes_rule(m, th) for m in (8, 16, 32) for th in (128, 256)}
RULES |= {f"held, {a} accesses, {th} threads": kept_rule(a == "few", th) for a in ("few", "many") for th in (128, 256)}
RULES |= {"columns, a row": first_of(r"c\d+x1(/1)?"), "columns, two rows": first_of(r"c\d+x2(/1)?", r"c\d+x1(/1)?"), "columns, four rows": first_of(r"c\d+x4(/1)?", r"c\d+x2(/1)?", r"c\d+x1(/1)?"),
          "columns, a row, four turns": first_of(r"c\d+x1/4"), "columns, two rows, four turns": first_of(r"c\d+x2/4", r"c\d+x1/4"),
          "packs, 16 lanes": first_of(r"l16x\d"), "packs, 32 lanes": first_of(r"l32x\d"), "packs, 8 lanes": first_of(r"l8x\d", r"l16x\d"),
          "apart, 64": first_of("a/64"), "apart, 128": first_of("a/128", "a/64"), "apart, 256": first_of("a/256", "a/128", "a/64"), "slab, 64": first_of("s/64"), "slab, 128": first_of("s/128", "s/64"),
          "pairs": first_of(r"p\d+"), "ones": first_of(r"o\d+")}
for name, found in lines.items():
    print(f"\n== {name}: {len(found)} shapes")
    best = [min(v for k, v in t.items() if not theirs(k)) for _, _, t in found]
    peer = [min((v for k, v in t.items() if theirs(k)), default=float("nan")) for _, _, t in found]
    for (r, c, t), b, p in zip(found, best, peer):
        order = sorted((k for k in t if not theirs(k)), key=t.get)[:5]
        print(f"  {r}x{c}: peer/now {p / t['now'] if 'now' in t else float('nan'):.2f} peer/best {p / b:.2f} " + " ".join(f"{k}={t[k]:.2f}" for k in order))
    rows = []
    for label, rule in RULES.items():
        chosen = [rule(r, c, t) for r, c, t in found]
        if all(k == "now" for k in chosen): continue
        over = [t[k] / b for k, (_, _, t), b in zip(chosen, found, best) if k in t]
        against = [p / t[k] for k, (_, _, t), p in zip(chosen, found, peer) if k in t and p == p]
        rows.append((mean(over), max(over), min(against, default=float("nan")), sum(a < .95 for a in against), label, sum(k != "now" for k in chosen)))
    now = [t["now"] / b for (_, _, t), b in zip(found, best) if "now" in t]
    if now: print(f"  now: {mean(now):.3f} of the best in the mean, worst {max(now):.2f}")
    for m, w, a, n, label, used in sorted(rows): print(f"  {label}: {m:.3f} of the best in the mean, worst {w:.2f}; peer over it at least {a:.2f}, below 0.95 at {n}; used at {used}")

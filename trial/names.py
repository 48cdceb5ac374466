"""The kernels of cuBLAS with their grids, by torch.profiler."""
import sys; sys.path.insert(0, ".exp")
import torch, json
from gate import checking
from torch.profiler import profile, ProfilerActivity
S = [(1024,)*3, (512,)*3, (768,)*3, (1280,)*3, (1536,)*3, (2048,)*3, (4096,)*3, (1112, 80, 6552), (4208, 320, 1464), (1024, 1024, 4096), (512, 512, 4096), (896,)*3, (1792,)*3, (2048, 1024, 1024)]
T = [(8192,)*3, (1024,)*3, (2005, 143, 4877), (12759, 109, 8175), (62, 511, 10047)]
with checking():
    x = torch.zeros(1, device="cuda")
    def go(m, n, k, dt, t=False):
        a = torch.rand(m, k, device="cuda").to(dt); b = torch.rand(*((n, k) if t else (k, n)), device="cuda").to(dt)
        return a @ (b.T if t else b)
    go(64, 64, 64, torch.bfloat16)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
        for s in S: go(*s, torch.bfloat16)
        go(471, 21, 603, torch.float16)
        torch.backends.cuda.matmul.allow_tf32 = True
        for s in T: go(*s, torch.float32, True)
        torch.backends.cuda.matmul.allow_tf32 = False
        go(599, 11281, 16, torch.float32)
        torch.cuda.synchronize()
p.export_chrome_trace("/tmp/o/hB.trace.json")
e = json.load(open("/tmp/o/hB.trace.json"))["traceEvents"]
for x in sorted((x for x in e if x.get("cat") == "kernel"), key=lambda x: x["ts"]):
    g = x["args"]
    if "distribution" in x["name"] or "elementwise" in x["name"]: continue
    print(x["name"][:110], "grid", g.get("grid"), "block", g.get("block"), "shared", g.get("shared memory"), "regs", g.get("registers per thread"), "us", x["dur"], flush=True)
print(list(g))

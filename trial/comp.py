import runpy, sys
from pathlib import Path
top = Path.cwd(); runpy.run_path(str(top / "main.py")); sys.path.insert(0, str(top / ".ci" / "path"))
from roofscope.profiling.worker.build.providers import cuda
from roofscope.profiling.planning.spec import Dtype
sys.path.insert(0, str(top / ".exp"))
import variants
src = Path("/tmp/o/hC/src"); src.mkdir(parents=True, exist_ok=True)
for name in sys.argv[1:]:
    f = src / f"{name}.cu"; f.write_text(variants.source(name))
    try:
        module = cuda.compile_source(f, Dtype.BFLOAT16, "sm_90a")
        (src / f"{name}.cubin.tmp").write_bytes(bytes(module.code)); (src / f"{name}.cubin.tmp").rename(src / f"{name}.cubin")
    except Exception as e:
        print("COMPILE FAILED", name, str(e)[:400], flush=True)

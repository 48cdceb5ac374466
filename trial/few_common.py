import ctypes, importlib, os, sys, time, math
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
K = Path(__file__).parent / "k"
OPS = ("rms_norm", "layer_norm", "softmax", "add_rms_norm")
SHORT = {"rms_norm": "rms", "layer_norm": "ln", "softmax": "softmax", "add_rms_norm": "add"}

def compile_one(job):
    """In a forked child that has no CUDA context."""
    op, part = job
    import harness  # noqa: already imported by the parent
    from roofscope.profiling.worker.build.providers import cuda as P
    from roofscope.profiling.paths import LIBRARY
    begin = time.time()
    try:
        options = P.core.ProgramOptions(name=op, arch="sm_90a", std="c++17", include_path=[str(LIBRARY), str(K), str(P.cuda_include_folder())],
            define_macro=[("SCALAR", "__nv_bfloat16"), "SCALAR_IS_BFLOAT16", ("PART", str(part))])
        module = P.core.Program((K / f"{'prod' if part > 4 else 'held'}_{SHORT[op]}.cu").read_text(), "c++", options).compile("cubin")
        return job, bytes(module.code), time.time() - begin
    except Exception as error:
        return job, str(error)[:1500], time.time() - begin

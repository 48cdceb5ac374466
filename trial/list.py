import runpy,sys
runpy.run_path('main.py'); sys.path.insert(0,'.ci/path')
from roofscope.profiling.planning.catalog import scan
from roofscope.benchmarks.peers.table import candidates
from roofscope.benchmarks.shapes.lines import usual_dtype
c=scan()
for n in "softmax softmax_backward layer_norm layer_norm_backward rms_norm rms_norm_backward add_rms_norm rms_norm_quantize_fp8 cross_entropy quantize_int8 quantize_int4 dequantize_int8 dequantize_int4 rope swiglu transpose histogram top_k row_sum weighted_sum weighted_sum_backward cumsum bias_gelu gelu vector_add swish".split():
    k=c.kernel(n); d=usual_dtype(k)
    print(n, d, [(v.stem, v.domain) for v in k.implementations if v.stem in candidates(k,d)], k.spec.work.read_bytes)

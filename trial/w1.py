from bench import *
R = [(50001, 60), (278332, 26), (100719, 50), (30001, 62), (20011, 101), (150001, 13), (60001, 33), (25001, 90), (8001, 130), (200001, 45), (5001, 50), (50001, 126), (30001, 201), (500001, 10), (9001, 61), (16001, 150), (70001, 30), (3001, 20), (100001, 66), (35001, 27)]
C = set(R[:8])
WS = [(30001, 255), (5001, 250), (60001, 131), (145120, 177), (12001, 130), (3001, 401), (20001, 333), (100001, 66), (52545, 229), (30001, 602), (40001, 41), (2001, 101), (1500, 201), (9001, 900), (30001, 256), (70001, 100), (200001, 21)]
RS = [(145120, 177), (30001, 255), (60001, 131), (5001, 250), (12001, 130), (3001, 401), (20001, 333), (100001, 66), (30001, 602), (145120, 176), (9001, 900), (200001, 70), (50001, 81), (2001, 101), (40001, 128), (20001, 512), (60001, 50)]
CS = [(807740, 20), (400001, 8), (200003, 16), (300001, 24), (100003, 32), (200000, 40), (60001, 64), (700001, 4), (30001, 20), (91270, 63), (40001, 130), (150001, 21), (50001, 100), (8001, 60)]
if __name__ == "__main__":
    Compilers().make_ready(Compiler.TRITON | Compiler.INDUCTOR)
    print(f"# ready at {time.monotonic()-BEGAN:.0f} s", flush=True)
    S = lambda *names: [(survey, n, 501, 12, 6) for n in names]
    play([
        [(region, "cumsum", CS, set(CS[:5])), (region, "rms_norm", R, C), *S("rope", "swiglu", "histogram")],
        [(region, "weighted_sum", WS, set(WS[:6])), (region, "layer_norm", R, C), *S("quantize_int4", "dequantize_int4")],
        [(region, "row_sum", RS, set(RS[:6])), (region, "add_rms_norm", R, C), *S("dequantize_int8", "weighted_sum_backward")],
        [(big,), (region, "softmax", R[:14], set(R[:4])), *S("cross_entropy", "top_k")],
        [(region, "softmax_backward", R[:14], set(R[:4])), (region, "quantize_int8", R[:10], set(R[:4])), (region, "rms_norm_quantize_fp8", R[:10], set(R[:4])), *S("quantize_int8", "rms_norm_quantize_fp8", "transpose")],
        [*S("layer_norm_backward", "rms_norm_backward", "row_sum", "softmax", "layer_norm")],
    ])

export START=$(date +%s.%N) PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore TORCHINDUCTOR_COMPILE_THREADS=1
o=/tmp/o/hF; mkdir -p $o
go() { n=$1; shift; timeout -k 3 124 "$@" > $o/$n.txt 2>&1 & pids="$pids $!"; }
go f_short env HOLD=6 python3 .exp/fp8.py short
go f_short1 env HOLD=2 python3 .exp/fp8.py short1
go f_words env HOLD=4 python3 .exp/fp8.py words
go f_whole env HOLD=5 python3 .exp/fp8.py whole
go f_fp8 env HOLD=2 python3 .exp/fp8.py fp8
A=cuda_wgmma+library_cudnn+library_flash+library_fa4
export HOLD=2.5
go h_attn python3 .exp/hunt.py attention:$A+cuda_mma:12:701 attention_causal:$A+cuda_mma:12:701
go h_attn2 python3 .exp/hunt.py attention_causal_gqa:$A:12:701 attention_sliding_window:$A+library_flex:12:701
go h_attn3 python3 .exp/hunt.py attention_varlen:cuda_wgmma+triton_longest_first+library_cudnn+library_fa4:12:701 paged_decode:cuda_rings+triton_split+eager+library_fa4:12:701
go h_group python3 .exp/hunt.py grouped_matmul:cuda_wgmma+eager+library_quack:14:701 matmul_w4a16:cuda_tma+cuda_mma_async+triton_halves+eager:14:701
go h_fp8 python3 .exp/hunt.py matmul_fp8:cuda_loose+cuda_wgmma+eager+compile_default:14:701 gated_delta_rule:cuda_fused+triton_segments+eager:6:701 matmul_fp8_blocks:cuda_loose+cuda_wgmma+cuda_halves+cuda_pieces+eager+compile_default:@869x14526x34,2974x2293x127,2959x12001x539,4001x8003x95,5000x5002x100,3001x3003x65:0
go h_sort python3 .exp/hunt.py histogram:cuda_shared+cuda_columns+eager+library_cub:10:701 radix_sort:cuda_onesweep+eager+library_cub:12:701 top_k:cuda_threshold+cuda_groups+eager+library_topk:14:701 transpose:cuda_swizzled+cuda_tiles+triton_tiles+eager:14:701
go h_elem python3 .exp/hunt.py adamw:cuda_packed+triton_tiles+eager+compile_default:8:701 rope:cuda_packed+triton_tiles+compile_default+library_quack:12:701 swiglu:cuda_packed+triton_tiles+compile_default+library_liger:8:701
go sort python3 .exp/sort.py
wait $pids
for f in $o/*.txt; do echo "=== $(basename $f)"; cat $f; done

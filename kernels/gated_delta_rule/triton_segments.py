"""The gated delta rule in Triton: chunks all at once, then runs of chunks from where the past is forgotten.

Formula: with G the sum of g from a chunk's first token on, A_ij = beta_i exp(G_i - G_j) k_i . k_j below the
diagonal and T = (I + A)^-1 diag(beta): U = T (V - exp(G) K S), O = exp(G) Q S + (exp(G_i - G_j) Q K^T) U, and
S becomes exp(G_last) S + (exp(G_last - G) K)^T U. 6 dim dim + 4 64 dim FLOP a token and head of values, and
4 64 dim a head of keys.
Mapping: a program of the first kernel owns a chunk of 64 tokens of one head of values, and makes T and the
scores exp(G_i - G_j) Q K^T; T from the inverses of smaller and smaller blocks, joined by float16 products. A
program of the second kernel owns COLUMNS columns of the state of one head of values and a segment of the
sequence, chunk after chunk. It begins so many chunks early that what is before has decayed to FORGOTTEN of
itself, which float32 no longer shows. Where gates are near 1 that is at the first token, and the last segment
takes as long as all would. NaN may not reach later segments.
Parameters: columns, warps and stages of the second kernel.
Idea: in cuda_naive each token waits for the one before. What the tokens of a chunk do to each other is a
triangular system, so that a chunk takes a few products of matrices, and only chunks wait. Yang, Kautz and
Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464, and the chunked form of Yang et al., "Parallelizing
Linear Transformers with the Delta Rule", arXiv:2406.06484.
"""

import torch
import triton
import triton.language as tl

from roofscope import Choice, Refusal
from roofscope.kernels.shared.limits import MOST_BLOCKS_ALONG_Y

DOMAIN = "(dim == 64 or dim == 128) and seq <= 65535 * 64"
COLUMNS = Choice(64, 128)
NUM_WARPS = Choice(4, 8)
NUM_STAGES = Choice(2, 1, 3)  # 1: no copies ahead, and room for more programs

CHUNK = tl.constexpr(64)
EPSILON = tl.constexpr(1e-6)  # beside the square of a length
FORGOTTEN = tl.constexpr(-22.0)  # a logarithm: 3e-10
SHORTEST_SEGMENT = 16  # chunks; to begin early costs some of them
PROGRAMS_A_MULTIPROCESSOR = 2
_WARPS_OF_CHUNKS = 4


@triton.jit
def _joined(inverse, below, SIZE: tl.constexpr):
    """From the inverses of blocks of SIZE those of twice the size: [T1 0; X T2] has X = -T2 below T1."""
    # Where the rows of the one block meet the columns of the other; above the diagonal there is nothing.
    joins = (tl.arange(0, CHUNK)[:, None] ^ tl.arange(0, CHUNK)[None, :]) // SIZE == 1
    rounded = inverse.to(tl.float16)
    corner = tl.dot(tl.where(joins, below, 0.0).to(tl.float16), rounded)
    return inverse - tl.dot(rounded, corner.to(tl.float16))


@triton.jit
def _inverse(below):
    """(I + below)^-1 of a 64 x 64 matrix of entries up to 1, which is 0 on the diagonal and above it."""
    apart = tl.arange(0, CHUNK)[:, None] ^ tl.arange(0, CHUNK)[None, :]
    pairs = tl.where(apart == 0, 1.0, tl.where(apart == 1, -below, 0.0))
    fours = _joined(pairs, below, 2)
    eights = _joined(fours, below, 4)
    return _joined(_joined(_joined(eights, below, 8), below, 16), below, 32)


@triton.jit
def _of_chunks(
    q,
    k,
    g,
    beta,
    solved,
    scores,
    factors,
    totals,
    seq,
    heads,
    scale,
    GROUPS: tl.constexpr,
    DIM: tl.constexpr,
):
    of_all, chunk, chunks = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    value_heads = heads * GROUPS
    batch, head = of_all // value_heads, of_all % value_heads
    at = tl.arange(0, CHUNK)
    inside = chunk * CHUNK + at < seq
    first_token = batch * seq + chunk * CHUNK
    in_keys = at[:, None] * (heads * DIM) + tl.arange(0, DIM)[None, :]
    in_keys = (first_token * heads + head // GROUPS) * DIM + in_keys
    k_block = tl.load(k + in_keys, mask=inside[:, None], other=0.0)
    q_block = tl.load(q + in_keys, mask=inside[:, None], other=0.0)
    k_wide, q_wide = k_block.to(tl.float32), q_block.to(tl.float32)
    k_unit = tl.rsqrt(tl.sum(k_wide * k_wide, axis=1) + EPSILON)
    q_unit = tl.rsqrt(tl.sum(q_wide * q_wide, axis=1) + EPSILON) * scale

    gates = first_token * value_heads + head + at * value_heads
    total = tl.cumsum(tl.load(g + gates, mask=inside, other=0.0), axis=0)
    last = tl.sum(tl.where(at == CHUNK - 1, total, 0.0), axis=0)
    kept = tl.exp(total)
    to = factors + (of_all * chunks + chunk) * (3 * CHUNK) + at
    tl.store(to, kept * k_unit)
    tl.store(to + CHUNK, kept * q_unit)
    tl.store(to + 2 * CHUNK, tl.exp(last - total) * k_unit)
    tl.store(totals + of_all * chunks + chunk, last)

    # Above the diagonal the exponent would be positive and may overflow.
    exponent = tl.where(at[:, None] >= at[None, :], total[:, None] - total[None, :], -float("inf"))
    decay = tl.exp(exponent) * k_unit[None, :]
    to = (of_all * chunks + chunk) * (CHUNK * CHUNK) + at[:, None] * CHUNK + at[None, :]
    products = tl.dot(q_block, tl.trans(k_block)) * decay * q_unit[:, None]
    tl.store(scores + to, products.to(scores.dtype.element_ty))
    written = tl.load(beta + gates, mask=inside, other=0.0)
    similar = tl.dot(k_block, tl.trans(k_block)) * decay * (written * k_unit)[:, None]
    inverse = _inverse(tl.where(at[:, None] > at[None, :], similar, 0.0)) * written[None, :]
    tl.store(solved + to, inverse.to(solved.dtype.element_ty))


@triton.jit
def _written(k_block, v_block, state, solved, factors, chunk):
    """U of a chunk, in float32, from what is left of its values once the state has answered."""
    at = tl.arange(0, CHUNK)
    matrix = tl.load(solved + chunk * (CHUNK * CHUNK) + at[:, None] * CHUNK + at[None, :])
    answer = tl.dot(k_block, state) * tl.load(factors + chunk * (3 * CHUNK) + at)[:, None]
    return tl.dot(matrix, (v_block.to(tl.float32) - answer).to(v_block.dtype))


@triton.jit
def _next(k_block, written, state, factors, totals, chunk):
    """The state behind a chunk."""
    factor = tl.load(factors + chunk * (3 * CHUNK) + 2 * CHUNK + tl.arange(0, CHUNK))
    change = (written * factor[:, None]).to(k_block.dtype)
    return tl.dot(tl.trans(k_block), change, state * tl.exp(tl.load(totals + chunk)))


@triton.jit
def _of_segments(
    q,
    k,
    v,
    o,
    solved,
    scores,
    factors,
    totals,
    seq,
    heads,
    chunks,
    length,
    GROUPS: tl.constexpr,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
):
    head, value_heads = tl.program_id(0), heads * GROUPS
    batch = (head // value_heads).to(tl.int64)
    begin = tl.program_id(1) * length
    end = tl.minimum(begin + length, chunks)
    first_chunk = head.to(tl.int64) * chunks
    solved += first_chunk * (CHUNK * CHUNK)
    scores += first_chunk * (CHUNK * CHUNK)
    factors += first_chunk * (3 * CHUNK)
    totals += first_chunk
    key_stride, value_stride = tl.cast(heads, tl.int64) * DIM, tl.cast(value_heads, tl.int64) * DIM
    first_key = batch * seq * key_stride + head % value_heads // GROUPS * DIM
    q += first_key
    k += first_key
    first_value = batch * seq * value_stride + head % value_heads * DIM + tl.program_id(2) * COLUMNS
    v += first_value
    o += first_value

    first, left = begin, 0.0
    while (first > 0) & (left > FORGOTTEN):
        first -= 1
        left += tl.load(totals + first)

    at = tl.arange(0, CHUNK)
    in_keys = at[:, None] * (heads * DIM) + tl.arange(0, DIM)[None, :]
    in_values = at[:, None] * (value_heads * DIM) + tl.arange(0, COLUMNS)[None, :]
    state = tl.zeros((DIM, COLUMNS), dtype=tl.float32)
    for chunk in tl.range(first, begin, num_stages=STAGES):
        k_block = tl.load(k + chunk * CHUNK * key_stride + in_keys)
        v_block = tl.load(v + chunk * CHUNK * value_stride + in_values)
        written = _written(k_block, v_block, state.to(k_block.dtype), solved, factors, chunk)
        state = _next(k_block, written, state, factors, totals, chunk)
    for chunk in tl.range(begin, end, num_stages=STAGES):
        inside = (at + chunk * CHUNK < seq)[:, None]
        of_keys, of_values = chunk * CHUNK * key_stride, chunk * CHUNK * value_stride
        k_block = tl.load(k + of_keys + in_keys, mask=inside, other=0.0)
        q_block = tl.load(q + of_keys + in_keys, mask=inside, other=0.0)
        v_block = tl.load(v + of_values + in_values, mask=inside, other=0.0)
        matrix = tl.load(scores + chunk * (CHUNK * CHUNK) + at[:, None] * CHUNK + at[None, :])
        rounded = state.to(k_block.dtype)
        written = _written(k_block, v_block, rounded, solved, factors, chunk)
        read = tl.dot(q_block, rounded) * tl.load(factors + chunk * (3 * CHUNK) + CHUNK + at)[:, None]
        read = tl.dot(matrix, written.to(k_block.dtype), read)
        tl.store(o + of_values + in_values, read.to(o.dtype.element_ty), mask=inside)
        state = _next(k_block, written, state, factors, totals, chunk)


def run(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups), float32. Raises Refusal for heads of other than
    64 or 128 elements and in float32.
    """
    key = "gated_delta_rule/triton_segments"
    (batch, seq, heads, dim), value_heads = q.shape, v.shape[2]
    if -(-seq // CHUNK.value) > MOST_BLOCKS_ALONG_Y:
        raise Refusal(f"{key} takes {MOST_BLOCKS_ALONG_Y} chunks of 64 tokens at most, not {seq} tokens.")
    if dim not in (64, 128):
        raise Refusal(f"{key} takes heads of 64 or 128 elements, not {dim}.")
    if q.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    o = torch.empty_like(v)
    if not v.numel():
        return o
    groups, chunks = value_heads // heads, triton.cdiv(seq, CHUNK.value)
    solved, scores = torch.empty(
        2, batch * value_heads, chunks, CHUNK.value**2, dtype=v.dtype, device=v.device
    )
    factors = torch.empty(batch * value_heads, chunks, 3, CHUNK.value, dtype=torch.float32, device=v.device)
    totals = torch.empty(batch * value_heads, chunks, dtype=torch.float32, device=v.device)
    _of_chunks[(batch * value_heads, chunks)](
        *(q, k, g, beta, solved, scores, factors, totals, seq, heads, dim**-0.5),
        GROUPS=groups,
        DIM=dim,
        num_warps=_WARPS_OF_CHUNKS,
    )
    columns = min(int(COLUMNS), dim)
    programs = batch * value_heads * (dim // columns)
    segments = max(1, min(_wanted_programs(v.device) // programs, chunks // SHORTEST_SEGMENT))
    length = triton.cdiv(chunks, segments)
    _of_segments[(batch * value_heads, triton.cdiv(chunks, length), dim // columns)](
        *(q, k, v, o, solved, scores, factors, totals, seq, heads, chunks, length),
        GROUPS=groups,
        DIM=dim,
        COLUMNS=columns,
        STAGES=int(NUM_STAGES),
        num_warps=int(NUM_WARPS),
    )
    return o


def _wanted_programs(device: torch.device) -> int:
    if device.type != "cuda":  # in Triton's interpreter: some segments
        return 64
    return torch.cuda.get_device_properties(device).multi_processor_count * PROGRAMS_A_MULTIPROCESSOR

// Matmuls of bf16 activations and quantized weights: out[m][n] = sum over k of a[m][k] w[n][k].
//
// BITS is the format of the weights: 4, 5, 6 or 8 bits, or 0 for PyTorch's packed 4 bits. In all formats
// w = s u + c, with an integer u, and s and c of a group of weights. So the contribution of a group is s
// times the sum of a u, plus c times the sum of a. The tensor cores compute the sums of a u, which are
// exact except for rounding to f32: u are integers below 256, which are exact in bf16. Activations are not
// rounded. UNIT is the number of weights that are scaled together: 8, 16 or 32; a larger group is several
// units of 32.
//
// A warp has 16 rows of weights, the rows of the matrix A of `multiply`; tokens are the columns of B.
// Tiles of the rows are copied to shared memory in a pipeline of several stages.
#include "device.cuh"

#define JOIN(a, b, c, d) a##b##_##c##_##d
#define NAME(a, b, c, d) JOIN(a, b, c, d)
#define ROWS 16
#define WARPS 8

// The extent of a tile in k, and the stages of the pipeline.
#if BITS == 4 || BITS == 0
#define TILE 256
#define STAGES 2
#elif BITS == 8
#define TILE 128
#define STAGES 2
#else
#define TILE 128
#define STAGES 3
#endif

// The bytes of a tile's row in shared memory: eight rows are in different banks.
#if BITS == 4
#define LOW_PITCH 144
#define HIGH_PITCH 0
#elif BITS == 5
#define LOW_PITCH 80
#define HIGH_PITCH 16
#elif BITS == 6
#define LOW_PITCH 80
#define HIGH_PITCH 48
#elif BITS == 8
#define LOW_PITCH 144
#define HIGH_PITCH 0
#else
// Two tiles of eight rows, as in memory.
#define LOW_PITCH 128
#define HIGH_PITCH 0
#endif

#define LOW_BYTES (ROWS * LOW_PITCH)
#define HIGH_BYTES (ROWS * HIGH_PITCH)
#define TOKEN_PITCH (TILE * 2 + 64)

// The scale of a group: s, and c if it does not follow from s.
#if BITS == 6
typedef float Scale;
DEVICE float scale_of(Scale scale) { return scale; }
// u is 128 + 32 + weight.
DEVICE float constant_of(Scale scale) { return -160.0f * scale; }
#else
struct __align__(8) Scale {
    float s, c;
};
DEVICE float scale_of(Scale scale) { return scale.s; }
DEVICE float constant_of(Scale scale) { return scale.c; }
#endif

struct Weights {
    const u8* low;
    const u8* high;
    const u8* scale;
    const u16* scale_step;
    const u8* zero;
    const u16* zero_step;
    i32 n, k;
    // The base-2 logarithm of the group size.
    i32 group_shift;
    // Groups of a row.
    i32 groups;
    // For packed weights: the tiles of 16 k that are adjacent.
    i32 inner;
};

// Begins the copy of a tile of a warp's rows.
DEVICE void bring_weights(u8* place, const Weights& w, i32 row0, i32 k0, i32 lane) {
#if BITS == 0
    // Eight rows of a tile are contiguous.
    const i64 bytes = i64(w.k) * 4;
#pragma unroll
    for (i32 i = lane; i < LOW_BYTES / 16; i += 32) {
        const i32 half = i / (LOW_BYTES / 32);
        const i32 at = i % (LOW_BYTES / 32) * 16;
        const i32 row = row0 + half * 8;
        const bool there = row < w.n && k0 * 4 + at < bytes;
        const u8* from = w.low + (there ? (row / 8) * bytes + i64(k0) * 4 + at : 0);
        bring(place + half * (LOW_BYTES / 2) + at, from, there);
    }
#else
    const i32 bits = BITS == 8 ? 8 : 4;
    const i64 low_row = i64(w.k) * bits / 8;
    const i32 pieces = TILE * bits / 8 / 16;
#pragma unroll
    for (i32 i = lane; i < ROWS * pieces; i += 32) {
        const i32 row = i / pieces, at = i % pieces * 16;
        const bool there = row0 + row < w.n && k0 + at * 8 / bits < w.k;
        const u8* from = w.low + (there ? (row0 + row) * low_row + i64(k0) * bits / 8 + at : 0);
        bring(place + row * LOW_PITCH + at, from, there);
    }
#if BITS == 5 || BITS == 6
    const i32 high_bits = BITS - 4;
    const i64 high_row = i64(w.k) * high_bits / 8;
    const i32 high_pieces = TILE * high_bits / 8 / 16;
#pragma unroll
    for (i32 i = lane; i < ROWS * high_pieces; i += 32) {
        const i32 row = i / high_pieces, at = i % high_pieces * 16;
        const bool there = row0 + row < w.n && k0 < w.k;
        const u8* from = w.high + (there ? (row0 + row) * high_row + i64(k0) * high_bits / 8 + at : 0);
        bring(place + LOW_BYTES + row * HIGH_PITCH + at, from, there);
    }
#endif
#endif
}

// The scale of the group of a row that begins with k.
DEVICE Scale group_scale(const Weights& w, i32 row, i32 k) {
#if BITS == 6
    if (row >= w.n || k >= w.k) return 0.0f;
    const float step = from_f16(w.scale_step[i64(row) * (w.k >> 8) + (k >> 8)]);
    return float(i8(w.scale[i64(row) * w.groups + (k >> w.group_shift)])) * step;
#else
    Scale scale = {0.0f, 0.0f};
    if (row >= w.n || k >= w.k) return scale;
#if BITS == 0
    const u16* pair = w.scale_step + (i64(k >> w.group_shift) * w.n + row) * 2;
    scale.s = from_bf16(pair[0]);
    // u is 128 + 8 + weight, and the zero point is added.
    scale.c = from_bf16(pair[1]) - 136.0f * scale.s;
#elif BITS == 8
    const i64 at = i64(row) * w.groups + (k >> w.group_shift);
    scale.s = from_bf16(w.scale_step[at]);
    scale.c = -scale.s * float(i8(w.zero[at]));
#else
    const i64 at = i64(row) * w.groups + (k >> w.group_shift);
    const i64 block = i64(row) * (w.k >> 8) + (k >> 8);
    scale.s = float(w.scale[at]) * from_f16(w.scale_step[block]);
    const float zero = float(w.zero[at]) * from_f16(w.zero_step[block]);
    // u is 128 + weight.
    scale.c = -scale.s * (128.0f + zero);
#endif
    return scale;
#endif
}

DEVICE void bring_scales(Scale* place, const Weights& w, i32 row0, i32 k0, i32 lane) {
    const i32 units = TILE / UNIT;
#pragma unroll
    for (i32 i = lane; i < units * ROWS; i += 32) {
        const i32 row = i / units, unit = i % units;
        place[unit * ROWS + row] = group_scale(w, row0 + row, k0 + unit * UNIT);
    }
}

struct Activations {
    const u16* at;
    i64 row, column;
    // True if eight adjacent activations can be read at once.
    bool dense;
    i32 tokens, k;
};

struct __align__(16) Eight {
    u32 pair[4];
};

// Eight adjacent activations of a token.
DEVICE Eight read_eight(const Activations& a, i32 token, i32 k) {
    Eight eight = {{0, 0, 0, 0}};
    if (token >= a.tokens || k >= a.k) return eight;
    const u16* from = a.at + token * a.row + k * a.column;
    if (a.dense) return *(const Eight*)from;
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
        eight.pair[i] = u32(from[2 * i * a.column]) | u32(from[(2 * i + 1) * a.column]) << 16;
    }
    return eight;
}

// Stores eight adjacent activations of a token in the order of the lanes of `multiply`. All lanes of a warp
// do this, with adjacent activations in adjacent lanes, and store the sum of each unit.
DEVICE void place_eight(u8* activations, float* sums, i32 tokens, i32 token, i32 chunk, Eight e) {
    const bool there = token < tokens;
    u8* place = activations + token * TOKEN_PITCH + chunk / 4 * 64;
    if (there) {
#if BITS == 0
        // 2 t, 2 t + 1 of each eight go to lane t.
#pragma unroll
        for (i32 t = 0; t < 4; ++t) ((u32*)(place + t * 16))[chunk % 4] = e.pair[t];
#else
        // Lane t of the four has 4 t to 4 t + 3 of sixteen, in the order 0, 2, 1, 3.
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
            u32* of_lane = (u32*)(place + (chunk % 2 * 2 + i) * 16 + chunk / 2 % 2 * 8);
            of_lane[0] = choose_bytes(e.pair[2 * i], e.pair[2 * i + 1], 0x5410);
            of_lane[1] = choose_bytes(e.pair[2 * i], e.pair[2 * i + 1], 0x7632);
        }
#endif
    }
    float sum = 0.0f;
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
        sum += from_bits(e.pair[i] << 16) + from_bits(e.pair[i] & 0xffff0000u);
    }
    if (UNIT > 8) sum += exchange(sum, 1);
    if (UNIT > 16) sum += exchange(sum, 2);
    if (there && chunk % (UNIT / 8) == 0) sums[token] = sum;
}

#define MAGIC 0x43004300u

// A lane's weights of 32 k of two rows: A of two calls of `multiply`.
DEVICE void unpack(u32 (&a)[2][4], const u8* tile, i32 block, i32 g, i32 t) {
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
        const i32 row = g + half * 8;
#pragma unroll
        for (i32 j = 0; j < 2; ++j) {
            u32 low, high;
#if BITS == 8
            const u32 word = *(const u32*)(tile + row * LOW_PITCH + (block * 2 + j) * 16 + t * 4);
            // A byte is its seven lower bits, less 128 if the highest is set.
            const u32 even = word & 0x00ff00ffu, odd = word >> 8 & 0x00ff00ffu;
            low = subtract_bf16x2(even & 0x007f007fu | MAGIC, even & 0x00800080u | MAGIC);
            high = subtract_bf16x2(odd & 0x007f007fu | MAGIC, odd & 0x00800080u | MAGIC);
#else
            const i32 at = 2 * j + t / 2;
            const u32 word = *(const u32*)(tile + row * LOW_PITCH + block * 16 + at * 4);
            // Two bytes with four weights.
            const u32 four = choose_bytes(word, 0, t % 2 ? 0x4342 : 0x4140);
            low = four & 0x000f000fu | MAGIC;
            high = four >> 4 & 0x000f000fu | MAGIC;
#if BITS == 5
            const u8* rest = tile + LOW_BYTES + row * HIGH_PITCH + block * 4;
            const u32 byte = *(const u32*)rest >> 8 * at & 0xff;
            // Of even weights the lower half of a byte has the fifth bits, of odd ones the higher.
            const u32 even = byte >> t % 2 * 2 & 3, odd = byte >> 4 + t % 2 * 2 & 3;
            low |= (even << 4 | even << 19) & 0x00100010u;
            high |= (odd << 4 | odd << 19) & 0x00100010u;
#elif BITS == 6
            const u8* rest = tile + LOW_BYTES + row * HIGH_PITCH + block * 8;
            const u32 even = ((const u32*)rest)[0] >> 8 * at + t % 2 * 4 & 15;
            const u32 odd = ((const u32*)rest)[1] >> 8 * at + t % 2 * 4 & 15;
            low |= (even << 4 | even << 18) & 0x00300030u;
            high |= (odd << 4 | odd << 18) & 0x00300030u;
#endif
#endif
            a[j][half] = low;
            a[j][half + 2] = high;
        }
    }
}

#if BITS == 0
// A lane's words of 128 k of eight rows.
DEVICE Eight packed_words(const u8* tile, i32 half, i32 quarter, i32 inner, i32 lane) {
    const u8* from = tile + half * (LOW_BYTES / 2) + quarter * 512;
    if (inner == 8) return ((const Eight*)from)[lane];
    Eight words;
    const i32 together = inner / 2;
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
        words.pair[i] = ((const u32*)from)[(i / together * 32 + lane) * together + i % together];
    }
    return words;
}

DEVICE void unpack_word(u32 (&a)[2][4], i32 half, u32 word) {
    a[0][half] = word & 0x000f000fu | MAGIC;
    a[0][half + 2] = word >> 4 & 0x000f000fu | MAGIC;
    a[1][half] = word >> 8 & 0x000f000fu | MAGIC;
    a[1][half + 2] = word >> 12 & 0x000f000fu | MAGIC;
}
#endif

// Adds 32 k to a lane's sums.
template <int COLUMNS>
DEVICE void add_block(float (&sums)[COLUMNS][4], const u32 (&a)[2][4], const u8* activations,
                      const float* token_sums, const Scale* scales, i32 tokens, i32 block, i32 g,
                      i32 t) {
    const i32 units = 32 / UNIT;
#pragma unroll
    for (i32 column = 0; column < COLUMNS; ++column) {
        Eight b = {{0, 0, 0, 0}};
        if (column * 8 + g < tokens) {
            const u8* token = activations + (column * 8 + g) * TOKEN_PITCH;
            b = *(const Eight*)(token + block * 64 + t * 16);
        }
#pragma unroll
        for (i32 unit = 0; unit < units; ++unit) {
            float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (UNIT == 32) {
                multiply(d, a[0], b.pair[0], b.pair[1]);
                multiply(d, a[1], b.pair[2], b.pair[3]);
            } else if (UNIT == 16) {
                multiply(d, a[unit], b.pair[2 * unit], b.pair[2 * unit + 1]);
            } else {
                // Half of the lanes have the unit's activations.
                const bool mine = t / 2 == unit % 2;
                multiply(d, a[unit / 2], mine ? b.pair[unit / 2 * 2] : 0,
                         mine ? b.pair[unit / 2 * 2 + 1] : 0);
            }
            const i32 index = block * units + unit;
            const Scale upper = scales[index * ROWS + g], lower = scales[index * ROWS + g + 8];
            const float* of_tokens = token_sums + index * COLUMNS * 8 + column * 8 + 2 * t;
            const float first = of_tokens[0], second = of_tokens[1];
            sums[column][0] += scale_of(upper) * d[0] + constant_of(upper) * first;
            sums[column][1] += scale_of(upper) * d[1] + constant_of(upper) * second;
            sums[column][2] += scale_of(lower) * d[2] + constant_of(lower) * first;
            sums[column][3] += scale_of(lower) * d[3] + constant_of(lower) * second;
        }
    }
}

// A block's matmul. SPLIT warps split the k of the same rows; the other warps have other rows.
template <int COLUMNS, int SPLIT>
DEVICE void matmul(const Activations& a, const Weights& w, u16* out, u8* shared) {
    const i32 units = TILE / UNIT;
    const i32 tile_bytes = LOW_BYTES + HIGH_BYTES;
    const i32 stage_bytes = tile_bytes + units * ROWS * i32(sizeof(Scale));
    const i32 group_warps = WARPS / SPLIT;
    const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const i32 part = warp / group_warps;
    const i32 g = lane / 4, t = lane % 4;
    const i32 row0 = (blockIdx.x * group_warps + warp % group_warps) * ROWS;
    const i32 token0 = blockIdx.y * COLUMNS * 8;
    const i32 tokens = min(a.tokens - token0, COLUMNS * 8);

    u8* stages = shared + warp * STAGES * stage_bytes;
    u8* rest = shared + WARPS * STAGES * stage_bytes;
    float* token_sums = (float*)rest + part * units * COLUMNS * 8;
    u8* activations = rest + SPLIT * units * COLUMNS * 8 * 4 + part * tokens * TOKEN_PITCH;

    // A part has every SPLIT-th tile; all parts take as many steps.
    const i32 tiles = (w.k + TILE - 1) / TILE;
    const i32 steps = (tiles + SPLIT - 1) / SPLIT;
    const i32 chunks = TILE / 8;
    const i32 group_threads = group_warps * 32;
    const i32 group_thread = thread - part * group_threads;
    float sums[COLUMNS][4] = {};

#pragma unroll
    for (i32 ahead = 0; ahead < STAGES; ++ahead) {
        if (ahead < steps) {
            const i32 k0 = (ahead * SPLIT + part) * TILE;
            u8* stage = stages + ahead * stage_bytes;
            bring_weights(stage, w, row0, k0, lane);
            bring_scales((Scale*)(stage + tile_bytes), w, row0, k0, lane);
        }
        end_batch();
    }
    Activations mine = a;
    mine.at += token0 * a.row;
    mine.tokens = tokens;
    // The first of a thread's activations is read a step ahead.
    Eight early = read_eight(mine, group_thread / chunks, part * TILE + group_thread % chunks * 8);

    for (i32 step = 0; step < steps; ++step) {
        const i32 k0 = (step * SPLIT + part) * TILE;
        u8* stage = stages + step % STAGES * stage_bytes;
        const Scale* scales = (const Scale*)(stage + tile_bytes);
        // Whole warps go around, so that lanes can add up.
        for (i32 i = group_thread; i - lane < tokens * chunks; i += group_threads) {
            const i32 token = i / chunks, chunk = i % chunks;
            const Eight eight = i == group_thread ? early : read_eight(mine, token, k0 + chunk * 8);
            place_eight(activations, token_sums + chunk / (UNIT / 8) * COLUMNS * 8, tokens,
                              token, chunk, eight);
        }
        early = read_eight(mine, group_thread / chunks,
                           k0 + SPLIT * TILE + group_thread % chunks * 8);
        await_batches<STAGES - 1>();
        if (group_warps == 1) {
            sync_warp();
        } else {
            sync_block();
        }
        u32 fragment[2][4];
#if BITS == 0
        for (i32 quarter = 0; quarter < TILE / 128; ++quarter) {
            const Eight upper = packed_words(stage, 0, quarter, w.inner, lane);
            const Eight lower = packed_words(stage, 1, quarter, w.inner, lane);
#pragma unroll
            for (i32 i = 0; i < 4; ++i) {
                unpack_word(fragment, 0, upper.pair[i]);
                unpack_word(fragment, 1, lower.pair[i]);
                add_block<COLUMNS>(sums, fragment, activations, token_sums, scales, tokens,
                                         quarter * 4 + i, g, t);
            }
        }
#else
#pragma unroll(COLUMNS == 1 ? 4 : 1)
        for (i32 block = 0; block < TILE / 32; ++block) {
            unpack(fragment, stage, block, g, t);
            add_block<COLUMNS>(sums, fragment, activations, token_sums, scales, tokens, block,
                                     g, t);
        }
#endif
        if (group_warps == 1) {
            sync_warp();
        } else {
            sync_block();
        }
        if (step + STAGES < steps) {
            const i32 next = k0 + STAGES * SPLIT * TILE;
            bring_weights(stage, w, row0, next, lane);
            bring_scales((Scale*)(stage + tile_bytes), w, row0, next, lane);
        }
        end_batch();
    }

    if (SPLIT == 1) {
#pragma unroll
        for (i32 column = 0; column < COLUMNS; ++column) {
#pragma unroll
            for (i32 i = 0; i < 4; ++i) {
                const i32 token = column * 8 + 2 * t + i % 2, row = row0 + g + i / 2 * 8;
                if (token < tokens && row < w.n) {
                    out[i64(token0 + token) * w.n + row] = to_bf16(sums[column][i]);
                }
            }
        }
        return;
    }
    // The sums of the parts are added in the order of the parts.
    await_batches<0>();
    sync_block();
    float* all = (float*)shared;
    const i32 group_rows = group_warps * ROWS;
#pragma unroll
    for (i32 column = 0; column < COLUMNS; ++column) {
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
            const i32 token = column * 8 + 2 * t + i % 2;
            const i32 row = warp % group_warps * ROWS + g + i / 2 * 8;
            if (token < tokens) all[(part * tokens + token) * group_rows + row] = sums[column][i];
        }
    }
    sync_block();
    for (i32 i = thread; i < tokens * group_rows; i += WARPS * 32) {
        const i32 token = i / group_rows, row = blockIdx.x * group_rows + i % group_rows;
        float sum = 0.0f;
#pragma unroll
        for (i32 other = 0; other < SPLIT; ++other) sum += all[other * tokens * group_rows + i];
        if (row < w.n) out[i64(token0 + token) * w.n + row] = to_bf16(sum);
    }
}

// The name of a kernel has the format, the unit, and the most tokens of a block.
#define MATMUL(tokens, columns, split)                                                             \
    KERNEL __launch_bounds__(WARPS * 32) void NAME(matmul, BITS, UNIT, tokens)(                    \
        const u16* a, i64 a_row, i64 a_column, u32 dense, i32 m, i32 n, i32 k, const u8* low,      \
        const u8* high, const u8* scale, const u16* scale_step, const u8* zero,                    \
        const u16* zero_step, i32 group_shift, i32 groups, i32 inner, u16* out) {                  \
        SHARED_BYTES(shared);                                                                      \
        const Activations activations = {a, a_row, a_column, dense != 0, m, k};                    \
        const Weights weights = {low,       high, scale, scale_step,  zero,                        \
                                 zero_step, n,    k,     group_shift, groups, inner};              \
        matmul<columns, split>(activations, weights, out, shared);                                 \
    }

MATMUL(8, 1, 8)
MATMUL(32, 4, 2)
MATMUL(64, 8, 1)

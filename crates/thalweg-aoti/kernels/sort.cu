// Stable sorting along one dimension, of any number of slices at once.
//
// Every element has a key: an unsigned integer that orders as the element does. Zeros of both signs have
// the same key, and so have all NaNs, which are above everything. For a descending sort all bits of the
// keys are inverted, so that equal elements keep their order.
//
// A block sorts a short slice in shared memory, where the position is a part of the key. Long slices are
// sorted by radix, one byte of the keys in each pass, the lowest first: `sort_count` computes the histogram
// of each tile, `sort_scan` the prefix sums of the histograms, and `sort_scatter` moves the keys with the
// positions of their elements. `sort_finish` moves the elements.
#include "device.cuh"

// The host's codes of element types.
enum Type { U8, I8, U16, I16, U32, I32, U64, I64, BF16, F16, F32, F64 };

#define SHORT 2048
#define THREADS 256
#define WARPS (THREADS / 32)

// The slices of a tensor: it is `outer` x `len` x `inner`, and the slices are along `len`.
struct Cut {
    u64 slices;
    u32 len;
    u64 inner;
};

// The index of an element of a slice.
DEVICE u64 place(const Cut& cut, u64 slice, u32 position) {
    return (slice / cut.inner * cut.len + position) * cut.inner + slice % cut.inner;
}

// The key of a float from its bits. `fraction` is the number of bits of its fraction.
template <typename T> DEVICE T float_key(T bits, int fraction) {
    const int width = sizeof(T) * 8;
    const T sign = T(1) << (width - 1);
    const T infinity = T(sign - 1) >> fraction << fraction;
    const T size = bits & T(sign - 1);
    if (size > infinity) return T(~T(0));
    if (size == 0) return sign;
    return bits & sign ? T(~bits) : T(bits | sign);
}

template <typename T> DEVICE T signed_key(T bits) {
    return T(bits ^ (T(1) << (sizeof(T) * 8 - 1)));
}

DEVICE u64 key(const void* values, u64 at, u32 type, bool descending) {
    u64 key = 0, mask = ~u64(0);
    switch (type) {
    case U8: case I8: {
        const u8 bits = ((const u8*)values)[at];
        key = type == U8 ? bits : signed_key(bits);
        mask = 0xff;
        break;
    }
    case U16: case I16: case BF16: case F16: {
        const u16 bits = ((const u16*)values)[at];
        key = type == U16 ? bits : type == I16 ? signed_key(bits) : float_key(bits, type == F16 ? 10 : 7);
        mask = 0xffff;
        break;
    }
    case U32: case I32: case F32: {
        const u32 bits = ((const u32*)values)[at];
        key = type == U32 ? bits : type == I32 ? signed_key(bits) : float_key(bits, 23);
        mask = 0xffffffffu;
        break;
    }
    default: {
        const u64 bits = ((const u64*)values)[at];
        key = type == U64 ? bits : type == I64 ? signed_key(bits) : float_key(bits, 52);
    }
    }
    return descending ? ~key & mask : key;
}

DEVICE void copy_element(void* to, u64 at, const void* from, u64 from_at, u32 type) {
    switch (type) {
    case U8: case I8: ((u8*)to)[at] = ((const u8*)from)[from_at]; break;
    case U16: case I16: case BF16: case F16: ((u16*)to)[at] = ((const u16*)from)[from_at]; break;
    case U32: case I32: case F32: ((u32*)to)[at] = ((const u32*)from)[from_at]; break;
    default: ((u64*)to)[at] = ((const u64*)from)[from_at];
    }
}

// Sorts a slice in one block. `size` is the next power of two.
KERNEL void sort_short(const void* values, u32 type, u32 descending, u64 slices, u32 len, u64 inner,
                       u32 size, void* sorted, i64* indices) {
    __shared__ u64 keys[SHORT];
    __shared__ u32 positions[SHORT];
    const Cut cut = {slices, len, inner};
    const u64 slice = blockIdx.x;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
        keys[i] = i < len ? key(values, place(cut, slice, i), type, descending) : ~u64(0);
        positions[i] = i;
    }
    sync_block();
    for (u32 run = 2; run <= size; run *= 2) {
        for (u32 distance = run / 2; distance > 0; distance /= 2) {
            for (u32 i = threadIdx.x; i < size / 2; i += blockDim.x) {
                const u32 low = i / distance * distance * 2 + i % distance;
                const u32 high = low + distance;
                const u64 a = keys[low], b = keys[high];
                const u32 p = positions[low], q = positions[high];
                const bool above = a > b || (a == b && p > q);
                if (above == ((low & run) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                    positions[low] = q;
                    positions[high] = p;
                }
            }
            sync_block();
        }
    }
    for (u32 i = threadIdx.x; i < len; i += blockDim.x) {
        const u64 to = place(cut, slice, i);
        copy_element(sorted, to, values, place(cut, slice, positions[i]), type);
        indices[to] = positions[i];
    }
}

template <typename Key>
DEVICE void keys_of(const void* values, u32 type, u32 descending, const Cut& cut, Key* keys,
                    u32* positions) {
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < cut.slices * cut.len; i += step) {
        const u32 position = u32(i % cut.len);
        keys[i] = Key(key(values, place(cut, i / cut.len, position), type, descending));
        positions[i] = position;
    }
}

// Sorts a tile of keys.
template <typename Key> struct Tile {
    static const u32 ROUNDS = sizeof(Key) == 4 ? 16 : 8;
    static const u32 KEYS = THREADS * ROUNDS;
};

// The histogram of a byte in each tile: counts[slice][byte][tile].
template <typename Key>
DEVICE void count(const Key* keys, u32 len, u32 tiles, u32 shift, u32* counts) {
    __shared__ u32 found[256];
    const u64 slice = blockIdx.x / tiles;
    const u32 tile = blockIdx.x % tiles;
    const u32 thread = threadIdx.x;
    found[thread] = 0;
    sync_block();
    for (u32 round = 0; round < Tile<Key>::ROUNDS; ++round) {
        const u32 i = tile * Tile<Key>::KEYS + round * THREADS + thread;
        if (i < len) count_one(&found[u32(keys[slice * len + i] >> shift) & 255]);
    }
    sync_block();
    counts[(slice * 256 + thread) * tiles + tile] = found[thread];
}

// The sums of the values of lower lanes, and of all lanes.
DEVICE u32 sum_below(u32 value, u32 lane, u32& all) {
    u32 sum = value;
#pragma unroll
    for (u32 distance = 1; distance < 32; distance *= 2) {
        const u32 below = from_below(sum, distance);
        if (lane >= distance) sum += below;
    }
    all = from_lane(sum, 31);
    return sum - value;
}

// The sums of the values of lower threads, and of all threads of a block.
DEVICE u32 sum_below_in_block(u32 value, u32* of_warps) {
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 all;
    u32 sum = sum_below(value, lane, all);
    sync_block();
    if (lane == 0) of_warps[warp] = all;
    sync_block();
    for (u32 below = 0; below < warp; ++below) sum += of_warps[below];
    return sum;
}

// The prefix sums of the counts of each byte over tiles, a warp for each byte, and their totals:
// totals[slice][byte].
KERNEL void sort_scan(u32* counts, u32 tiles, u64 rows, u32* totals) {
    const u64 row = u64(blockIdx.x) * WARPS + threadIdx.x / 32;
    const u32 lane = threadIdx.x % 32;
    if (row >= rows) return;
    u32* of_row = counts + row * tiles;
    u32 before = 0;
    for (u32 first = 0; first < tiles; first += 32) {
        const u32 tile = first + lane;
        u32 all;
        const u32 below = sum_below(tile < tiles ? of_row[tile] : 0, lane, all);
        if (tile < tiles) of_row[tile] = before + below;
        before += all;
    }
    if (lane == 0) totals[row] = before;
}

template <typename Key>
DEVICE void move(const Key* keys, const u32* positions, u32 len, u32 tiles, u32 shift,
                 const u32* counts, const u32* totals, Key* keys_to, u32* positions_to) {
    const u32 rounds = Tile<Key>::ROUNDS;
    __shared__ u32 of_warps[WARPS];
    // The histogram of each warp; then the position in the tile of its first key with each byte.
    __shared__ u32 places[WARPS][256];
    // The offset from a position in the tile to the position in the slice.
    __shared__ u32 offset[256];
    __shared__ Key tile_keys[Tile<Key>::KEYS];
    __shared__ u32 tile_positions[Tile<Key>::KEYS];
    const u64 slice = blockIdx.x / tiles;
    const u32 tile = blockIdx.x % tiles;
    const u32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    for (u32 i = lane; i < 256; i += 32) places[warp][i] = 0;
    sync_warp();

    // A warp has adjacent keys, in rounds, so that equal bytes keep their order.
    const u32 first = warp * rounds * 32;
    const u32 start = tile * Tile<Key>::KEYS;
    Key mine[rounds];
    u32 rank[rounds];
#pragma unroll
    for (u32 round = 0; round < rounds; ++round) {
        const u32 i = start + first + round * 32 + lane;
        mine[round] = i < len ? keys[slice * len + i] : 0;
        const u32 byte = u32(mine[round] >> shift) & 255;
        const u32 peers = same_lanes(i < len ? byte : 256);
        const u32 below = count_bits(peers & ((1u << lane) - 1));
        rank[round] = i < len ? places[warp][byte] + below : 0;
        sync_warp();
        if (i < len && below == 0) places[warp][byte] += count_bits(peers);
        sync_warp();
    }
    sync_block();
    u32 here = 0;
    for (u32 i = 0; i < WARPS; ++i) here += places[i][thread];
    const u32 in_tile = sum_below_in_block(here, of_warps);
    const u32 in_slice = sum_below_in_block(totals[slice * 256 + thread], of_warps);
    offset[thread] = in_slice + counts[(slice * 256 + thread) * tiles + tile] - in_tile;
    u32 next = in_tile;
    for (u32 i = 0; i < WARPS; ++i) {
        const u32 count = places[i][thread];
        places[i][thread] = next;
        next += count;
    }
    sync_block();
#pragma unroll
    for (u32 round = 0; round < rounds; ++round) {
        const u32 i = start + first + round * 32 + lane;
        if (i < len) {
            const u32 to = places[warp][u32(mine[round] >> shift) & 255] + rank[round];
            tile_keys[to] = mine[round];
            tile_positions[to] = positions[slice * len + i];
        }
    }
    sync_block();
    const u32 left = len - start;
    for (u32 i = thread; i < Tile<Key>::KEYS && i < left; i += THREADS) {
        const Key key = tile_keys[i];
        const u64 to = slice * len + (offset[u32(key >> shift) & 255] + i);
        keys_to[to] = key;
        positions_to[to] = tile_positions[i];
    }
}

#define OF_KEYS(bits, Key)                                                                          \
    KERNEL void sort_keys_##bits(const void* values, u32 type, u32 descending, u64 slices,          \
                                 u32 len, u64 inner, Key* keys, u32* positions) {                   \
        const Cut cut = {slices, len, inner};                                                       \
        keys_of(values, type, descending, cut, keys, positions);                                    \
    }                                                                                               \
    KERNEL __launch_bounds__(THREADS) void sort_count_##bits(                                       \
        const Key* keys, u32 len, u32 tiles, u32 shift, u32* counts) {                              \
        count(keys, len, tiles, shift, counts);                                                     \
    }                                                                                               \
    KERNEL __launch_bounds__(THREADS) void sort_scatter_##bits(                                        \
        const Key* keys, const u32* positions, u32 len, u32 tiles, u32 shift, const u32* counts,    \
        const u32* totals, Key* keys_to, u32* positions_to) {                                       \
        move(keys, positions, len, tiles, shift, counts, totals, keys_to, positions_to);            \
    }

OF_KEYS(32, u32)
OF_KEYS(64, u64)

KERNEL void sort_finish(const void* values, u32 type, u64 slices, u32 len, u64 inner,
                        const u32* positions, void* sorted, i64* indices) {
    const Cut cut = {slices, len, inner};
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < slices * len; i += step) {
        // In the order of the results.
        const u64 slice = i / (len * inner) * inner + i % inner;
        const u32 position = u32(i / inner % len);
        const u32 from = positions[slice * len + position];
        copy_element(sorted, i, values, place(cut, slice, from), type);
        indices[i] = from;
    }
}

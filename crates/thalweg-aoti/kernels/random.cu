// Random numbers: Philox 4 x 32 with 10 rounds. The key is the seed, and the counter is on the device.
//
// A launch of `random_reserve` reserves as many values of the counter as the next launch needs, and stores
// the first one. So no two launches use the same values, also when a graph repeats them.
#include "device.cuh"

// The host's codes of element types.
enum Type { BF16, F16, F32, F64 };

struct Four {
    u32 word[4];
};

DEVICE Four philox(u64 seed, u64 counter) {
    Four four = {{u32(counter), u32(counter >> 32), 0, 0}};
    u32 key0 = u32(seed), key1 = u32(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const u32 high0 = high_product(0xd2511f53u, four.word[0]);
        const u32 high1 = high_product(0xcd9e8d57u, four.word[2]);
        const u32 low0 = 0xd2511f53u * four.word[0], low1 = 0xcd9e8d57u * four.word[2];
        four = {{high1 ^ four.word[1] ^ key0, low1, high0 ^ four.word[3] ^ key1, low0}};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return four;
}

KERNEL void random_reserve(u64* counter, u64 count, u64* first) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *first = take(counter, count);
}

// Numbers in [0, 1), with as many bits as the significand of the type, so that none is rounded to 1.
KERNEL void random_uniform(void* out, u32 type, u64 len, u64 seed, const u64* first) {
    const u64 step = u64(gridDim.x) * blockDim.x, base = *first;
    const u64 each = type == F64 ? 2 : 4;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < (len + each - 1) / each; i += step) {
        const Four four = philox(seed, base + i);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            const u64 at = i * each + j;
            if (j >= each || at >= len) continue;
            const u32 bits = four.word[j];
            switch (type) {
            case BF16: ((u16*)out)[at] = to_bf16(float(bits >> 24) * 0x1p-8f); break;
            case F16: ((u16*)out)[at] = to_f16(float(bits >> 21) * 0x1p-11f); break;
            case F32: ((float*)out)[at] = float(bits >> 8) * 0x1p-24f; break;
            default: {
                const u64 both = u64(four.word[2 * (j % 2)]) << 32 | four.word[2 * (j % 2) + 1];
                ((double*)out)[at] = double(both >> 11) * 0x1p-53;
            }
            }
        }
    }
}

// Integers from `low` on. `range` is the number of different ones; 0 stands for 2^64.
KERNEL void random_between(i64* out, u64 len, i64 low, u64 range, u64 seed, const u64* first) {
    const u64 step = u64(gridDim.x) * blockDim.x, base = *first;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < (len + 1) / 2; i += step) {
        const Four four = philox(seed, base + i);
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            const u64 at = i * 2 + j;
            if (at >= len) continue;
            const u64 bits = u64(four.word[2 * j]) << 32 | four.word[2 * j + 1];
            out[at] = i64(u64(low) + (range == 0 ? bits : high_product(bits, range)));
        }
    }
}

// Device functions for single instructions.
//
// No header of CUDA is included, so that NVRTC alone compiles the kernels.
#pragma once

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__
#define WHOLE_WARP 0xffffffffu

// Dynamic shared memory.
#define SHARED_BYTES(name) extern __shared__ __align__(16) u8 name[]

DEVICE float from_bits(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 to_bits(float value) { return __float_as_uint(value); }

DEVICE float from_bf16(u16 bits) { return from_bits(u32(bits) << 16); }

DEVICE u16 to_bf16(float value) {
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

DEVICE float from_f16(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE u16 to_f16(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Bytes of two words, selected by the nibbles of a selector.
DEVICE u32 choose_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }

// a - b of two pairs of bf16. The hardware of 8.0 has only the fused form.
DEVICE u32 subtract_bf16x2(u32 a, u32 b) {
    u32 result;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(b), "r"(0xbf80bf80u), "r"(a));
    return result;
}

// D += A B, with A of 16 x 16, B of 16 x 8, in bf16, and sums in float.
DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Begins an asynchronous copy of 16 bytes to shared memory, or of zeros if there is nothing to copy.
DEVICE void bring(void* to, const void* from, bool there) {
    u32 place = u32(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(place), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
                 : "memory");
}

// Ends a batch of asynchronous copies.
DEVICE void end_batch() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all batches but the last few.
template <int LEFT> DEVICE void await_batches() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

DEVICE void sync_warp() { __syncwarp(); }
DEVICE void sync_block() { __syncthreads(); }
DEVICE float exchange(float value, int with) {
    return __shfl_xor_sync(WHOLE_WARP, value, with);
}
DEVICE u32 from_lane(u32 value, int lane) { return __shfl_sync(WHOLE_WARP, value, lane); }
DEVICE u32 from_below(u32 value, int distance) {
    return __shfl_up_sync(WHOLE_WARP, value, distance);
}
// The lanes that have the same value.
DEVICE u32 same_lanes(u32 value) { return __match_any_sync(WHOLE_WARP, value); }
DEVICE int count_bits(u32 bits) { return __popc(bits); }
DEVICE u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
DEVICE u64 take(u64* counter, u64 count) { return atomicAdd(counter, count); }
DEVICE void count_one(u32* counter) { atomicAdd(counter, 1u); }

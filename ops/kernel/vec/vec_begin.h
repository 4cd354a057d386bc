/* Turns on the instructions of LK_VEC_BYTES for what follows in this file, up to vec_end.h, and
 * with LK_VEC_VNNI those of VNNI too. It is called only where the processor has them (isa.h). What
 * else the file includes comes before. A file *_isa.c is compiled once for each of 16, 32 and 64
 * bytes (cmake/house.cmake), and its table has three names (LK_BY_ISA). */
#if LK_VEC_BYTES == 64
#define LK_OF_ISA(name) name##_avx512
#elif LK_VEC_BYTES == 32
#define LK_OF_ISA(name) name##_avx2
#else
#define LK_OF_ISA(name) name##_base
#endif

#if LK_VEC_BYTES == 64 && defined(LK_VEC_VNNI) && defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c"))),        \
    apply_to = function)
#elif LK_VEC_BYTES == 64 && defined(LK_VEC_VNNI)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
#elif LK_VEC_BYTES == 64 && defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))),                   \
    apply_to = function)
#elif LK_VEC_BYTES == 64
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#elif LK_VEC_BYTES == 32 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#elif LK_VEC_BYTES == 32
#pragma GCC target("avx2,fma,f16c")
#endif

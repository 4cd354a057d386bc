/* Ends what vec_begin.h began. GCC does so with the file. */
#if LK_VEC_BYTES > 16 && defined(__clang__)
#pragma clang attribute pop
#endif

// Compiles hot loops for several instruction sets; the loader picks the best that the processor has. The library is
// built without fused multiply-adds (CMakeLists.txt), so that every clone gives the same bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define DIGD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define DIGD_POPCOUNT_CLONES __attribute__((target_clones("avx2", "popcnt", "default")))
#else
#define DIGD_CLONES
#define DIGD_POPCOUNT_CLONES
#endif

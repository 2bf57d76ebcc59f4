/* One source, several instruction sets: files named *.isa.c are compiled once per instruction set
 * with -DLUC_ISA=base|avx2|avx512 and the matching -march (none, x86-64-v3, x86-64-v4). Each
 * exports one table of function pointers named LUC_ISA_NAME(luc__<family>); all else is static. */
#ifndef LUC_ISA_H
#define LUC_ISA_H

#ifdef LUC_ISA
#define LUC_ISA_PASTE2(name, isa) name##_##isa
#define LUC_ISA_PASTE(name, isa)  LUC_ISA_PASTE2(name, isa)
#define LUC_ISA_NAME(name)        LUC_ISA_PASTE(name, LUC_ISA) /* luc__gemm -> luc__gemm_avx2 */
#endif

/* The width of a register, for GCC's vector types. */
#if defined(__AVX512F__)
#define LUC_VECTOR_BYTES     64
#define LUC_VECTOR_REGISTERS 32
#elif defined(__AVX2__)
#define LUC_VECTOR_BYTES     32
#define LUC_VECTOR_REGISTERS 16
#elif defined(__aarch64__)
#define LUC_VECTOR_BYTES     16
#define LUC_VECTOR_REGISTERS 32
#else
#define LUC_VECTOR_BYTES     16
#define LUC_VECTOR_REGISTERS 16
#endif

/* Before a loop: no iteration needs what another does. */
#ifdef __clang__
#define LUC_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define LUC_EACH_ALONE _Pragma("GCC ivdep")
#endif

/* Which instruction sets are compiled: all three on x86-64, only base elsewhere, but none for which
 * CMakeLists.txt defines LUC_WITHOUT_<isa>. */
#if defined(__x86_64__) && defined(__GNUC__)
#define LUC_ISA_X86 1
#else
#define LUC_ISA_X86 0
#endif

/* AMX's tiles: where the compiler knows them, and Linux may be asked for them. */
#if LUC_ISA_X86 && defined(__linux__) && !defined(__clang__) && __GNUC__ >= 11 &&                  \
    !defined(LUC_WITHOUT_avx512)
#define LUC_ISA_TILES 1
#else
#define LUC_ISA_TILES 0
#endif

#endif

# Decides between device.cu and no_cuda.c. AUTO never fails a build: nvcc has to be there and to
# compile and link a small program, or CUDA is left out. nvcc is called by custom commands and not
# enabled as a CMake language, because a broken one would end the configuration.
# Sets cuda_libraries and cuda_objects (target lucerna_cuda), or appends to core_sources.
set(cuda_libraries)
set(cuda_objects)
set(cuda_works FALSE)
file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cu)

if(NOT LUCERNA_CUDA STREQUAL "OFF" AND cuda_sources)
  find_program(LUCERNA_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(LUCERNA_NVCC)
    get_filename_component(cuda_root ${LUCERNA_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
    find_library(LUCERNA_CUDART libcudart_static.a HINTS ${cuda_root}
      PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib)
  endif()
  if(LUCERNA_NVCC AND LUCERNA_CUDART)
    if(NOT DEFINED LUCERNA_CUDA_PROBE OR NOT LUCERNA_CUDA_PROBE STREQUAL LUCERNA_NVCC)
      set(probe ${CMAKE_BINARY_DIR}/cuda_probe)
      file(WRITE ${probe}.cu "#include <cuda_runtime.h>
__global__ void fill(float *x) { x[threadIdx.x] = 1; }
int main(void) { int n = 0; fill<<<1, 1>>>(0); return cudaGetDeviceCount(&n) == 0 && n > 99; }\n")
      execute_process(COMMAND ${LUCERNA_NVCC} -cudart static -o ${probe} ${probe}.cu
        RESULT_VARIABLE probe_result OUTPUT_QUIET ERROR_QUIET)
      if(probe_result EQUAL 0)
        set(LUCERNA_CUDA_PROBE ${LUCERNA_NVCC} CACHE INTERNAL "the nvcc that was seen to work")
        set(cuda_works TRUE)
      endif()
    else()
      set(cuda_works TRUE)
    endif()
  endif()
endif()

if(LUCERNA_CUDA STREQUAL "ON" AND NOT cuda_works)
  message(FATAL_ERROR "LUCERNA_CUDA=ON, but no working nvcc with libcudart_static.a was found")
endif()

if(cuda_works)
  message(STATUS "CUDA: ${LUCERNA_NVCC}")
  foreach(source ${cuda_sources})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
      COMMAND ${LUCERNA_NVCC} -O3 -c ${source} -o ${object} -MD -MF ${object}.d
        -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/src/include
        -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
    list(APPEND cuda_objects ${object})
  endforeach()
  add_custom_target(lucerna_cuda DEPENDS ${cuda_objects})
  set_source_files_properties(${cuda_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  # The runtime's symbols stay inside: another copy may live in the host.
  set(cuda_libraries ${LUCERNA_CUDART} rt -Wl,--exclude-libs,libcudart_static.a)
elseif(EXISTS ${CMAKE_SOURCE_DIR}/src/cuda/no_cuda.c)
  message(STATUS "CUDA: none")
  list(APPEND core_sources ${CMAKE_SOURCE_DIR}/src/cuda/no_cuda.c)
endif()

# find_package(lucerna): the static library as the target lucerna::lucerna, with its headers and what
# it needs.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(ZLIB)
find_package(PNG QUIET) # one that was built with libpng needs it
include(${CMAKE_CURRENT_LIST_DIR}/lucernaTargets.cmake)

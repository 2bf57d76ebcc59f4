# C tests: each tests/c/test_*.c is one program, each tests/fault/test_*.c another (label "fault":
# out of memory, hostile input). They are no part of `all`: build the target c_tests. Also the small
# Lua interpreter that runs the busted suite when the build is sanitized, so that nothing has to be
# preloaded into a stock lua5.4.
enable_testing()
add_custom_target(c_tests)
file(GLOB c_tests CONFIGURE_DEPENDS tests/c/test_*.c)
file(GLOB fault_tests CONFIGURE_DEPENDS tests/fault/test_*.c)
foreach(source ${c_tests} ${fault_tests})
  get_filename_component(name ${source} NAME_WE)
  if(NOT TARGET lucerna OR (name MATCHES "_lua_" AND NOT TARGET lucerna_lua))
    continue()
  endif()
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  add_dependencies(c_tests ${name})
  target_link_libraries(${name} PRIVATE lucerna_flags lucerna)
  target_include_directories(${name} PRIVATE tests/c)
  if(name MATCHES "_lua_")
    # These bring a Lua state.
    target_link_libraries(${name} PRIVATE ${LUCERNA_LUA_LIBRARY})
    target_include_directories(${name} SYSTEM PRIVATE ${LUCERNA_LUA_INCLUDE})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${folder} TIMEOUT 600
    ENVIRONMENT "LUCERNA_ROOT=${CMAKE_SOURCE_DIR}" WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
endforeach()

# A host in C++, where there is a compiler for it.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER AND TARGET lucerna)
  enable_language(CXX)
  add_executable(test_cpp EXCLUDE_FROM_ALL tests/c/test_cpp.cc)
  add_dependencies(c_tests test_cpp)
  target_compile_features(test_cpp PRIVATE cxx_std_17)
  target_compile_options(test_cpp PRIVATE -Wall -Wextra -pedantic -Werror)
  target_link_libraries(test_cpp PRIVATE lucerna)
  target_link_options(test_cpp PRIVATE $<TARGET_PROPERTY:lucerna_flags,INTERFACE_LINK_OPTIONS>)
  set_target_properties(test_cpp PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME test_cpp COMMAND test_cpp)
  set_tests_properties(test_cpp PROPERTIES LABELS c)
endif()

# The longest begin first, so that no processor waits for them at the end.
foreach(name test_lua_sweep test_conv test_math test_fft test_kernels)
  if(TARGET ${name})
    set_tests_properties(${name} PROPERTIES COST 1)
  endif()
endforeach()
# Their naive loops, which take most of their time, are not what they test; what lies on the heap is
# watched all the same.
if(LUCERNA_SANITIZE AND NOT LUCERNA_SANITIZE_ALL)
  foreach(name test_conv test_kernels test_layer_kernels test_math)
    if(TARGET ${name})
      set_target_properties(${name} PROPERTIES LUCERNA_PLAIN ON)
    endif()
  endforeach()
endif()

# In full and with sanitizers it takes more than the ten minutes of the others.
if(TARGET test_lua_sweep)
  set_tests_properties(test_lua_sweep PROPERTIES TIMEOUT 7200)
endif()

if(LUCERNA_LUA_LIBRARY AND LUCERNA_LUA_INCLUDE)
  add_executable(lua_runner EXCLUDE_FROM_ALL tests/c/lua_runner.c)
  add_dependencies(c_tests lua_runner)
  target_link_libraries(lua_runner PRIVATE lucerna_flags ${LUCERNA_LUA_LIBRARY})
  target_include_directories(lua_runner SYSTEM PRIVATE ${LUCERNA_LUA_INCLUDE})
  set_target_properties(lua_runner PROPERTIES ENABLE_EXPORTS ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()

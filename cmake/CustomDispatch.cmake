# Building PTX from hand-written CUDA kernels, in any CMake project. No GPU, no driver, no CUDA language support
# and no CUDA toolkit of the machine is needed: nvcc may come from PyPI.
#
#   list(APPEND CMAKE_MODULE_PATH "/path/to/custom_dispatch/cmake")
#   include(CustomDispatch)
#   custom_dispatch_add_ptx(kernels SOURCES scale.cu rms_norm.cu ARCHS 80 90a)
#
#   cmake -S . -B build && cmake --build build --target kernels     # build/scale_sm_80.ptx, ...
#
# custom_dispatch_add_ptx(<target> [ALL]
#                         SOURCES <file>...
#                         [ENTRIES <C++ name>...]
#                         [ARCHS <arch>...]
#                         [OUTPUT_DIRECTORY <directory>]
#                         [INCLUDE_DIRECTORIES <directory>...]
#                         [OPTIONS <nvcc option>...])
#
#   Adds a target that compiles each source for each architecture to NAME_sm_XX.ptx. A file is made again when its
#   source, a header that it includes, or an option changes. After a failed compilation the file does not exist.
#
#   ALL                  the default target builds this one, too
#   SOURCES              .cu files, relative to the current source directory; no two of the same name
#   ENTRIES              kernels of the one source that are to be in the PTX, as C++ names them: a template is
#                        instantiated. "rms_norm<float, 256>", "ns::scale", "scale(const float*, int)" for an overload
#   ARCHS                compute capabilities: 80, 90, 90a (that chip only), 100f (its family). Without it
#                        CUSTOM_DISPATCH_CUDA_ARCHS, without that 80 and 90a
#   OUTPUT_DIRECTORY     where the PTX goes; the current binary directory by default
#   INCLUDE_DIRECTORIES  searched for headers, relative to the current source directory
#   OPTIONS              for nvcc; C++17 is the standard unless -std is among them
#
#   The target's property CUSTOM_DISPATCH_PTX holds the paths of its PTX files.
#
# nvcc is looked for once, in this order:
#   1. the cache variable CUDA_NVCC_EXECUTABLE, where given
#   2. the PyPI wheels (CUSTOM_DISPATCH_NVCC_WHEELS, below) of the first of these Pythons that has them:
#      Python3_EXECUTABLE, the active virtual environment, .venv beside the top CMakeLists.txt, python3 on PATH
#   3. CUDA_HOME, CUDA_PATH, PATH, and CUSTOM_DISPATCH_TOOLKIT (/usr/local/cuda)
#
# NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS of the environment are not used: a build depends on what is written in it.

include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

# Those of this project's extra `nvcc`, so that they can be had without it.
set(CUSTOM_DISPATCH_NVCC_WHEELS "nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88 nvidia-cuda-nvcc==13.0.88 \
nvidia-cuda-runtime==13.0.96 nvidia-nvvm==13.0.88")
set(CUSTOM_DISPATCH_TOOLKIT "/usr/local/cuda" CACHE PATH "The CUDA toolkit that is used when there is no other")

function(custom_dispatch_add_ptx target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALL" "OUTPUT_DIRECTORY" "SOURCES;ENTRIES;ARCHS;INCLUDE_DIRECTORIES;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): '${arg_UNPARSED_ARGUMENTS}' belongs to no keyword.\n"
      "Expected: SOURCES a.cu ... [ARCHS 80 ...]. Put the files after SOURCES.")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "custom_dispatch_add_ptx(${target}) names no sources.\nAdd: SOURCES a.cu")
  endif()
  list(LENGTH arg_SOURCES source_count)
  if(arg_ENTRIES AND source_count GREATER 1)
    message(FATAL_ERROR "custom_dispatch_add_ptx(${target}) names ENTRIES and ${source_count} sources.\n"
      "Expected: one source, of which they are. Add a target of its own for each source that has ENTRIES.")
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${CUSTOM_DISPATCH_CUDA_ARCHS})
  endif()
  if(NOT arg_ARCHS)
    set(arg_ARCHS 80 90a)
  endif()
  list(REMOVE_DUPLICATES arg_ARCHS)
  set(output_directory "${CMAKE_CURRENT_BINARY_DIR}")
  if(arg_OUTPUT_DIRECTORY)
    cmake_path(ABSOLUTE_PATH arg_OUTPUT_DIRECTORY BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE
      OUTPUT_VARIABLE output_directory)
  endif()

  _custom_dispatch_check_archs("${target}" ${arg_ARCHS})
  _custom_dispatch_find_nvcc(nvcc)
  _custom_dispatch_check_nvcc("${nvcc}" ${arg_ARCHS})

  set(options ${arg_OPTIONS})
  if(NOT options MATCHES "(^|;)--?std(=|;|$)")
    list(PREPEND options "-std=c++17")
  endif()
  foreach(directory IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND options "-I${directory}")
  endforeach()

  set(ptx_files "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${source}" OR IS_DIRECTORY "${source}")
      message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): there is no source file ${source}\n"
        "Correct the name after SOURCES; it is relative to ${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    if(source MATCHES "[\"$`\\]")
      message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): nvcc misreads the name ${source}\n"
        "Rename it without any of \" $ ` \\")
    endif()
    cmake_path(GET source STEM LAST_ONLY name)
    set(compiled "${source}")
    if(arg_ENTRIES)
      _custom_dispatch_instantiate("${target}" "${source}" compiled ${arg_ENTRIES})
    endif()
    foreach(arch IN LISTS arg_ARCHS)
      set(ptx "${output_directory}/${name}_sm_${arch}.ptx")
      _custom_dispatch_claim("${target}" "${ptx}" "${source}")
      _custom_dispatch_add_rule("${nvcc}" "${source}" "${compiled}" "${arch}" "${ptx}" ${options})
      list(APPEND ptx_files "${ptx}")
    endforeach()
  endforeach()

  set(all "")
  if(arg_ALL)
    set(all ALL)
  endif()
  add_custom_target(${target} ${all} DEPENDS ${ptx_files})
  set_target_properties(${target} PROPERTIES CUSTOM_DISPATCH_PTX "${ptx_files}")
endfunction()

# The command that makes one PTX file.
function(_custom_dispatch_add_rule nvcc source compiled arch ptx)
  cmake_path(GET ptx PARENT_PATH directory)
  cmake_path(GET ptx FILENAME file)
  cmake_path(GET source FILENAME source_file)
  file(MAKE_DIRECTORY "${directory}")
  # nvcc escapes the blanks in the names of headers, yet not in the target's.
  string(REPLACE " " "\\ " ptx_in_depfile "${ptx}")
  add_custom_command(
    OUTPUT "${ptx}"
    # The old file goes first and the new one takes its name last, so that there is none after a failure.
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${ptx}"
    COMMAND "${CMAKE_COMMAND}" -E env --unset=NVCC_PREPEND_FLAGS --unset=NVCC_APPEND_FLAGS
      "${nvcc}" -ptx -arch=sm_${arch} ${ARGN}
      --generate-dependencies-with-compile --dependency-output "${ptx}.d" --dependency-target-name "${ptx_in_depfile}"
      "${compiled}" -o "${ptx}.tmp"
    COMMAND "${CMAKE_COMMAND}" -E rename "${ptx}.tmp" "${ptx}"
    DEPENDS "${source}" "${compiled}" "${nvcc}"
    DEPFILE "${ptx}.d"
    COMMENT "Compiling ${source_file} to ${file}"
    VERBATIM)
endfunction()

# Writes a source that includes another and takes the addresses of its kernels, which instantiates templates.
function(_custom_dispatch_instantiate target source result)
  if(source MATCHES "[<>]")
    message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): a source with ENTRIES cannot be named ${source}\n"
      "Rename it without < and >")
  endif()
  set(text "#include \"${source}\"\n")
  set(index 0)
  foreach(entry IN LISTS ARGN)
    if(NOT entry MATCHES "^(::)?[A-Za-z_][A-Za-z0-9_:<>(),.*&+ -]*$" OR entry MATCHES "[^:]:([^:]|$)")
      message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): '${entry}' is not the name of a function.\n"
        "Expected: a C++ name such as ns::scale, \"rms_norm<float, 256>\" or \"scale(const float*, int)\".\n"
        "Correct ENTRIES.")
    endif()
    set(address "&${entry}")
    if(entry MATCHES "^([^(]*)\\((.*)\\)$")
      set(address "static_cast<void (*)(${CMAKE_MATCH_2})>(&${CMAKE_MATCH_1})")
    endif()
    # For the host's half of the program, which is never compiled: nothing of it is in the PTX.
    string(APPEND text "void* custom_dispatch_entry_${index} = (void*)(${address});\n")
    math(EXPR index "${index} + 1")
  endforeach()
  cmake_path(GET source FILENAME name)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/custom_dispatch_${target}/${name}")
  set(before "")
  if(EXISTS "${file}")
    file(READ "${file}" before)
  endif()
  if(NOT before STREQUAL text)  # a file that is as it was keeps its time
    file(WRITE "${file}" "${text}")
  endif()
  set(${result} "${file}" PARENT_SCOPE)
endfunction()

# Refuses two sources, of one target or of several, for the same PTX file.
function(_custom_dispatch_claim target ptx source)
  get_property(claimed GLOBAL PROPERTY "CUSTOM_DISPATCH_SOURCE_OF:${ptx}")
  if(claimed)
    message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): two sources would become the same file ${ptx}\n"
      "  ${claimed}\n  ${source}\nRename one of them, or give one target another OUTPUT_DIRECTORY.")
  endif()
  set_property(GLOBAL PROPERTY "CUSTOM_DISPATCH_SOURCE_OF:${ptx}" "${source}")
endfunction()

function(_custom_dispatch_check_archs target)
  foreach(arch IN LISTS ARGN)
    if(NOT arch MATCHES "^[1-9][0-9]+[af]?$")
      message(FATAL_ERROR "custom_dispatch_add_ptx(${target}): '${arch}' is not a CUDA architecture.\n"
        "Expected: a compute capability as a number, with a or f after it where wanted: 80, 90, 90a, 100f.\n"
        "Correct ARCHS or CUSTOM_DISPATCH_CUDA_ARCHS.")
    endif()
  endforeach()
endfunction()

# Where nvcc is: see the head of this file.
function(_custom_dispatch_find_nvcc result)
  set(CUDA_NVCC_EXECUTABLE "" CACHE FILEPATH "The nvcc to use; empty to look for one")
  if(CUDA_NVCC_EXECUTABLE)
    if(NOT EXISTS "${CUDA_NVCC_EXECUTABLE}")
      message(FATAL_ERROR "CUDA_NVCC_EXECUTABLE is ${CUDA_NVCC_EXECUTABLE}, which does not exist.\n"
        "Correct it, or leave it out to have nvcc looked for.")
    endif()
    set(${result} "${CUDA_NVCC_EXECUTABLE}" PARENT_SCOPE)
    return()
  endif()
  # A known one may be gone: an environment was removed, or made anew for another Python.
  if(CUSTOM_DISPATCH_NVCC AND EXISTS "${CUSTOM_DISPATCH_NVCC}")
    set(${result} "${CUSTOM_DISPATCH_NVCC}" PARENT_SCOPE)
    return()
  endif()
  unset(CUSTOM_DISPATCH_NVCC CACHE)

  set(places "")
  find_program(python python3 NO_CACHE)
  foreach(interpreter IN ITEMS "${Python3_EXECUTABLE}" "$ENV{VIRTUAL_ENV}/bin/python"
                               "${CMAKE_SOURCE_DIR}/.venv/bin/python" "${python}")
    if(interpreter AND EXISTS "${interpreter}")
      list(APPEND places "${interpreter} (its PyPI wheels)")
      _custom_dispatch_nvcc_of_python("${interpreter}" found)
      if(found)
        break()
      endif()
    endif()
  endforeach()
  if(NOT found)
    find_program(found nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin NO_CACHE
      NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH NO_CMAKE_INSTALL_PREFIX)
  endif()
  if(NOT found)
    find_program(found nvcc HINTS "${CUSTOM_DISPATCH_TOOLKIT}/bin" NO_CACHE NO_DEFAULT_PATH)
  endif()
  if(NOT found)
    list(APPEND places "CUDA_HOME ($ENV{CUDA_HOME})" "CUDA_PATH ($ENV{CUDA_PATH})" "PATH"
      "${CUSTOM_DISPATCH_TOOLKIT}")
    list(JOIN places "\n  " places)
    message(FATAL_ERROR "nvcc was not found. These places were searched:\n  ${places}\n"
      "Install it from PyPI (pip install ${CUSTOM_DISPATCH_NVCC_WHEELS}) into one of these Pythons, name a Python with "
      "-DPython3_EXECUTABLE=..., or name nvcc with -DCUDA_NVCC_EXECUTABLE=...")
  endif()
  set(CUSTOM_DISPATCH_NVCC "${found}" CACHE INTERNAL "The nvcc that was found")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Asks a Python for the nvcc of its wheels; empty when it has none, or not all of its parts.
function(_custom_dispatch_nvcc_of_python interpreter result)
  execute_process(
    COMMAND "${interpreter}" -c "
import importlib.util, pathlib
spec = importlib.util.find_spec('nvidia')
for place in spec.submodule_search_locations if spec else ():
    root = pathlib.Path(place, 'cu13')
    if all((root / part).is_file() for part in ('bin/nvcc', 'nvvm/bin/cicc', 'include/crt/host_defines.h')):
        print(root / 'bin' / 'nvcc')
        break
"
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# Compiles nothing to PTX, once: shows that nvcc is whole and has the host preprocessor that it needs.
function(_custom_dispatch_check_nvcc nvcc)
  if(NOT CUSTOM_DISPATCH_CHECKED_NVCC STREQUAL nvcc)
    set(trial "${CMAKE_BINARY_DIR}/CMakeFiles/custom_dispatch_trial")
    file(WRITE "${trial}.cu" "")
    execute_process(
      COMMAND "${CMAKE_COMMAND}" -E env --unset=NVCC_PREPEND_FLAGS --unset=NVCC_APPEND_FLAGS
        "${nvcc}" -ptx "${trial}.cu" -o "${trial}.ptx"
      RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(NOT status EQUAL 0 AND log MATCHES "gcc|cc1plus|host compiler|g\\+\\+")
      message(FATAL_ERROR "${nvcc} needs a host C++ compiler to preprocess sources, and finds none that works:\n"
        "${log}\nInstall g++ (apt install g++), or name a compiler in the environment variable NVCC_CCBIN.")
    elseif(NOT status EQUAL 0)
      message(FATAL_ERROR "${nvcc} cannot compile an empty source:\n${log}\n"
        "Install it again (pip install --force-reinstall ${CUSTOM_DISPATCH_NVCC_WHEELS}).")
    endif()
    execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "compute_" "" known "${known}")
    string(REPLACE "\n" ";" known "${known}")
    message(STATUS "custom-dispatch: nvcc is ${nvcc}")
    set(CUSTOM_DISPATCH_KNOWN_ARCHS "${known}" CACHE INTERNAL "The architectures that nvcc knows")
    set(CUSTOM_DISPATCH_CHECKED_NVCC "${nvcc}" CACHE INTERNAL "The nvcc that was tried")
  endif()
  foreach(arch IN LISTS ARGN)
    string(REGEX REPLACE "[af]$" "" capability "${arch}")
    if(NOT capability IN_LIST CUSTOM_DISPATCH_KNOWN_ARCHS)
      list(JOIN CUSTOM_DISPATCH_KNOWN_ARCHS ", " known)
      message(FATAL_ERROR "${nvcc} does not compile for architecture ${arch}.\nExpected one of: ${known}.\n"
        "Correct ARCHS or CUSTOM_DISPATCH_CUDA_ARCHS, or use an nvcc that knows it.")
    endif()
  endforeach()
endfunction()

cmake_policy(POP)

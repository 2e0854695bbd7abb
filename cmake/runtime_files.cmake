# The runtime's C travels inside the program: a table of its files, taken in by the assembler.
file(GLOB_RECURSE runtime_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/runtime
  ${CMAKE_SOURCE_DIR}/runtime/include/*.h
  ${CMAKE_SOURCE_DIR}/runtime/kernels/*.[ch]
  ${CMAKE_SOURCE_DIR}/runtime/harness/*.[ch]
  ${CMAKE_SOURCE_DIR}/runtime/host/*.[ch]
  ${CMAKE_SOURCE_DIR}/runtime/chip/*
  ${CMAKE_SOURCE_DIR}/runtime/project/*)
list(SORT runtime_files)

set(text "#include \"emit/runtime_files.hpp\"\n\n")
set(table "")
set(paths "")
set(number 0)
foreach(file IN LISTS runtime_files)
  set(path ${CMAKE_SOURCE_DIR}/runtime/${file})
  list(APPEND paths ${path})
  string(APPEND text "asm(\".pushsection .rodata\\nruntime_file_${number}:\\n.incbin \\\"${path}\\\"\\nruntime_file_${number}_end:\\n.popsection\");\n"
    "extern \"C\" const char runtime_file_${number}[], runtime_file_${number}_end[];\n")
  string(APPEND table "      {\"${file}\", {runtime_file_${number}, runtime_file_${number}_end}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nnamespace tessera::emit {\n\nstd::span<const RuntimeFile> runtime_files() {\n  static const RuntimeFile files[] = {\n${table}  };\n  return files;\n}\n\n}  // namespace tessera::emit\n")

set(generated ${CMAKE_BINARY_DIR}/runtime_files.cpp)
file(CONFIGURE OUTPUT ${generated} CONTENT "${text}" @ONLY)
set_source_files_properties(${generated} PROPERTIES OBJECT_DEPENDS "${paths}")
target_sources(tessera_emit PRIVATE ${generated})

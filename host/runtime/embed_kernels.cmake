# Writes OUTPUT, a C++ source that holds every file of FOLDER whose name ends with .cl or .clh, with its content hash.
# Run by the build whenever one of them changes: cmake -DFOLDER=… -DOUTPUT=… -P embed_kernels.cmake
file(GLOB_RECURSE files RELATIVE "${FOLDER}" "${FOLDER}/*.cl" "${FOLDER}/*.clh")
list(SORT files)
set(arrays "")
set(table "")
set(index 0)
foreach(path IN LISTS files)
  file(SHA256 "${FOLDER}/${path}" hash)
  file(READ "${FOLDER}/${path}" bytes HEX)
  string(LENGTH "${bytes}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char kText${index}[] = {${bytes}'\\0'};\n")
  string(APPEND table "    {\"${path}\", {kText${index}, ${length}}, \"${hash}\"},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
// Made by embed_kernels.cmake from the files of cl/.
#include "runtime/sources.hpp"

namespace smem::runtime {
namespace {
@arrays@
constexpr EmbeddedFile kFiles[] = {
@table@};
}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }

}  // namespace smem::runtime
]] @ONLY)

# Writes OUTPUT, a C++ source that holds every file of FOLDER whose name ends with .cl or .clh, with its content hash.
# Run by the build whenever one of them changes: cmake -DFOLDER=… -DOUTPUT=… -P embed_kernels.cmake
file(GLOB_RECURSE files RELATIVE "${FOLDER}" "${FOLDER}/*.cl" "${FOLDER}/*.clh")
list(SORT files)
set(table "")
foreach(path IN LISTS files)
  file(SHA256 "${FOLDER}/${path}" hash)
  file(READ "${FOLDER}/${path}" text)
  string(APPEND table "    {\"${path}\", R\"smem(${text})smem\"sv, \"${hash}\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
// Made by embed_kernels.cmake from the files of cl/.
#include "runtime/sources.hpp"

namespace smem::runtime {
namespace {
using namespace std::string_view_literals;
constexpr EmbeddedFile kFiles[] = {
@table@};
}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }

}  // namespace smem::runtime
]] @ONLY)

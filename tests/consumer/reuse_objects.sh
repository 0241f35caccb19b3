#!/bin/sh
# reuse_objects.sh BUILD COMPILER ARGUMENTS...: a compiler launcher for a project to which smem is the subdirectory smem/. Takes
# the library's objects from BUILD, where they exist, instead of compiling them again.
build=$1
shift
out= dependencies= before=
for word; do
  case $before in
    -o) out=$word ;;
    -MF) dependencies=$word ;;
  esac
  before=$word
done
object=$build/${out#smem/}
case $out in
  smem/CMakeFiles/smem_objects.dir/*)
    if [ -e "$object" ]; then
      cp "$object" "$out" && echo "$out:" >"$dependencies"
      exit
    fi ;;
esac
exec "$@"

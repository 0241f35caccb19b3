#!/bin/sh
# reuse_objects.sh COMPILER ARGUMENTS...: a compiler launcher for a project to which smem is the subdirectory smem/. Takes the
# library's objects from the build folder SMEM_OBJECTS, where they exist, instead of compiling them again.
out= dependencies= before=
for word; do
  case $before in
    -o) out=$word ;;
    -MF) dependencies=$word ;;
  esac
  before=$word
done
object=$SMEM_OBJECTS/${out#smem/}
case $out in
  smem/CMakeFiles/smem_objects.dir/* | smem/CMakeFiles/smem_plans.dir/* | smem/CMakeFiles/smem_setup.dir/*)
    if [ -e "$object" ]; then
      cp "$object" "$out" && echo "$out: $object" >"$dependencies"
      exit
    fi ;;
esac
exec "$@"

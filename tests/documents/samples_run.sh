#!/usr/bin/env bash
# What samples/run builds, and in which order it runs: hello before anything but the library is built, and one sample alone.
# Nothing is compiled: a stand-in for cmake writes down its targets.
#   tests/documents/samples_run.sh SOURCE SMEM BUILD
set -euo pipefail
source "$(dirname "$0")/../cli/lib.sh"
source_folder="$1" build="$3"

tree="$folder/tree" log="$folder/log"
mkdir -p "$tree/host" "$tree/build/release/samples" "$folder/bin"
cp -r "$source_folder/host/package" "$tree/host/"
cp "$source_folder/CMakePresets.json" "$tree/"
mkdir "$tree/samples"
cp "$source_folder/samples/run" "$tree/samples/"
for sample in edges hello life; do
  mkdir "$tree/samples/$sample"
  touch "$tree/samples/$sample/main.cpp"
  printf '#!/bin/sh\necho "ran %s $*" >>"%s"\n' "$sample" "$log" >"$tree/build/release/samples/$sample"
  chmod +x "$tree/build/release/samples/$sample"
done
real=$(command -v cmake)
cat >"$folder/bin/cmake" <<END
#!/bin/sh
case "\$*" in
  --version) exec $real --version ;;
  --build*) while [ "\$#" -gt 0 ]; do [ "\$1" != --target ] || echo "built \$2" >>"$log"; shift; done ;;
esac
END
chmod +x "$folder/bin/cmake"

# expect_log EXPECTED ARGUMENT…: what samples/run writes down.
expect_log() {
  local expected="$1"
  shift
  : >"$log"
  PATH="$folder/bin:$PATH" "$tree/samples/run" "$@" >"$folder/out" 2>&1 || fail "samples/run $*: $(cat "$folder/out")"
  [ "$(cat "$log")" = "$expected" ] || fail "samples/run $*: $(cat "$log")"
}
expect_log $'built sample_hello\nran hello \nbuilt samples/all\nran edges \nran life '
expect_log $'built sample_hello\nran hello ' hello
expect_log $'built sample_edges\nran edges a b' edges a b
# Files are those of the caller's folder.
touch "$folder/photo"
(cd "$folder" && expect_log $'built sample_edges\nran edges '"$folder/photo b" edges photo b)

# And the target of hello needs the library alone.
if [ -e "$build/build.ninja" ]; then
  ninja -C "$build" -t commands sample_hello >"$folder/commands"
  grep -q 'sample_hello.dir/hello/main.cpp.o' "$folder/commands" || fail "hello is not built: $(cat "$folder/commands")"
  others=$(grep -oE -- ' -o [^ ]+' "$folder/commands" |
    grep -vE ' (CMakeFiles/smem_(objects|plans|setup).dir/|samples/CMakeFiles/sample_hello.dir/|libsmem|samples/hello$)' || true)
  [ -z "$others" ] || fail "samples/run hello also builds: $others"
fi

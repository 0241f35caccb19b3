# Configures and builds; read by samples/run and tests/run, which are in the repository's root folder then.

# build_preset PRESET [TARGET…]: makes build/PRESET. What is up to date is not done again. The build repeats the configuring
# by itself when a CMake file has changed; only of CMakePresets.json it does not know, hence the mark.
build_preset() {
  local preset="$1" target targets=() mark="build/$1/configured"
  shift
  for target in "$@"; do
    targets+=(--target "$target")
  done
  if [ ! -e "$mark" ] || [ CMakePresets.json -nt "$mark" ]; then
    cmake --preset "$preset" </dev/null || exit 1
    touch "$mark"
  fi
  cmake --build "build/$preset" --parallel "$(nproc)" "${targets[@]}" </dev/null || exit 1
}

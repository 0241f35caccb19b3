#!/usr/bin/env bash
# Checks the layout, or runs clang-tidy over the library's sources (the command would double its time);
# or lays the sources out as they should be.
#   tests/style/run.sh format|reformat SOURCE_FOLDER
#   tests/style/run.sh tidy SOURCE_FOLDER BUILD_FOLDER      (configured)
# Exit status 77: the program is not there in version 14.
set -euo pipefail
task="$1"
cd "$2"

# version_14 NAME: prints the program's name
version_14() {
  local program
  for program in "$1-14" "$1"; do
    if command -v "$program" >/dev/null && "$program" --version | grep -q 'version 14\.'; then
      echo "$program"
      return
    fi
  done
  echo "SKIPPED: no $1 of version 14" >&2
  exit 77
}

case "$task" in
  format | reformat)
    program=$(version_14 clang-format)
    options=(--dry-run --Werror)
    [ "$task" = format ] || options=(-i)
    find include host tests samples \( -name '*.cpp' -o -name '*.hpp' \) -print0 | xargs -0 "$program" "${options[@]}" || {
      echo "tests/style/run.sh reformat . lays these files out as .clang-format says"
      exit 1
    }
    ;;
  tidy)
    program=$(version_14 clang-tidy)
    # gcc knows warnings and parameters that clang does not. SMEM_TIDY=deep lets the analyzer follow calls as far as it can: three times as
    # long.
    options=(--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument)
    [ "${SMEM_TIDY:-}" = deep ] || options+=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=mode=shallow)
    # The commands of single files: the build's own compile several at a time.
    database=$(mktemp -d)
    trap 'rm -rf "$database"' EXIT
    sed "s|$3|$database|g" "$3/CMakeCache.txt" >"$database/CMakeCache.txt"
    cmake -S . -B "$database" -DSMEM_UNITY_BUILD=OFF -DSMEM_BUILD_TESTS=OFF -DSMEM_BUILD_SAMPLES=OFF -DSMEM_BUILD_CLI=OFF \
      -DSMEM_BUILD_DISTRIBUTED=OFF -DSMEM_INSTALL=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$database/log" 2>&1 || { cat "$database/log"; exit 1; }
    # Where tests take turns (SMEM_TEST_TURN), every 16th file.
    find host/*.cpp host/plan host/runtime host/ops -name '*.cpp' | sort |
      awk -v turn="${SMEM_TEST_TURN:-}" 'turn == "" || NR % 16 == turn % 16' | tr '\n' '\0' | xargs -0 -n 1 -P "$(nproc)" \
      "$program" --quiet -p "$database" "${options[@]}"
    ;;
esac

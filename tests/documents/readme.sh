#!/usr/bin/env bash
# The README's commands as they stand there, one block after the other, in a bare system: as root, in a fresh clone of a
# Debian or Ubuntu that need have nothing but git. For the workflow, and by hand in a container or a chroot.
#   tests/documents/readme.sh [--quick]     --quick: small sizes, one sample, and not the tests, which are jobs of their own
set -euo pipefail
cd "$(dirname "$0")/../.."
quick=
[ "${1:-}" != --quick ] || quick=yes
export PATH="$PWD/build/release/host/cli:$PATH" SMEM_TUNING_DIR="$PWD/build/readme/tuning"
mkdir -p build/readme
command -v sudo >/dev/null || sudo() { "$@"; } # root needs none
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The lines of the blocks of a language below a heading.
block() {
  awk -v heading="## $1" -v open="\`\`\`$2" '
    /^## / { there = $0 == heading } there && $0 == open { on = 1; next } /^```$/ { on = 0 } on' README.md
}

# The same command at a size that takes seconds.
small() {
  case " $1 " in
    *' smem_tests '* | *' selftest '* | ' tests/run ') echo true ;;
    ' samples/run ') echo 'samples/run hello' ;;
    *' --goals '*) echo "${1/--goals/--goals-small}" ;;
    *' ladder '* | *' roofline '*) echo "$1 --small" ;;
    *' tune '*) echo "smem tune scan gemm --small --minutes 0.2" ;;
    *) echo "$1" ;;
  esac
}

# run_block HEADING
run_block() {
  local line command code
  while IFS= read -r line; do
    command=$(sed -E 's/  +#.*//' <<<"$line")
    [ -z "$quick" ] || command=$(small "$command")
    echo "== $command"
    case "$command" in *' --compare before.json '*) cp mine.json before.json ;; esac # of the reader's earlier run
    code=0
    eval "$command" </dev/null || code=$?
    case "$command" in
      'smem bench '*) [ "$code" -le 1 ] || fail "$line: exit code $code" ;; # 1: a missed goal, or a slower result
      *) [ "$code" = 0 ] || fail "$line: exit code $code" ;;
    esac
  done < <(block "$1" sh)
}

run_block 'Try it'
run_block 'Use it in a program'

# A program of the reader's own, by each of the ways.
user="$PWD/build/readme/user"
rm -rf "$user"
mkdir "$user"
awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' README.md >"$user/program.cpp"
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\nadd_executable(program program.cpp)\n'
  block 'Use it in a program' cmake
} >"$user/CMakeLists.txt"
right() { [ "$("$@")" = '1 4 2 5 3 6 ' ] || fail "$* prints something else"; }
(
  cd "$user"
  for generator in Ninja 'Unix Makefiles'; do
    [ "$generator" = Ninja ] || command -v make >/dev/null || continue
    cmake -S . -B "$generator" -G "$generator" >/dev/null && cmake --build "$generator" >/dev/null
    right "./$generator/program"
  done
  if command -v pkg-config >/dev/null; then
    command=$(sed -n 's/^Without CMake: `\(g++ [^`]*\)`.*/\1/p' ../../../README.md)
    eval "$command -o program"
    right ./program
  fi
)

run_block 'Measure and explain'
echo 'README.md: every command did what it says'

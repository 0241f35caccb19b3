#!/usr/bin/env bash
# The commands of the README, then those of the guide's pages, as they stand there, in a bare system: as root, in a fresh clone
# on a Debian or Ubuntu that need have nothing but git. For the workflow, and by hand in a container or a chroot. Commands of
# Oclgrind are run where it is installed.
#   tests/documents/readme.sh [--quick]     --quick: small sizes, two samples, and not the tests, which are jobs of their own
set -euo pipefail
cd "$(dirname "$0")/../.."
quick=
[ "${1:-}" != --quick ] || quick=yes
export PATH="$PWD/build/release/host/cli:$PATH" SMEM_TUNING_DIR="$PWD/build/readme/tuning"
export SMEM_CACHE_DIR="$PWD/build/readme/cache" # which the guide's commands clear
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
    ' samples/run guide --measure ') echo 'samples/run guide' ;;
    *' bench distributed'*) echo "${1//32768/512} --small --repetitions 1" ;;
    *' bench --goals '*) echo "${1/--goals/scan --goals-small --repetitions 2}" ;;
    *' --goals '*) echo "${1/--goals/--goals-small --repetitions 2}" ;;
    *' ladder '* | *' roofline '*) echo "$1 --small" ;;
    *' tune --export '*) echo "$1" ;;
    *' tune '*) echo "smem tune flip --small --minutes 0.2" ;;
    *' bench host '*) echo 'smem bench host --batches 2' ;;
    *' bench first-call '*) echo "$1 --repetitions 1" ;;
    *) sed -E 's/16384x16384/1000x999/; s/4096x4096x4096/512x512x512/; s/ (268435456|16777216) / 100000 /; s/4x16x4096x128/1x2x64x64/' <<<"$1" ;;
  esac
}

# run_line LINE: its command, without the comment behind it.
run_line() {
  local line="$1" command code=0 most=0
  command=$(sed -E 's/  +#.*//' <<<"$line")
  [ -z "$quick" ] || command=$(small "$command")
  echo "== $command"
  case "$command" in
    *' --compare before.json '*) cp mine.json before.json ;; # of the reader's earlier run
    *' --like facts.json'*) smem devices --json >facts.json ;;
    *' --hostfile hosts '*) echo 'localhost slots=2' >hosts ;; # the reader's machines
  esac
  case "$command" in
    'smem bench '*) most=1 ;;        # a missed goal, a slower result, a variant that does not run here
    'smem tune --export') most=1 ;;  # nothing is tuned
  esac
  eval "$command" </dev/null || code=$?
  [ "$code" -le "$most" ] || fail "$line: exit code $code"
}

# run_block HEADING: of the README.
run_block() {
  local line
  while IFS= read -r line; do
    run_line "$line"
  done < <(block "$1" sh)
}

# The commands of a page: those of its blocks, then those in the text. OPERATION and PROBLEM stand for the reader's own; a name
# alone is the command's, not a line to type.
page_commands() {
  awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$1"
  awk '/^```/ { code = !code } !code' "$1" | tr '\n' ' ' | grep -oE '`(smem [a-z-]+ [^`]*|samples/run [^`]*)`' | tr -d '`' |
    sed 's/OPERATION PROBLEM/transpose 333x77 float/' | grep -vF ' ...' | awk '!seen[$0]++'
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

# The reader's own project in continuous integration.
ci=$(block 'In your CI' sh)
(
  cd "$user"
  printf 'enable_testing()\nadd_test(NAME program COMMAND program)\n' >>CMakeLists.txt
  while IFS= read -r line; do run_line "$line"; done <<<"$ci"
)

run_block 'Measure and explain'

for page in samples/guide/*.md; do
  while IFS= read -r line; do
    case "$line" in
      oclgrind*) command -v "${line%% *}" >/dev/null || { echo "== not run, there is no ${line%% *}: $line"; continue; } ;;
      tests/peers/*) command -v nvcc >/dev/null || { echo "== not run, there is no nvcc: $line"; continue; } ;;
    esac
    case "$line" in
      oclgrind-kernel*) (cd build/release/samples/guide_files && run_line "$line") ;; # where the page says that its files are
      *) run_line "$line" ;;
    esac
  done < <(page_commands "$page")
done
echo 'README.md and the guide: every command did what it says'

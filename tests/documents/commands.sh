#!/usr/bin/env bash
# Every command on the pages is one that can be run: the command line of smem is accepted, samples and targets exist. What takes
# minutes is not run: SMEM_DEVICE names no device, so that smem reads its whole command line (exit code 2 when it is wrong) and
# measures nothing.
#   tests/documents/commands.sh SOURCE SMEM BUILD
set -euo pipefail
source "$(dirname "$0")/../cli/lib.sh"
smem="$2" build="$3"
cd "$1"
export SMEM_DEVICE='there is no such device' SMEM_CACHE_DIR="$folder/cache" SMEM_TUNING_DIR="$folder/tuning"
# Files that the pages' commands read.
cp tests/cli/gfx90a.json "$folder/facts.json"
for file in before mine; do
  echo '{"smem_results": 1, "smem": "", "device": "", "platform": "", "driver": "", "rows": []}' >"$folder/$file.json"
done
targets=$(cmake --build "$build" --target help)
checked=0

# run_smem PAGE ARGUMENT…
run_smem() {
  local page="$1" code=0
  shift
  (cd "$folder" && timeout 60 "$smem" "$@") >"$folder/out" 2>&1 </dev/null || code=$?
  [ "$code" -le 1 ] || fail "$page: smem $*: exit code $code: $(cat "$folder/out")"
  checked=$((checked + 1))
}

# check PAGE COMMAND
check() {
  local page="$1" words
  read -ra words <<<"$2"
  case "$2" in
    'smem '* | 'build/release/host/cli/smem '*) run_smem "$page" "${words[@]:1}" ;;
    'samples/run' | 'tests/run' | '.ci/run') bash -n "$2" ;;
    'samples/run '*) [ -e "samples/${words[1]}/main.cpp" ] || fail "$page: there is no sample ${words[1]}" ;;
    'tests/run -R '*) ;;
    'tests/peers/measure.py '*) ;; # documents.peers checks its commands
    mpirun*' smem '*)
      read -ra words <<<"${2#* smem }"
      run_smem "$page" "${words[@]}"
      ;;
    mpirun*' build/release/samples/'*) [ -e "samples/${2##*/}/main.cpp" ] || fail "$page: there is no sample ${2##*/}" ;;
    'cmake --preset '*) grep -qF "\"name\": \"${words[2]}\"" CMakePresets.json || fail "$page: no preset ${words[2]}" ;;
    'cmake --build build/release --target '*)
      for word in "${words[@]:4}"; do
        grep -qE "^(\.\.\. )?$word(:|\$)" <<<"$targets" || fail "$page: no target $word"
      done
      ;;
    # Of library.sh and bugs.sh, or of the reader's own project.
    'cmake -S . -B build'* | 'cmake --build build'* | 'sudo cmake --install '* | 'sudo ldconfig' | 'sudo apt-get '*) ;;
    'export '* | 'ctest --test-dir build '* | oclgrind*) ;;
    *) fail "$page: not known here, so not checked: $2" ;;
  esac
}

for page in README.md .github/CONTRIBUTING.md samples/guide/*.md; do
  # Blocks of commands: one a line, or several with &&, and a comment behind them.
  while IFS= read -r line; do
    line="${line%%  #*}"
    while IFS= read -r command; do
      [ -z "$command" ] || check "$page" "$command"
    done < <(sed 's/ && /\n/g' <<<"$line" | sed 's/^ *//; s/ *$//')
  done < <(awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$page")

  # Commands in the text: those with words for the reader to replace stand for one of the sort, a name alone is a command.
  while IFS= read -r command; do
    case "$command" in *...*) continue ;; esac
    command="${command/OPERATION PROBLEM/transpose 333x77 float}"
    command="${command/OPERATION/transpose}"
    read -ra words <<<"$command"
    [ "${#words[@]}" -gt 2 ] || words+=(--help)
    run_smem "$page" "${words[@]:1}"
  done < <(awk '/^```/ { code = !code } !code' "$page" | tr '\n' ' ' | grep -oE '`smem [^`]+`' | tr -d '`')
done
[ "$checked" -gt 40 ] || fail "only $checked commands of smem were found"
run_smem 'this test' devices
expect "$(cat "$folder/out")" 'SMEM_DEVICE: expected' # so nothing was measured

# A wrong word is found.
if (run_smem 'this test' bench transpose 333x77 --gaols) 2>"$folder/out"; then fail 'no wrong option is found'; fi
expect "$(cat "$folder/out")" 'exit code 2'

#!/usr/bin/env bash
# The completion scripts complete: bash's always, those of zsh and fish where these shells are.
#   tests/cli/completion.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"

# The scripts ask the command that is completed.
ln -s "$smem" "$folder/smem"
PATH="$folder:$PATH"
"$smem" completion bash >"$folder/smem.bash"
bash -n "$folder/smem.bash"
source "$folder/smem.bash"
complete -p smem >/dev/null || fail 'bash: smem has no completion'

# complete_bash WORDS...: what the last word can become
complete_bash() {
  COMP_WORDS=(smem "$@") COMP_CWORD=$#
  _smem
  printf ' %s ' "${COMPREPLY[*]-}"
}
for command in devices explain ladder bench cache selftest completion; do
  expect "$(complete_bash '')" " $command "
done
expect "$(complete_bash be)" '^ bench $'
expect "$(complete_bash bench t)" '^ transpose top_k $'
refuse "$(complete_bash '')" ' man '  # hidden
expect "$(complete_bash bench transpose --var)" '^ --variant $'
expect "$(complete_bash bench transpose --variant sw)" '^ swizzled $'
expect "$(complete_bash bench transpose --variant = sw)" '^ swizzled $'
expect "$(complete_bash bench sort --op sort_)" '^ sort_pairs $'
expect "$(complete_bash bench transpose --goals --cs)" '^ --csv $'
expect "$(complete_bash bench scan --js)" '^ --json $'  # of bench, and taken after its subcommands
expect "$(complete_bash cache cl)" '^ clear $'
expect "$(complete_bash cache warm --device gpu sc)" '^ scan $'
expect "$(complete_bash selftest --quick hea)" '^ heat $'
expect "$(complete_bash completion '')" '^ bash zsh fish $'
expect "$(complete_bash bench gemm --batch '')" '^  $'
(cd "$folder" && expect "$(complete_bash bench transpose --csv sm)" ' smem.bash ')
command -v shellcheck >/dev/null && shellcheck -s bash -S warning "$folder/smem.bash"

# Every subcommand and option of --help is known.
for option in $("$smem" bench scan --help | grep -oE -- '--[a-z-]+'); do
  expect "$(complete_bash bench scan "$option")" " $option "
done

"$smem" completion fish >"$folder/smem.fish"
if command -v fish >/dev/null; then
  complete_fish() { fish --no-config -c "source $folder/smem.fish; complete -C '$1'"; }
  expect "$(complete_fish 'smem bench t')" '^transpose'
  expect "$(complete_fish 'smem bench transpose --variant sw')" '^swizzled'
  expect "$(complete_fish 'smem cache warm sc')" '^scan'
  refuse "$(complete_fish 'smem bench ')" '^devices'
fi

"$smem" completion zsh >"$folder/_smem"
if command -v zsh >/dev/null; then
  zsh -n "$folder/_smem"
  # complete_zsh CURRENT WORDS...: with the functions of zsh's completion system replaced by some that print.
  complete_zsh() {
    zsh -f -c '
      compdef() { }; _files() { print files }; _message() { print "message $*" }
      compadd() { print -l -- "$@" }
      _describe() { local list=$2; print -l -- "${(@P)list}" }
      source $1; shift; words=("$@"); CURRENT=$#; _smem' zsh "$folder/_smem" "$@"
  }
  expect "$(complete_zsh smem '')" '^bench:'
  expect "$(complete_zsh smem bench '')" '^transpose:'
  expect "$(complete_zsh smem bench transpose --variant '')" '^swizzled'
  expect "$(complete_zsh smem bench transpose --)" '^--csv:'
  expect "$(complete_zsh smem bench transpose --csv '')" '^(files|message)'
fi

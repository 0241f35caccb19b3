#!/usr/bin/env bash
# Colours and bars are for terminals alone. Exit status 77: there is no script(1) to make one, or no /dev/pts for it.
#   tests/cli/terminal.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
command -v script >/dev/null || { echo 'SKIPPED: no script' >&2; exit 77; }
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo 'SKIPPED: script makes no terminal here' >&2; exit 77; }
export SMEM_CACHE_DIR="$folder/cache" TERM=xterm
unset SMEM_CACHE NO_COLOR

# on_terminal COMMAND: what a terminal gets
on_terminal() { script -qec "$1" /dev/null </dev/null; }

text=$(on_terminal "'$smem' cache warm flip")
expect "$text" $'\x1b\\[K\\[[= ]*\\] [0-9]+/[0-9]+ .* flip'
expect "$(on_terminal "'$smem' cache ls")" $'\x1b\\[1mcontent'
refuse "$(NO_COLOR=1 on_terminal "'$smem' cache ls")" $'\x1b'
refuse "$(TERM=dumb on_terminal "'$smem' cache warm flip")" $'\x1b'
refuse "$("$smem" cache warm flip 2>&1)" $'[\x1b\r]'

#!/bin/sh
# in_turn.sh TURNS TURN COMMAND...: runs the command in one of TURNS runs of the tests, else skips it (exit status 77). A run's
# turn is SMEM_TEST_TURN; where that is not set, every command is run. TURNS/N: a run with CI=true has it in one of N, or in all where
# N is 1. What takes turns within the command is told how many turns of the command came before: by the run's own number it would
# always get the same share.
turns=${1%/*} turn=$2
if [ "$turns" != "$1" ] && [ "${CI:-}" = true ]; then
  turns=${1#*/}
  turn=$((turn % turns))
fi
shift 2
if [ -n "${SMEM_TEST_TURN:-}" ]; then
  if [ $((SMEM_TEST_TURN % turns)) != "$turn" ]; then
    echo "skipped: runs in turn $turn of $turns, this is $((SMEM_TEST_TURN % turns))"
    exit 77
  fi
  export SMEM_TEST_TURN=$((SMEM_TEST_TURN / turns))
fi
exec "$@"

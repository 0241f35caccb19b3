#!/bin/sh
# in_turn.sh TURNS TURN COMMAND...: runs the command in one of TURNS runs of the tests, else skips it (exit status 77). A run's
# turn is SMEM_TEST_TURN; where that is not set, every command is run. "+TURNS": with CI=true too.
turns=${1#+} turn=$2 always=
[ "$turns" = "$1" ] || [ "${CI:-}" != true ] || always=yes
shift 2
if [ -z "$always" ] && [ -n "${SMEM_TEST_TURN:-}" ] && [ $((SMEM_TEST_TURN % turns)) != "$turn" ]; then
  echo "skipped: runs in turn $turn of $turns, this is $((SMEM_TEST_TURN % turns))"
  exit 77
fi
exec "$@"

#!/usr/bin/env bash
# Runs the test program of smem::distributed on so many ranks of this machine.
#   tests/distributed/run.sh MPIEXEC PROGRAM FOLDER cases RANKS [doctest arguments]
#   tests/distributed/run.sh MPIEXEC PROGRAM FOLDER all_cases RANKS         the same, not where tests take turns
#   tests/distributed/run.sh MPIEXEC PROGRAM FOLDER out_of_core RANKS       data of four times a device's memory, which is clamped
#   tests/distributed/run.sh MPIEXEC PROGRAM FOLDER out_of_core_alone RANKS the same, not where tests take turns
#   tests/distributed/run.sh MPIEXEC SMEM FOLDER command RANKS              what the smem command does on ranks
#   tests/distributed/run.sh MPIEXEC PROGRAM FOLDER faults RANKS
# Exit status 77: no PoCL, of which every rank can have a device of its own; or tests take turns (SMEM_TEST_TURN).
set -uo pipefail
mpiexec="$1" program="$2" folder="$3" what="$4" ranks="$5"
shift 5

case "$what" in
  all_cases | out_of_core_alone)
    [ -z "${SMEM_TEST_TURN:-}" ] || { echo "SKIPPED: tests/run --full has it"; exit 77; }
    ;;
esac
if [ -z "${OCL_ICD_VENDORS:-}" ]; then
  icd=$(grep -ls pocl /etc/OpenCL/vendors/*.icd | head -n 1)
  [ -n "$icd" ] || { echo "SKIPPED: no PoCL"; exit 77; }
  mkdir -p "$folder/vendors"
  cp "$icd" "$folder/vendors/"
  export OCL_ICD_VENDORS="$folder/vendors/"
fi
# The measured bandwidths and performance models of StarPU.
export STARPU_HOME="$folder/starpu"
if [ -n "${STARPU_CALIBRATE:-}" ]; then  # it measures them anew
  STARPU_HOME="$folder/calibrated"
  rm -rf "$STARPU_HOME"
fi
mkdir -p "$STARPU_HOME"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$folder/pocl}" SMEM_CACHE=0 SMEM_TUNING=0
export STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=0 STARPU_WORKERS_NOBIND=1
export POCL_MAX_PTHREAD_COUNT=1  # several ranks share the cores
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=("$mpiexec" --oversubscribe -np "$ranks")

case "$what" in
  out_of_core*) SMEM_TEST_DEVICE_BYTES=8388608 exec timeout --kill-after=10 500 "${launch[@]}" "$program" -tc='out of core*' "$@" ;;
  cases | all_cases)
    timeout --kill-after=10 500 "${launch[@]}" "$program" "$@" || exit
    [ -n "${STARPU_CALIBRATE:-}" ] || exit 0
    # The performance models by which dmda divides work among devices.
    for task in transpose gemm reduce inclusive_scan histogram stencil heat sort top_k attention; do
      find "$STARPU_HOME" -path '*/codelets/*' -name "smem_$task.*" -size +0 | grep -q . ||
        { echo "no performance model of $task below $STARPU_HOME"; exit 1; }
    done
    exit 0
    ;;
  command)
    bad=0
    # says TEXT ARGUMENT…: the command's output has the text once, and it ends well.
    says() {
      local text="$1" output status=0
      output=$(timeout --kill-after=10 200 "${launch[@]}" "$program" "${@:2}" 2>&1) || status=$?
      if [ "$status" != 0 ] || [ "$(grep -Ec "$text" <<<"$output")" != 1 ]; then
        printf 'smem %s: exit status %s, expected once "%s":\n%s\n' "${*:2}" "$status" "$text" "$output"
        bad=1
      fi
    }
    says "^ +$((ranks - 1))  " devices
    says '^gemm .*16 x 24 x 32 ' bench distributed gemm --rows 16 --cols 24 --depth 32 --repetitions 1 \
      --json "$folder/bench.json" --plot "$folder/bench.svg"
    grep -q '"right": true' "$folder/bench.json" || { echo "bench.json: no result was compared"; bad=1; }
    # points FILE MEASURED: strong and weak scaling up to 1024 ranks; simulated points are hollow, MEASURED points are filled.
    points() {
      local hollow filled
      hollow=$(grep -c "r='3' fill='white'" "$1") filled=$(grep -c "r='4.5' fill=" "$1")
      if ! { grep -q 'strong scaling' "$1" && grep -q 'weak scaling' "$1" && grep -q '>1024<' "$1" && grep -q 'Hollow.*simulated' "$1"; } ||
        [ "$hollow" = 0 ] || [ $((hollow % 22)) != 0 ] || [ "$filled" != "$2" ]; then
        echo "$1: $hollow simulated points, expected 22 a line; $filled measured ones, expected $2"
        bad=1
      fi
    }
    points "$folder/bench.svg" 1
    says '^top_k .*4096 ' bench distributed top_k --rows 4096 --repetitions 1
    launch=()
    says 'efficiency' explain distributed sort --ranks 64
    says '^  a rank sends at most .* hidden .* of ' explain distributed sort --ranks 64
    says ' on 1024 ranks' explain distributed top_k --plot "$folder/explain.svg"
    points "$folder/explain.svg" 0
    launch=("$mpiexec" --oversubscribe -np 1)
    if "${launch[@]}" "$program" bench distributed nothing >/dev/null 2>&1; then echo "bench distributed nothing: was taken"; bad=1; fi
    exit "$bad"
    ;;
  faults) ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
esac

bad=0
# act NAME MESSAGE: one rank misbehaves; the others must end within 10 s, with a message that matches. mpiexec of OpenMPI 5 breaks
# its lines.
act() {
  local name="$1" message="$2" output status=0 took
  output=$(timeout --kill-after=5 60 "${launch[@]}" "$program" --act "$name" 2>&1) || status=$?
  took=$(($(date +%s) - $(sed -n 's/.*acts at //p' <<<"$output" | head -n 1)))
  if [ "$status" = 0 ] || [ "$status" = 124 ] || [ "$took" -gt 10 ] || ! tr '\n' ' ' <<<"$output" | grep -Eq "$message"; then
    printf '%s: exit status %s after %s s, expected within 10 s and with "%s":\n%s\n' "$name" "$status" "$took" \
      "$message" "$output"
    bad=1
  fi
}
last=$((ranks - 1))
act die "rank $last .*signal 9"
act leave "smem: rank $last of $ranks ends all ranks"
act exit "\],$last\]"
act mpi "smem: rank $last of $ranks ends all ranks: MPI_Iallgather: "

# A rank without a device: all say so. One program for all ranks: given two, mpiexec of Debian 13's OpenMPI 5 crashes.
without='[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || export OCL_ICD_VENDORS=/nonexistent/; shift; exec "$@"'
output=$(timeout --kill-after=5 60 "${launch[@]}" bash -c "$without" - "$last" "$program" --act none 2>&1)
said=$(grep -c "error: .*device" <<<"$output")
if [ "$said" != "$ranks" ] || ! grep -q "rank $last" <<<"$output"; then
  printf 'a rank without a device: %s of %s ranks say so:\n%s\n' "$said" "$ranks" "$output"
  bad=1
fi
exit "$bad"

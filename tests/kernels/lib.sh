# shellcheck shell=bash
# Sourced by the scripts beside it: where the tools are, and what to do when one is missing.
# SMEM_TOOLS names the folder that install_tools.sh filled (default: build/tools of the repository).
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${SMEM_TOOLS:-$here/../../build/tools}
[ ! -f "$tools/tools.conf" ] || . "$tools/tools.conf"

# missing WHAT: skips the test (ctest: SKIP_RETURN_CODE 77), or fails it where CI=true: there, nothing may be left unchecked
missing() {
    echo "${0##*/}: no $1 (tests/kernels/install_tools.sh gets it)"
    [ "${CI:-}" != true ] || exit 1
    exit 77
}
# need NAME WHAT: the variable NAME of tools.conf must hold a file or a command
need() { [ -n "${!1:-}" ] && { [ -e "${!1}" ] || command -v "${!1}" > /dev/null; } || missing "$2"; }

# only_platform NAME ICD: exactly one platform is seen, it is NAME, and it has one device at least
only_platform() {
    local seen
    command -v clinfo > /dev/null || missing clinfo
    seen=$(clinfo -l 2>&1)
    [ "$(grep -c '^Platform' <<< "$seen")" = 1 ] && grep -q "^Platform #0: $1\$" <<< "$seen" && grep -q 'Device #0' <<< "$seen" && return
    echo "${0##*/}: expected the platform $1 alone with a device; seen:"
    echo "$seen"
    exit 1
}

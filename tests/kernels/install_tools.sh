#!/usr/bin/env bash
# Installs what the checks of the .cl kernels need, and writes where it is to FOLDER/tools.conf.
#
#   install_tools.sh FOLDER [nvidia] [amd] [intel] [oclgrind] [rusticl] [intel-cpu]     (no name: all of them)
#
# For Debian 12, Debian 13 and Ubuntu 24.04. What runs beside anything else is installed with apt (compilers, Oclgrind, clinfo); what would
# change the machine's list of OpenCL implementations is only unpacked into FOLDER (Intel's and Mesa's packages, and
# from PyPI ptxas and Intel's CPU runtime). Nothing is fetched twice. Exit status 1 when something could not be had; the rest is
# there all the same. Intel's CPU runtime and ptxas come under their makers' licences: used for tests, never shipped.
set -u
[ $# -ge 1 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
mkdir -p "$1" && tools=$(cd "$1" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- nvidia amd intel oclgrind rusticl intel-cpu
export DEBIAN_FRONTEND=noninteractive
# pinned: the versions that these checks were written with
ptxas_wheel=nvidia-cuda-nvcc-cu12==12.9.86
intel_cpu_wheels='intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 tbb==2023.2.0'

failed=
conf=$tools/tools.conf
touch "$conf"
say() { echo "install_tools: $*"; }
lacks() { say "MISSING $1: $2" >&2; failed="$failed $1"; }
set_conf() { # NAME VALUE
    { grep -v "^$1=" "$conf"; printf '%s=%q\n' "$1" "$2"; } > "$conf.new"
    mv "$conf.new" "$conf"
}
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo > /dev/null; then sudo -n "$@"; else return 1; fi; }
known= # the names asked about below that the package lists hold
look_up() {
    known=" $(apt-cache policy oclgrind mesa-opencl-icd intel-opencl-icd intel-ocloc rocm-device-libs \
        {clang,libclc,lld,llvm,rocm-device-libs}-{15,16,17,18,19,20} 2> /dev/null |
        awk '/^[a-z]/ { sub(/:$/, ""); name = $0 } /Candidate: [^(]/ { printf "%s ", name }') "
}
candidate() { case $known in *" $1 "*) ;; *) return 1 ;; esac; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }
updated=
again() { # runs a command of apt's; when it fails on old package lists, once more with new ones
    "$@" > "$tools/apt.log" 2>&1 && return
    [ -z "$updated" ] && updated=1 && as_root apt-get -qq update && "$@" > "$tools/apt.log" 2>&1 && return
    tail -3 "$tools/apt.log" >&2
    return 1
}
apt_install() { # installs those of its arguments that are not there
    local need=() p
    for p; do installed "$p" || need+=("$p"); done
    [ ${#need[@]} -eq 0 ] && return
    again as_root apt-get -qq install -y --no-install-recommends "${need[@]}"
}
# unpack PACKAGE FOLDER: it and those of its dependencies that are not installed, without installing them
unpack() {
    local d=$2.deb list deb
    list=$(apt-get install -s --no-install-recommends "$1" 2> /dev/null | awk '/^Inst/ && $3 !~ /^\[/ { print $2 }')
    rm -rf "$2" "$d" && mkdir -p "$2" "$d"
    (cd "$d" && again apt-get -qq -o APT::Sandbox::User=root download $(printf '%s\n' "$1" $list | sort -u)) || return 1
    for deb in "$d"/*.deb; do dpkg -x "$deb" "$2" || return 1; done
    rm -rf "$d"
}
# wheel FOLDER REQUIREMENT...: downloads, no dependencies, nothing installed
wheel() {
    local d=$1 py=
    shift
    command -v unzip > /dev/null || apt_install unzip || return 1
    python3 -m pip --version > /dev/null 2>&1 && py=python3
    if [ -z "$py" ]; then apt_install python3-pip && py=/usr/bin/python3 || return 1; fi
    mkdir -p "$d"
    "$py" -m pip -q --disable-pip-version-check download --no-deps --only-binary :all: -d "$d" "$@"
}

# package lists: a fresh container has none
look_up
candidate oclgrind || { updated=1; as_root apt-get -qq update && look_up; } || say 'apt-get update failed' >&2

# One clang for NVIDIA and the lint: its libclc must be of the same version, all libclc exclude each other, and Mesa's rusticl
# loads the one that its package names.
clc=
for n in $(apt-cache depends mesa-opencl-icd 2> /dev/null | sed -n 's/.*Depends: libclc-\([0-9]*\)$/\1/p') 15 16 18 19 17 20; do
    candidate "libclc-$n" && candidate "clang-$n" && { clc=$n; break; }
done
for n in 19 20 18 17; do candidate "clang-$n" && candidate "lld-$n" && candidate "llvm-$n" && break; n=; done
amd=$n
# Debian 13's are named by their version, which any newer clang reads.
for rocm in rocm-device-libs rocm-device-libs-{20,19,18,17}; do candidate "$rocm" && break; done

libclc() { # sets the lint's and NVIDIA's clang and library
    [ -n "$clc" ] && apt_install "clang-$clc" "libclc-$clc" || { lacks "$1" 'no clang with the libclc of its version'; return 1; }
    set_conf CLANG "clang-$clc"
    local bc
    bc=$(dpkg -L "libclc-$clc" "libclc-$clc-dev" 2> /dev/null | grep -m1 '/nvptx64--nvidiacl.bc$')
    [ -n "$bc" ] && set_conf CLC_NVPTX "$bc" || { lacks "$1" "no nvptx64--nvidiacl.bc in libclc-$clc"; return 1; }
}

for part; do
    case $part in
    nvidia)
        libclc nvidia || continue
        ptxas=
        for p in "$tools/ptxas" "$(command -v ptxas)" /usr/local/cuda/bin/ptxas; do
            [ -x "$p" ] && "$p" --help | grep -q sm_90a && { ptxas=$p; break; }
        done
        if [ -z "$ptxas" ]; then
            wheel "$tools/wheels" "$ptxas_wheel" && unzip -qoj "$tools"/wheels/nvidia_cuda_nvcc*.whl '*/bin/ptxas' -d "$tools" &&
                chmod +x "$tools/ptxas" && ptxas=$tools/ptxas
            rm -rf "$tools/wheels"
        fi
        [ -n "$ptxas" ] && set_conf PTXAS "$ptxas" || lacks nvidia 'no ptxas'
        ;;
    amd)
        [ -n "$amd" ] && apt_install "clang-$amd" "lld-$amd" "llvm-$amd" "$rocm" ||
            { lacks amd 'needs clang, lld and llvm of one version from 17 to 20, and its device libraries'; continue; }
        # The packaged device libraries may be older than the targets. What they lack is one constant in a file of its own.
        lib=$tools/amd-device-libs
        if [ ! -f "$lib/complete" ] || [ ! -e "$lib/oclc_isa_version_1201.bc" ]; then
            rm -rf "$lib" && mkdir -p "$lib"
            ln -s "$(dirname "$(dpkg -L "$rocm" | grep -m1 '/ocml.bc$')")"/*.bc "$lib/"
            constant() { # FILE NAME VALUE
                [ -e "$lib/oclc_$1.bc" ] || echo "const __constant int __oclc_$2 = $3;" |
                    "clang-$amd" -x cl -target amdgcn-amd-amdhsa -nogpulib -emit-llvm -c - -o "$lib/oclc_$1.bc"
            }
            constant isa_version_942 ISA_version 9402 && constant isa_version_1100 ISA_version 11000 &&
                constant isa_version_1201 ISA_version 12001 &&
                constant abi_version_500 ABI_version 500 && constant abi_version_600 ABI_version 600 && touch "$lib/complete"
        fi
        [ -f "$lib/complete" ] || { lacks amd 'the device libraries could not be completed'; continue; }
        set_conf AMD_CLANG "clang-$amd"
        set_conf AMD_READELF "llvm-readelf-$amd"
        set_conf AMD_LIBS "$lib"
        ;;
    intel)
        p=intel-opencl-icd
        candidate intel-ocloc && p=intel-ocloc
        ocloc() { find "$tools/intel/usr/bin" -name 'ocloc*' 2> /dev/null | sort | head -1; }
        [ -x "$(ocloc)" ] || unpack $p "$tools/intel"
        objcopy=$(ls /usr/bin/llvm-objcopy-[0-9]* 2> /dev/null | tail -1)
        [ -n "$objcopy" ] || { apt_install "llvm-${amd:-15}" && objcopy=llvm-objcopy-${amd:-15}; }
        [ -x "$(ocloc)" ] && [ -n "$objcopy" ] || { lacks intel "no ocloc in $p, or no llvm-objcopy"; continue; }
        set_conf OCLOC "$(ocloc)"
        set_conf OCLOC_LIBS "$tools/intel/usr/lib/x86_64-linux-gnu"
        set_conf OBJCOPY "$objcopy"
        ;;
    oclgrind)
        apt_install oclgrind && set_conf OCLGRIND "$(command -v oclgrind)" || lacks oclgrind 'not in the package lists'
        ;;
    rusticl)
        # libclc is installed: Mesa reads it from a fixed place
        libclc rusticl && apt_install clinfo || continue
        rusticl() { find "$tools/mesa/usr/lib" -name 'libRusticlOpenCL.so.1' 2> /dev/null | head -1; }
        [ -n "$(rusticl)" ] || unpack mesa-opencl-icd "$tools/mesa"
        [ -n "$(rusticl)" ] || { lacks rusticl 'no libRusticlOpenCL in mesa-opencl-icd'; continue; }
        rusticl > "$tools/rusticl.icd"
        set_conf RUSTICL_ICD "$tools/rusticl.icd"
        set_conf RUSTICL_LIBS "$(dirname "$(rusticl)")"
        ;;
    intel-cpu)
        apt_install clinfo || { lacks intel-cpu 'no clinfo'; continue; }
        lib=$tools/intel-cpu
        if [ ! -f "$lib/complete" ]; then
            # Its own libOpenCL.so would take the place of the machine's loader, and duplicates stand for links: both stay out.
            rm -rf "$lib" "$tools/wheels"
            wheel "$tools/wheels" $intel_cpu_wheels &&
                unzip -qoj "$tools"/wheels/intel_opencl_rt*.whl '*/data/lib/*' -d "$lib" \
                    -x '*/libOpenCL.so*' '*/libcommon_clang.so' '*/libintelocl.so.*' '*.py' &&
                unzip -qoj "$tools"/wheels/tbb*.whl '*/libtbb.so.12' '*/libtbbmalloc.so.2' -d "$lib" &&
                unzip -qoj "$tools"/wheels/intel_cmplr_lib_rt*.whl '*/libimf.so' '*/libsvml.so' '*/libirng.so' '*/libintlc.so.5' -d "$lib" &&
                touch "$lib/complete"
            rm -rf "$tools/wheels"
        fi
        [ -f "$lib/complete" ] || { lacks intel-cpu 'the wheels could not be had'; continue; }
        echo "$lib/libintelocl.so" > "$tools/intel-cpu.icd"
        set_conf INTEL_CPU_ICD "$tools/intel-cpu.icd"
        set_conf INTEL_CPU_LIBS "$lib"
        ;;
    *) say "unknown: $part" >&2; exit 2 ;;
    esac
done
[ -z "$failed" ] || { say "without:$failed" >&2; exit 1; }
say "all there: $*"

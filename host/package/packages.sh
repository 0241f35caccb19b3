# What building and running smem needs, and how it is installed on Debian and Ubuntu. Read by samples/run and tests/run:
#   source host/package/packages.sh
#   require_packages samples|distributed|tests|full
# returns when everything is there, installs with apt-get what is missing, or says what is missing and ends the script.
# Each need is looked for as itself (a program, a header, a library), so that it may come from anywhere.

# for | kind | what | Debian and Ubuntu package
# "for" is the smallest purpose that needs it: full includes tests, and tests includes samples. A device is what samples
# alone need, any one; tests need PoCL. What is for style is of one version, which not every distribution has: the checks that
# need it are skipped without. So it is with what smem::distributed needs.
smem_needs='
samples|cmake|3.25|cmake
samples|program|ninja|ninja-build
samples|compiler|c++|g++
samples|header|CL/cl.h|opencl-c-headers
samples|header|CL/opencl.hpp|opencl-clhpp-headers
samples|library|libOpenCL.so|ocl-icd-opencl-dev
device|driver|any|pocl-opencl-icd
samples|header|fmt/format.h|libfmt-dev
samples|header|xxhash.h|libxxhash-dev
samples|header|nlohmann/json.hpp|nlohmann-json3-dev
samples|header|doctest/doctest.h|doctest-dev
samples|header|CLI/CLI.hpp|libcli11-dev
samples|header|stb/stb_image.h|libstb-dev
tests|driver|pocl|pocl-opencl-icd
tests|program|pkg-config|pkg-config
style|program|clang-format-14|clang-format-14
style|program|clang-tidy-14|clang-tidy-14
full|program|doxygen|doxygen
distributed|program|pkg-config|pkg-config
distributed|program|mpirun|openmpi-bin
distributed|program|mpicxx|libopenmpi-dev
distributed|starpu|1.3 or 1.4|libstarpu-dev
'

# The ICD file of PoCL, or nothing.
pocl_icd() {
  local folder="${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"
  [ -d "$folder" ] || folder=/etc/OpenCL/vendors
  grep -ls pocl "$folder"/*.icd /etc/OpenCL/vendors/*.icd | head -n 1
}

# Whether the compiler, or without one its usual folders, has the header.
smem_has_header() {
  if command -v "${CXX:-c++}" >/dev/null; then
    printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" | "${CXX:-c++}" -x c++ -E - >/dev/null 2>&1
  else
    [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]
  fi
}

smem_has_library() {
  if command -v "${CXX:-c++}" >/dev/null; then
    [ "$("${CXX:-c++}" -print-file-name="$1")" != "$1" ]
  else
    ls /usr/lib/"$1" /usr/lib64/"$1" /usr/local/lib/"$1" /usr/lib/*-linux-gnu/"$1" 2>/dev/null | grep -q .
  fi
}

# smem_has KIND WHAT
smem_has() {
  local oldest
  case "$1" in
    cmake)
      command -v cmake >/dev/null || return 1
      oldest=$(printf '%s\n' "$2" "$(cmake --version | sed -n 's/^cmake version //p')" | sort -V | head -n 1)
      [ "$oldest" = "$2" ] ;;
    program) command -v "$2" >/dev/null ;;
    compiler) command -v "${CXX:-$2}" >/dev/null ;;
    starpu) pkg-config --exists starpu-1.3 2>/dev/null || pkg-config --exists starpu-1.4 2>/dev/null ;;
    header) smem_has_header "$2" ;;
    library) smem_has_library "$2" ;;
    driver)
      if [ "$2" = pocl ]; then
        [ -n "$(pocl_icd)" ]
      else
        [ -n "${OCL_ICD_VENDORS:-}${OCL_ICD_FILENAMES:-}" ] || ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1
      fi ;;
  esac
}

# smem_lists_lack PACKAGE: whether there are lists of packages, and this one is not in them.
smem_lists_lack() {
  command -v apt-cache >/dev/null && [ -n "$(apt-cache search --names-only '^cmake$')" ] &&
    [ -z "$(apt-cache search --names-only "^$1\$")" ]
}

smem_skipped=  # packages whose absence was told

# smem_missing PURPOSE: sets the arrays smem_missing_names (for a person) and smem_missing_packages.
smem_missing() {
  local purpose kind what package text
  smem_missing_names=()
  smem_missing_packages=()
  while IFS='|' read -r purpose kind what package; do
    [ -n "$purpose" ] || continue
    case "$1:$purpose" in
      samples:samples | samples:device | tests:samples | tests:tests) ;;
      full:samples | full:tests | full:full | full:style | full:distributed) ;;
      distributed:samples | distributed:device | distributed:distributed) ;;
      *) continue ;;
    esac
    smem_has "$kind" "$what" && continue
    if [[ "$purpose" =~ ^(style|distributed)$ ]] && smem_lists_lack "$package"; then
      case " $smem_skipped " in
        *" $package "*) ;;
        *) echo "smem: there is no package $package here: the checks that need it are skipped" ;;
      esac
      smem_skipped="$smem_skipped $package"
      continue
    fi
    case "$kind" in
      cmake) text="CMake $what or newer" ;;
      program) text="the program $what" ;;
      compiler) text="a C++ compiler (${CXX:-c++})" ;;
      header) text="the header $what" ;;
      library) text="the library $what" ;;
      starpu) text="StarPU $what" ;;
      driver) text="an OpenCL driver"; [ "$what" = any ] || text="the OpenCL driver PoCL" ;;
    esac
    smem_missing_names+=("$text (package $package)")
    case " ${smem_missing_packages[*]-} " in
      *" $package "*) ;;
      *) smem_missing_packages+=("$package") ;;
    esac
  done <<<"$smem_needs"
}

# smem_give_up WHY: says what is missing and ends the script.
smem_give_up() {
  {
    printf 'smem: these are missing, and they cannot be installed here: %s.\n' "$1"
    printf '  %s\n' "${smem_missing_names[@]}"
    printf 'On Debian 12 or 13 or Ubuntu 24.04, as root:\n  apt-get install --no-install-recommends %s\n' \
      "${smem_missing_packages[*]}"
  } >&2
  exit 1
}

# require_packages samples|distributed|tests|full
require_packages() {
  local as_root=()
  smem_missing "$1"
  [ "${#smem_missing_packages[@]}" -gt 0 ] || return 0

  command -v apt-get >/dev/null || smem_give_up 'there is no apt-get'
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || smem_give_up 'not root, and there is no sudo'
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)  # nobody is there to type a password
    "${as_root[@]}" true 2>/dev/null || smem_give_up 'not root, and sudo is refused'
  fi

  echo "smem: installing ${smem_missing_packages[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update </dev/null >/dev/null || echo 'smem: apt-get update failed; trying with the lists that are here' >&2
  smem_missing "$1"  # now that the lists are there
  [ "${#smem_missing_packages[@]}" -gt 0 ] || return 0
  "${apt[@]}" install -y --no-install-recommends "${smem_missing_packages[@]}" </dev/null >/dev/null ||
    smem_give_up 'apt-get install failed, see above'
  hash -r
  smem_missing "$1"
  [ "${#smem_missing_packages[@]}" -eq 0 ] || smem_give_up "this distribution's packages are not enough"
}

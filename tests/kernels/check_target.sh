#!/usr/bin/env bash
# Compiles, for a GPU that need not be here, every kernel that smem would launch on it, and reads the compiler's own account.
#
#   check_target.sh [--cl FOLDER] TARGET CATALOGUE
#
# TARGET: sm_75 sm_90 (NVIDIA: clang and ptxas), gfx90a gfx942 gfx1030 gfx1100 gfx1201 (AMD: clang and ROCm's device libraries), tgllp dg2-g10 pvc
# (Intel: ocloc). `CATALOGUE --target TARGET` prints a line for each kernel, tab-separated: name, .cl file relative to FOLDER (default:
# the repository's cl/), entry point, work-group (256,1,1), bytes of local memory by the plan, build options.
#
# A kernel fails when it does not compile, spills registers, uses scratch (a private array that is not in registers), takes more local memory
# than the plan said or the target has, or cannot be launched with this work-group. One with the matrix units of AMD or Intel (-DEMULATED_UNIT=0)
# fails when its instructions do not multiply what a step of a sub-group's tile has: SUB_M x SUB_N x TILE_K; of attention, with HEAD_K,
# SUB_M x SUB_N x HEAD_K products with keys and SUB_M x SUB_V x (SUBS_N x SUB_N) with values. SMEM_CHECK_JOBS: compilers at once (default:
# the number of CPUs). SMEM_CHECK_TURNS=N with SMEM_TEST_TURN=T: only every N-th kernel, from the T-th on. Exit status: 0 good, 1 a kernel failed, 77 the compiler is not here (1 where CI=true).
. "$(dirname "$0")/lib.sh"

# facts TARGET: local memory in bytes; work-items a group at most; and what bounds a group of a given kernel: registers of a multiprocessor
# (NVIDIA), hardware threads that share local memory (Intel; half as many with 256 registers each).
facts() {
    case $1 in
    sm_75) local_limit=49152 group_limit=1024 registers=65536 ;;
    # NVIDIA's driver reports 48 KiB, and launches static arrays of up to what the hardware has (measured on an H200)
    sm_90) local_limit=232448 group_limit=1024 registers=65536 ;;
    gfx90a | gfx942 | gfx1030 | gfx1100 | gfx1201) local_limit=65536 group_limit=1024 ;;
    tgllp) local_limit=65536 group_limit=512 threads=112 ;;
    dg2-g10) local_limit=65536 group_limit=1024 threads=128 ;;
    pvc) local_limit=131072 group_limit=1024 threads=64 ;;
    *) echo "check_target: unknown target $1" >&2; return 1 ;;
    esac
}

# Each compile_* is given the .cl file and its options, and runs in the folder of the .cl files. It sets local, regs, width, spill, scratch (all
# of the kernel $entry; scratch and spill in bytes where the compiler says bytes) and group, the work-group that the source demands ("" if none).

compile_nvidia() {
    local arch=$target ir=$job/k.ll ptx=$job/k.ptx march=sm_86 o to_clang=() to_ptxas=()
    for o in "${options[@]}"; do
        case $o in
        -cl-nv-maxrregcount=*) to_ptxas+=("-maxrregcount=${o#*=}") ;;
        -cl-nv-opt-level=*) to_ptxas+=("-O${o#*=}") ;;
        *) to_clang+=("$o") ;;
        esac
    done
    [ "$target" = sm_90 ] || march=$target
    # The oldest supported clang knows no sm_90. PTX for sm_86 is what ptxas takes to sm_90 as well.
    "$CLANG" -x cl -cl-std=CL1.2 -target nvptx64--nvidiacl -march=$march -Xclang -target-feature -Xclang +ptx75 \
        -Xclang -mlink-builtin-bitcode -Xclang "$CLC_NVPTX" -O3 -w -I . -D__NV_CL_C_VERSION=120 "${to_clang[@]}" "$1" -S -emit-llvm -o "$ir" || return 1
    "$CLANG" -x ir -target nvptx64--nvidiacl -march=$march -Xclang -target-feature -Xclang +ptx75 -O3 -Xclang -disable-llvm-passes -w \
        -S "$ir" -o "$ptx" || return 1
    # reqd_work_group_size, which bounds the registers: NVIDIA's compiler passes it on, this one does not
    group=$(awk -v e="$entry" '/^define / && index($0, "@" e "(") && match($0, /!reqd_work_group_size ![0-9]+/) { id = substr($0, RSTART + 22, RLENGTH - 22) }
        id != "" && index($0, id " = ") == 1 { gsub(/^[^{]*|i32 |[^0-9,]/, ""); print }' "$ir")
    if [ -n "$group" ] && ! grep -q '^\.reqntid' "$ptx"; then
        awk -v e="$entry" -v g="${group//,/, }" '/\.entry/ { on = index($0, " " e "(") } { print } on && /^\)/ { print ".reqntid " g; on = 0 }' "$ptx" > "$ptx.new" &&
            mv "$ptx.new" "$ptx"
    fi
    # ptxas refuses static arrays of more than 48 KiB, which the driver does not. Declared as dynamic ones, they pass; their bytes are counted here.
    local shared
    shared=$(awk 'match($0, /^[ \t]*\.shared .*\[[0-9]+\];/) { gsub(/.*\[|\];.*/, ""); s += $0 } END { print s + 0 }' "$ptx")
    if [ "$shared" -gt 49152 ]; then
        awk 'NR == FNR { if ($0 ~ /^[ \t]*\.shared .*\[[0-9]+\];/) { sub(/^[ \t]*/, ""); sub(/\[[0-9]+\];.*/, "[];"); all = all ".extern " $0 "\n" } next }
            /^[ \t]*\.shared .*\[[0-9]+\];/ { next } { print } /^\.address_size/ { printf "%s", all }' "$ptx" "$ptx" > "$ptx.new" && mv "$ptx.new" "$ptx"
    else
        shared=0
    fi
    # Instructions of sm_90, in the PTX that NVIDIA's compiler makes for it
    [ "$target" != sm_90 ] || sed -i -E 's/^\.version .*/.version 8.0/; s/^\.target .*/.target sm_90/' "$ptx"
    # Instructions of sm_90a stand in the source behind a marker that smem removes when it retargets the PTX: do the same.
    if [ "$target" = sm_90 ] && grep -q '//@' "$ptx"; then
        sed -i -E 's,//@,,; s/^\.version .*/.version 8.3/; s/^\.target .*/.target sm_90a/' "$ptx"
        arch=sm_90a
    fi
    "$PTXAS" -v -arch=$arch "${to_ptxas[@]}" "$ptx" -o "$job/k.cubin" > "$job/account" 2>&1 || { cat "$job/account"; return 1; }
    width=32
    eval "$(awk -v e="$entry" '
        /Compiling entry function/ { on = index($0, "\047" e "\047"); if (on) seen = 1; own = on }
        /Function properties for/  { own = on && $NF == e || index($NF, "__clang_ocl_kern_imp_" e) }
        own && /stack frame/ { scratch += $1; for (i = 1; i < NF; i++) if ($(i + 2) == "spill") spill += $i }
        on && /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) { if ($i == "Used") regs = $(i + 1); if ($(i + 2) ~ /^smem/) l = $i } }
        END { if (seen) printf "local=%d regs=%d spill=%d scratch=%d", l, regs, spill, scratch }' "$job/account")"
    [ -z "$local" ] || local=$((local + shared))
}

compile_amd() {
    # pass-failed: a "#pragma unroll" that was not obeyed. incompatible-pointer-types: an error by default in the newest Clang.
    "$AMD_CLANG" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu="$target" --rocm-device-lib-path="$AMD_LIBS" -O3 \
        -Werror=pass-failed -Werror=incompatible-pointer-types -I . "${options[@]}" "$1" -o "$job/k.co" || return 1
    # v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x8_f16, v_wmma_i32_16x16x16_iu8: m x n x k
    [ -z "$wants_unit" ] || products=$("${AMD_READELF/readelf/objdump}" -d --mcpu="$target" "$job/k.co" | awk -v e="<$entry>:" '
        /^[0-9a-f]+ </ { on = $2 == e }
        on && $1 ~ /^v_(mfma|wmma)_/ && match($1, /_[0-9]+x[0-9]+x[0-9]+/) { split(substr($1, RSTART + 1, RLENGTH - 1), d, "x"); s += d[1] * d[2] * d[3] }
        END { print s + 0 }')
    "$AMD_READELF" --notes "$job/k.co" > "$job/account" || return 1
    eval "$(awk -v e="$entry" '
        function flush() { if (name == e) print out; out = name = "" }
        /^  - / { flush(); sub(/^  - /, "    ") }
        /^ [^ ]|^[^ ]/ { flush() }
        /^    \.[a-z]/ { key = $1; inlist = key == ".reqd_workgroup_size:"; g = inlist ? "" : g }
        inlist && /^      - / { g = g (g == "" ? "" : ",") $2; if (g ~ /,.*,/) { out = out " group=" g; inlist = 0 } }
        /^    \.name:/ { name = $2 }
        /^    \.group_segment_fixed_size:/ { out = out " local=" $2 }
        /^    \.private_segment_fixed_size:/ { out = out " scratch=" $2 }
        /^    \.vgpr_count:/ { out = out " regs=" $2 }
        /^    \.vgpr_spill_count:/ { out = out " spill=" $2 }
        /^    \.wavefront_size:/ { out = out " width=" $2 }
        /^    \.max_flat_workgroup_size:/ { out = out " flat=" $2 }
        END { flush() }' "$job/account")"
}

compile_intel() {
    local std=-cl-std=CL1.2 o internal=()
    for o in "${options[@]}"; do case $o in -cl-std=*) std=$o ;; esac; done
    # ocloc's own header for OpenCL C 2.0 and 3.0 does not compile unless these agree
    [ "$std" = -cl-std=CL1.2 ] || internal=(-internal_options -cl-ext=+cl_khr_3d_image_writes,+__opencl_c_3d_image_writes,+__opencl_c_images)
    [ -z "$wants_unit" ] || export IGC_ShaderDumpEnable=1 IGC_DumpToCustomDir=$job/asm
    LD_LIBRARY_PATH=$OCLOC_LIBS "$OCLOC" compile -file "$1" -device "$target" --format zebin -options "$std -I . ${options[*]}" \
        "${internal[@]}" -out_dir "$job" -output k > "$job/account" 2>&1 || { cat "$job/account"; return 1; }
    "$OBJCOPY" --dump-section .ze_info="$job/ze.yaml" "$job"/k_*.bin /dev/null || return 1
    eval "$(awk -v e="$entry" '
        function flush() { if (name == e) printf "local=%d regs=%d width=%d scratch=%d calls=%d group=%s\n", l, r, w, s, calls, g; name = ""; l = r = w = s = calls = 0; g = "" }
        /^[^ ]/ { flush(); on = /^kernels:/ }
        !on { next }
        /^  - name:/ { flush(); name = $3 }
        /^ +slm_size:/ { l = $2 }
        /^ +grf_count:/ { r = $2 }
        /^ +simd_size:/ { w = $2 }
        /^ +has_stack_calls: +true/ { calls = 1 }
        /^ +required_work_group_size:/ { g = $0; gsub(/[^0-9,]/, "", g) }
        # buffers for spills and for private arrays, by the work-item or the thread
        /^      - / { buffer = / type: +(scratch|global)/ }
        buffer && /^ +size:/ { s += $2 }
        END { flush() }' "$job/ze.yaml")"
    # dpas.8x8 (16|M0) d:f c:f b:hf a:hf: 8 rows by a sub-group's columns, 8 words of k, of two or, of bytes, four numbers each
    [ -z "$wants_unit" ] || products=$(awk '/dpas\.8x8/ && match($0, /\([0-9]+\|/) { s += 8 * substr($0, RSTART + 1, RLENGTH - 2) * ($0 ~ /:u?b([ .(]|$)/ ? 32 : 16) }
        END { print s + 0 }' "$job"/asm/*_simd*_entry_*.asm)
    spill=$(awk -v e="$entry" '/spilled around/ && index($0, " " e " ") { for (i = 1; i < NF; i++) if ($i == "around") s += $(i + 1) } END { print s + 0 }' "$job/account")
}

check_line() { # NUMBER: compiles that line of the catalogue; result in $work/NUMBER.result, the compiler's words in $work/NUMBER.log
    local name file entry wanted plan defines options=() local='' regs='' width='' spill='' scratch='' group='' flat='' calls=0 why='' items job=$work/$1 wants_unit='' products=0
    IFS=$'\t' read -r name file entry wanted plan defines < <(sed -n "$1p" "$work/catalogue")
    read -ra options <<< "$defines"
    items=$((${wanted//,/*}))
    # What a step of a kernel by matrix units multiplies.
    case " $defines " in *' -DEMULATED_UNIT=0 '*)
        wants_unit=$(tr ' ' '\n' <<< "$defines" | awk -F = '{ d[substr($1, 3)] = $2 }
            END { print d["SUB_M"] * d["SUB_N"] * ("HEAD_K" in d ? d["HEAD_K"] + d["SUB_V"] * d["SUBS_N"] : d["TILE_K"]) }') ;;
    esac
    mkdir "$job"
    facts "$target"
    if [ ! -f "$file" ]; then
        why="no file $file"
    elif ! "compile_$vendor" "$file" > "$work/$1.log" 2>&1; then
        why="does not compile: $(grep -m1 -iE 'error|fatal|unresolved|undefined' "$work/$1.log" || echo 'the compiler failed without a word')"
    elif [ -z "$local" ]; then
        why="no kernel $entry in $file"
    elif [ -z "$spill" ] || [ -z "$scratch" ] || [ "${regs:-0}" = 0 ] || [ "${width:-0}" = 0 ]; then
        why="the compiler's account was not understood"
    elif [ "$calls" != 0 ]; then # ocloc does not mind that the function does not exist
        why='calls a function that is not inlined or not there'
    else
        [ "$spill" = 0 ] || why="$why; spills registers ($spill)"
        [ "$scratch" = 0 ] || why="$why; private memory that is not in registers ($scratch)"
        [ "$local" -le "$plan" ] || why="$why; $local bytes of local memory, the plan said $plan"
        [ "$local" -le "$local_limit" ] && [ "$plan" -le "$local_limit" ] || why="$why; more local memory than the target's $local_limit bytes"
        [ "$items" -le "$group_limit" ] || why="$why; work-group of $items, the target has $group_limit at most"
        [ -z "$wants_unit" ] || [ "$products" = "$wants_unit" ] || why="$why; matrix units make $products products a step, not $wants_unit"
        [ -z "$group" ] || [ "$(full "$group")" = "$(full "$wanted")" ] || why="$why; work-group $wanted, the source demands $group"
        case $vendor in
        nvidia) # registers are given to warps in lots of 256 (8 a work-item)
            [ $(((items + 31) / 32 * 32 * ((regs + 7) / 8 * 8))) -le $registers ] || why="$why; $regs registers x $items work-items are over $registers" ;;
        amd) [ "$items" -le "$flat" ] || why="$why; compiled for work-groups of $flat at most (reqd_work_group_size is missing?)" ;;
        intel) [ "$items" -le $((threads * width * 128 / regs)) ] || why="$why; SIMD$width allows $((threads * width * 128 / regs)) work-items a group, not $items" ;;
        esac
        why=${why#; }
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "${why:-ok}" "$name" "${local:--}" "$plan" "${regs:--}" "${width:--}" "${spill:--}" "${scratch:--}" > "$work/$1.result"
    rm -rf "$job"
}
full() { local a; IFS=, read -ra a <<< "$1"; echo "${a[0]},${a[1]:-1},${a[2]:-1}"; }

if [ "${1:-}" = --line ]; then # one compiler job, started by the run below
    cd "$cl" && { check_line "$2"; exit; }
    exit 1
fi

export cl=$here/../../cl
[ "${1:-}" != --cl ] || { cl=$2; shift 2; }
[ $# = 2 ] && facts "$1" || { sed -n '4,8p' "$0" >&2; exit 2; }
export target=$1 vendor
case $target in
sm_*) vendor=nvidia; need CLANG clang; need CLC_NVPTX libclc; need PTXAS ptxas ;;
gfx*) vendor=amd; need AMD_CLANG 'clang for AMD'; need AMD_READELF llvm-readelf; need AMD_LIBS "ROCm's device libraries"
    "$AMD_CLANG" -target amdgcn-amd-amdhsa -nogpulib --print-supported-cpus 2>&1 | grep -qw "$target" || missing "clang that knows $target" ;;
*) vendor=intel; need OCLOC ocloc; need OBJCOPY llvm-objcopy ;;
esac
cl=$(cd "$cl" && pwd) || exit 1
work=$(mktemp -d) || exit 1
export work
trap 'rm -rf "$work"' EXIT

"$2" --target "$target" > "$work/catalogue" || { echo "check_target: $2 --target $target failed"; exit 1; }
bad=$(awk -F '\t' '!(NF == 5 || NF == 6) || $4 !~ /^[1-9][0-9]*(,[1-9][0-9]*)*$/ || $5 !~ /^[0-9]+$/ { print "line " NR " is malformed: " $0; next }
    seen[$1]++ { print "line " NR ": the name " $1 " stands twice" }' "$work/catalogue")
[ -z "$bad" ] || { echo "check_target: the catalogue for $target: $bad"; exit 1; }
if [ -n "${SMEM_TEST_TURN:-}" ] && [ "${SMEM_CHECK_TURNS:-1}" -gt 1 ]; then
    echo "every ${SMEM_CHECK_TURNS}th kernel, turn $((SMEM_TEST_TURN % SMEM_CHECK_TURNS))"
    awk -v n="$SMEM_CHECK_TURNS" -v t="$SMEM_TEST_TURN" 'NR % n == t % n' "$work/catalogue" > "$work/some" && mv "$work/some" "$work/catalogue"
fi
lines=$(wc -l < "$work/catalogue")
[ "$lines" -gt 0 ] || { echo "check_target: the catalogue for $target is empty"; exit 1; }

self=$here/$(basename "$0")
seq "$lines" | xargs -P "${SMEM_CHECK_JOBS:-$(nproc)}" -n 1 "$self" --line

for ((i = 1; i <= lines; ++i)); do
    cat "$work/$i.result" 2> /dev/null || printf 'the check itself failed\t%s\t-\t-\t-\t-\t-\t-\n' "$(sed -n "${i}p" "$work/catalogue" | cut -f 1)"
done > "$work/results"
awk -F '\t' -v v="$vendor" '
    BEGIN { w = v == "intel" ? "SIMD" : v == "amd" ? "wave" : "warp"; printf "%-52s %7s %7s %5s %5s %6s %7s\n", "kernel", "local", "plan", "regs", w, "spill", "scratch" }
    { printf "%-52s %7s %7s %5s %5s %6s %7s  %s\n", $2, $3, $4, $5, $6, $7, $8, $1 == "ok" ? "ok" : "FAIL" }' "$work/results"
failures=$(grep -vc $'^ok\t' "$work/results")
echo "$target: $lines kernels, $failures failed"
[ "$failures" = 0 ] && exit 0
for ((i = 1; i <= lines; ++i)); do
    IFS=$'\t' read -r why name _ < <(sed -n "${i}p" "$work/results")
    [ "$why" != ok ] || continue
    echo
    echo "FAIL $target $name: $why"
    echo "  $(sed -n "${i}p" "$work/catalogue" | cut -f 2,3,6 | tr '\t' ' ')"
    [ "$why" = "${why#does not compile}" ] || head -12 "$work/$i.log" | sed 's/^/  | /'
done
exit 1

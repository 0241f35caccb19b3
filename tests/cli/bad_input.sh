#!/usr/bin/env bash
# Bad input: exit code 2, one line that names the word, nothing on the output, and at most a second of processor time.
#   tests/cli/bad_input.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"

# bad WORD ARGUMENTS...: the word is the one that is named.
bad() {
  local word="$1" code=0
  shift
  (
    ulimit -t 1
    exec "$smem" "$@"
  ) >"$folder/output" 2>"$folder/errors" </dev/null || code=$?
  [ "$code" = 2 ] || fail "smem $*: exit code $code: $(cat "$folder/errors")"
  [ ! -s "$folder/output" ] || fail "smem $*: prints $(cat "$folder/output")"
  [ "$(wc -l <"$folder/errors")" = 1 ] || fail "smem $*: not one line: $(cat "$folder/errors")"
  grep -qE '^smem: ' "$folder/errors" || fail "smem $*: $(cat "$folder/errors")"
  grep -qF -- "$word" "$folder/errors" || fail "smem $*: \"$word\" is not named: $(cat "$folder/errors")"
}

bad nosuch nosuch
bad --nosuch --nosuch
for command in bench explain ladder roofline tune cache completion; do bad nosuch "$command" nosuch; done
for command in devices selftest man; do bad --nosuch "$command" --nosuch; done
bad --nosuch explain --nosuch
bad --nosuch cache --nosuch
bad --report bench --goals-small --report
bad --compare bench --compare one
bad 3x bench transpose 3x
bad --nosuch bench transpose 3x4 --nosuch
bad abc bench sort abc
bad nosuch bench sort 100 nosuch
bad -1 bench top_k 100 --k=-1
bad half3 bench softmax 3x4 half3
bad nosuch bench norm 3x4 --op nosuch
bad total-order bench sort 100 --total-order
bad nan-least explain sort_segments 100 int --nan-least
bad nan_least explain sort_rows 3x4 float --nan-least --total-order
bad end_bit bench sort 100 --end-bit 40
bad --begin-bit bench sort 100 --begin-bit x
bad 7 bench rotary 7
bad 2x2x21 bench attention 2x2x21
bad nosuch explain attention 2x2x21x40 half --variant nosuch
bad --minutes tune sort --minutes x
bad --quik bench scan 100 --quik
bad --quick explain scan 100 --quick
bad --all-variant roofline --all-variant

# Numbers that no problem has, and choices that its plan refuses; also where another operation stands before it.
huge=18446744073709551615
for operation in sort sort_segments sort_by top_k merge reduce scan select; do bad $huge bench $operation $huge; done
for operation in transpose sort_rows gather softmax norm; do bad $huge bench $operation ${huge}x$huge; done
for operation in sort sort_segments sort_by top_k merge reduce reduce_by_key scan select histogram histogram_weighted moving_mean bounds; do
  bad $huge explain $operation $huge
done
for operation in transpose flip matvec vecmat sort_rows gather softmax softmax_columns norm norm_columns heat stencil convolve2d separable \
  box_blur median_blur sobel pool global_pool conv2d; do
  bad $huge explain $operation ${huge}x4
  bad $huge explain $operation 4x$huge
done
bad $huge explain gemm 4x4x$huge
bad $huge explain complex_gemm 4x4x$huge
bad $huge explain rotary ${huge}x4x4
bad $huge explain attention ${huge}x2x8x16
bad $huge explain append_to_cache 1x1x1x8 --capacity $huge
bad $huge bench attention ${huge}x2x8x16
bad $huge bench append_to_cache 1x1x1x8 --capacity $huge
bad 300 bench attention 2x4x8x300
bad $huge bench heat 4x4 --steps $huge
bad $huge bench flip 2000x2000 sort $huge
bad shape bench flip 2000x2000 pool
bad --tile bench sort 64 --tile 99x99
bad --tile explain conv2d 112 --channels 64 --filters 64 --groups 64 --stride 2 --interleaved --variant depthwise --tile 1x2305843009213693952
bad nosuch bench gemm --random 1 --kind nosuch
bad --random bench gemm --shapes 3
bad ${huge}0 explain sort 64 --work-items ${huge}0
bad --work-items explain sort 64 --work-items 48
bad ${huge}0 bench host --batches ${huge}0
bad ${huge}0 bench first-call --repetitions ${huge}0
bad nosuch bench first-call --operations flip nosuch
for word in nan inf 1e999 0 -1; do bad "$word" tune flip --minutes=$word; done

# What the program for several ranks refuses, where it was built.
if "$smem" explain distributed --help >/dev/null 2>&1; then
  bad nosuch explain distributed nosuch
  bad --ranks explain distributed sort --ranks 0
  bad nosuch bench distributed nosuch
  bad --nosuch bench distributed --nosuch
fi

# Devices and files that are not there: before anything is measured.
for command in 'ladder flip' roofline 'devices --json' 'bench host' 'bench banks' 'bench rates' 'bench first-call' 'bench flip 3x3' \
  'explain flip 3x3' 'tune flip' 'tune --export' 'cache warm flip' 'selftest --forget'; do
  read -ra words <<<"$command"
  bad nosuch "${words[@]}" --device nosuch
done
nowhere=$folder/nosuch/file
for option in 'ladder flip --plot' 'ladder flip --json' 'roofline --plot' 'roofline --json' 'bench flip 3x3 --csv' 'bench flip 3x3 --json' \
  'bench flip 3x3 --report' 'tune flip --json' 'selftest --report' 'explain flip 3x3 --like' "bench --compare $nowhere"; do
  read -ra words <<<"$option"
  bad "$folder/nosuch" "${words[@]}" "$nowhere"
done
bad "$folder" ladder flip --plot "$folder"
for file in "$folder" /dev/zero; do  # a folder, and what has no end
  bad "$file" explain flip 3x3 --like "$file"
  bad "$file" bench --compare "$file" "$file"
done
echo 'no facts' >"$folder/facts"
bad "$folder/facts" bench --compare "$folder/facts" "$folder/facts"

# An error stream that is closed or full changes no exit code.
for stream in '&-' /dev/full; do
  code=0
  eval '"$smem" explain nosuch 2>'"$stream" || code=$?
  [ "$code" = 2 ] || fail "exit code $code with 2>$stream"
done

# What the environment or the device is at fault for is no wrong command line.
code=0
SMEM_DEVICE=nosuch "$smem" explain flip 3x3 >/dev/null 2>"$folder/errors" || code=$?
[ "$code" = 1 ] || fail "exit code $code with SMEM_DEVICE=nosuch"
expect "$(cat "$folder/errors")" '^smem: .*SMEM_DEVICE'

#!/usr/bin/env bash
# Plants the faults of `list` one by one and says which ones the tests find.
#   tests/mutants/run.sh BUILD_FOLDER [NUMBER...]     the numbers of faults in the list, from 1 on; without any: all
# A fault in a kernel is planted in a copy of cl/; one in the host code in a copy of the sources, which is built in
# BUILD_FOLDER/mutants. Exit status 1 when a fault was not found.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
work=$build/mutants
mkdir -p "$work"
count=$(grep -c '^@' tests/mutants/list)
[ $# -gt 0 ] || set -- $(seq "$count")
export SMEM_CACHE=0 SMEM_TUNING=0

# plant NUMBER FOLDER: plants a fault in the sources of FOLDER
plant() {
  perl -e '
    my ($number, $folder, $list) = @ARGV;
    open(my $in, "<", $list) or die "$list: $!"; local $/ = "";
    my @faults = grep { /^@/m } <$in>;
    my ($file, $old, $new) = $faults[$number - 1] =~ /^@\S+ (\S+)\n- (.*)\n\+ ?(.*)\n/m or die "fault $number is malformed\n";
    open(my $source, "<", "$folder/$file") or die "$folder/$file: $!"; local $/; my $text = <$source>; close $source;
    my $at = index($text, $old); die "fault $number: \"$old\" is not in $file\n" if $at < 0;
    substr($text, $at, length $old) = $new;
    open(my $out, ">", "$folder/$file") or die "$folder/$file: $!"; print $out $text; close $out or die' "$1" "$2" tests/mutants/list
}

missed=0
for number; do
  head=$(grep '^@' tests/mutants/list | sed -n "${number}p")
  word=${head%% *} file=${head#* }
  word=${word#@}
  runner=() cases=(--without-optimiser --test-case-exclude='child:*,large*,kernel folder*')
  case $word in
    oclgrind/*)
      word=${word#oclgrind/}
      runner=(tests/kernels/with_oclgrind.sh)
      cases=(--test-suite=small) ;;
  esac
  program=$build/tests/smem_tests
  unset SMEM_KERNEL_DIR
  rm -rf "$work/cl"
  case $file in
    cl/*)
      cp -r cl "$work/"
      plant "$number" "$work"
      export SMEM_KERNEL_DIR=$work/cl ;;
    *)
      mkdir -p "$work/source"
      cp -ru --preserve=timestamps CMakeLists.txt cl host include tests "$work/source/"
      cp "$file" "$work/source/$file"
      plant "$number" "$work/source"
      cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSMEM_BUILD_CLI=OFF -DSMEM_BUILD_SAMPLES=OFF >"$work/log" &&
        cmake --build "$work/build" --target smem_tests >>"$work/log" || { tail -20 "$work/log"; exit 2; }
      cp "$file" "$work/source/$file"
      program=$work/build/tests/smem_tests ;;
  esac
  status=0
  timeout 900 "${runner[@]}" "$program" "${cases[@]}" --abort-after=1 "--test-case=*$word*" >"$work/$number.txt" 2>&1 || status=$?
  if [ "$status" = 77 ]; then
    echo "$number not run: $head; $(tail -1 "$work/$number.txt")"
    missed=1
  elif [ "$status" = 0 ]; then
    echo "$number NOT FOUND: $head"
    missed=1
  elif [ "$status" = 124 ]; then
    echo "$number found by the time limit alone: $head"
  else
    echo "$number found: $head; $(sed -n 's/^TEST CASE: *//p; s/^with_oclgrind: \(.*\), by kernel:$/\1/p' "$work/$number.txt" | tail -1)"
  fi
done
exit "$missed"

#!/usr/bin/env bash
# Checks what lists of names in C++ cannot check themselves: that they are complete.
#   tests/style/lists.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
faults=0
fault() {
  echo "$*"
  faults=1
}

# smem.hpp includes each header that declares a call or a plan, itself or by another header.
reached=' smem/smem.hpp '
todo=(smem/smem.hpp)
while [ ${#todo[@]} -gt 0 ]; do
  header=${todo[0]}
  todo=("${todo[@]:1}")
  while read -r next; do
    [ -f "include/$next" ] || continue  # made by the build
    [[ "$reached" = *" $next "* ]] || { reached+="$next "; todo+=("$next"); }
  done < <(sed -n 's|^#include <\(smem/[^>]*\)>.*|\1|p' "include/$header")
done
for path in include/smem/*.hpp; do
  header=${path#include/}
  ! grep -q '^SMEM_API ' "$path" || [[ "$reached" = *" $header "* ]] || fault "include/smem/smem.hpp does not include <$header>"
done

# Each plan function's problem is among those whose keys are tested, but those of rates, which no call is planned by.
while read -r plan; do
  [ "$plan" = plan_rates ] || grep -q "check_keys<.*(smem::$plan);" tests/operations.cpp || fault "tests/operations.cpp: no check_keys of $plan"
done < <(sed -n 's/^SMEM_API Plan \(plan_[a-z0-9_]*\)(.*/\1/p' include/smem/*_plan.hpp)

# Each policy table is tested, with each kind of evidence that its rows have.
table='^inline constexpr [A-Za-z0-9_]* \(k[A-Za-z0-9]*Policies\)\[\].*'
while read -r name; do
  grep -q "\b$name\b" tests/plan/policy.cpp || fault "tests/plan/policy.cpp: no check_table of $name"
done < <(sed -n "s/$table/\1/p" host/plan/*.hpp)
tables=$(cat host/plan/*.hpp | grep -c "$table")
checked=$(grep -c '^  check_table(' tests/plan/policy.cpp)
[ "$tables" = "$checked" ] || fault "tests/plan/policy.cpp: $checked of $tables policy tables have a check_table"
while read -r evidence; do
  grep -q "[:.]$evidence[,);]" tests/plan/policy.cpp || fault "tests/plan/policy.cpp: no check of the evidence \"$evidence\""
done < <(sed 's|//.*||' host/plan/*.hpp | tr '\n' ' ' | grep -o '  Evidence [a-z][a-z0-9_, ]*[;={]' | sed 's/Evidence//; s/[;={,]/ /g' | tr -s ' ' '\n' | sort -u | grep .)

# The faults that the tests must find are still in the sources that they change.
while read -r line; do
  fault "tests/mutants/list: $line"
done < <(perl -e '
  open(my $list, "<", "tests/mutants/list") or die; local $/ = ""; my @faults = grep { /^@/m } <$list>; local $/;
  for (0 .. $#faults) {
    my ($file, $old) = $faults[$_] =~ /^@\S+ (\S+)\n- (.*)\n\+/m or print("fault ", $_ + 1, " is malformed\n"), next;
    open(my $source, "<", $file) or print("fault ", $_ + 1, ": no $file\n"), next;
    print("fault ", $_ + 1, ": \"$old\" is not in $file\n") if index(<$source>, $old) < 0 }')
exit $faults

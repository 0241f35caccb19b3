#!/usr/bin/env bash
# Fails when doxygen has anything to say of the public headers: a name without documentation, or a comment that it cannot
# read. A name is documented by `/// ...` before it or `///< ...` behind it; what belongs to the inside goes into a namespace
# `detail`.
#   tests/style/doxygen.sh DOXYFILE
# Exit status 77: there is no doxygen.
set -euo pipefail
command -v doxygen >/dev/null || { echo "SKIPPED: no doxygen" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Without any output format doxygen reads nothing; XML is the fastest.
{
  cat "$1"
  printf 'GENERATE_HTML = NO\nGENERATE_XML = YES\nOUTPUT_DIRECTORY = "%s"\nWARN_LOGFILE = "%s/warnings"\n' "$folder" "$folder"
} >"$folder/Doxyfile"
doxygen "$folder/Doxyfile" >/dev/null
# A header that doxygen did not read has no names to miss.
for header in "$(dirname "$0")"/../../include/smem/*.hpp; do
  name=$(basename "$header")
  ls "$folder"/xml/"$(echo "${name%.hpp}" | sed 's/_/__/g')"_8hpp.xml >/dev/null || { echo "$name was not read"; exit 1; }
done
if [ -s "$folder/warnings" ]; then
  sort -u -t: -k1,1 -k2,2n "$folder/warnings"
  echo "$(sort -u "$folder/warnings" | wc -l) undocumented or unreadable; write /// before the name, or ///< behind it"
  exit 1
fi

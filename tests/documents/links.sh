#!/usr/bin/env bash
# The pages: links lead to files and headings, pictures are small, and the README is short and shows the sample "hello".
#   tests/documents/links.sh SOURCE
set -euo pipefail
source "$(dirname "$0")/../cli/lib.sh"
cd "$1"

# The headings of a page as GitHub names them in links.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links=0
for page in README.md CHANGELOG.md .github/*.md samples/guide/*.md samples/data/README.md; do
  place=$(dirname "$page")
  while IFS= read -r link; do
    case "$link" in http://* | https://*) continue ;; esac
    links=$((links + 1))
    file="${link%%#*}"
    target="$place/$file"
    [ -n "$file" ] || target="$page"
    [ -e "$target" ] || fail "$page: $link leads nowhere"
    case "$link" in
      *'#'*) grep -qxF -- "${link#*#}" <<<"$(anchors "$target")" || fail "$page: $target has no heading for $link" ;;
    esac
  done < <(awk '/^```/ { code = !code } !code' "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//')
done
[ "$links" -gt 50 ] || fail "only $links links were found"

[ "$(wc -l <README.md)" -le 180 ] || fail "README.md has $(wc -l <README.md) lines"
bytes=$(cat samples/pictures/* samples/guide/pictures/* | wc -c)
[ "$bytes" -le 1000000 ] || fail "the pictures have $bytes bytes"
for picture in samples/pictures/* samples/guide/pictures/*; do
  case "$picture" in *.py) continue ;; esac
  grep -qF "pictures/${picture##*/}" README.md samples/guide/*.md || fail "no page shows $picture"
done

# The README's program is the sample, but for its lay-out.
program() { sed 's/ *\/\/.*//' | tr -d ' \n'; }
shown=$(awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' README.md | program)
[ -n "$shown" ] && [ "$shown" = "$(program <samples/hello/main.cpp)" ] || fail 'README.md does not show samples/hello/main.cpp'

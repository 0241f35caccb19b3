# What the scripts here share: a folder that goes with the script, and a word on what failed.
folder=$(mktemp -d)
export SMEM_TUNING=0  # what was tuned on this machine is no part of a test
export COLUMNS=400  # rows in a line each
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect TEXT PATTERN: the text has a line with the extended regular expression.
expect() {
  grep -Eq -- "$2" <<<"$1" || fail "no \"$2\" in: $1"
}

# refuse TEXT PATTERN: it has none.
refuse() {
  ! grep -Eq -- "$2" <<<"$1" || fail "\"$2\" in: $1"
}

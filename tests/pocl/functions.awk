# The definitions of an LLVM module (text) that a program may need: those of the functions whose names are in the first file, a line
# each, and all that they refer to.
#   awk -f functions.awk NAMES MODULE.ll >LESS.ll
# Functions that are not OpenCL C's own (no mangled name) are PoCL's, which calls them by itself: they stay.

# The name in the source of a mangled one, without PoCL's prefix: abs of _Z7_cl_absc.
function source_name(mangled, length_of) {
  if (!match(mangled, /^_Z[0-9]+/)) return ""
  length_of = substr(mangled, 3, RLENGTH - 2)
  mangled = substr(mangled, RLENGTH + 1, length_of)
  sub(/^_cl_/, "", mangled)
  return mangled
}

function keep(name) {
  if (name in kept) return
  kept[name] = 1
  waiting[++last] = name
}

# Calls that a line makes, or what else it refers to, joined to those of the function.
function refer(text, to) {
  while (match(text, /@[A-Za-z_0-9.$]+/)) {
    to = substr(text, RSTART + 1, RLENGTH - 1)
    text = substr(text, RSTART + RLENGTH)
    if (inside == "") keep(to)
    else refers[inside] = refers[inside] " " to
  }
}

FNR == 1 { ++file }
file == 1 { used[$1] = 1; next }
{ line[++lines] = $0 }
/^define / {
  match($0, /@[A-Za-z_0-9.$]+/)
  inside = substr($0, RSTART + 1, RLENGTH - 1)
  begins[lines] = inside
  name = source_name(inside)
  if (name == "" || name in used) keep(inside)
  next
}
/^}/ { inside = ""; next }
/@/ && !/^declare / { refer($0) }

END {
  for (next_one = 1; next_one <= last; ++next_one) {
    count = split(refers[waiting[next_one]], names, " ")
    for (i = 1; i <= count; ++i) keep(names[i])
  }
  for (i = 1; i <= lines; ++i) {
    if (i in begins) leaves_out = !(begins[i] in kept)
    if (!leaves_out) print line[i]
    if (line[i] ~ /^}/) leaves_out = 0
  }
}

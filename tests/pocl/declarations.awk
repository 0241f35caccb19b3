# A header of OpenCL C's builtin functions (clang's opencl-c.h) with the functions that a program may call, without comments:
#   awk -f declarations.awk -v list=KEPT WORDS opencl-c.h >less.h
# WORDS: what the program's sources name, a word a line. Names that macros put together from parts are kept in any case. To the file
# KEPT it writes the functions' names.

BEGIN { joined = "^(convert_[a-z]+[0-9]*|vload[a-z_]*[0-9]*|vstorea?(_half)?[0-9]*(_rte)?)$" }
NR == FNR { used[$1] = 1; next }
/^[ \t]*(\/\/|\*|\/\*.*\*\/[ \t]*$)/ || /^[ \t]*$/ || (/^[ \t]*\/\*/ && !/\*\//) { next }
# A declaration in one line: its name stands before the first parenthesis that is not an attribute's. Others stay, they are few.
/^[A-Za-z_].*\);[ \t]*$/ && !/^typedef/ {
  text = $0
  sub(/^__attribute__\(\([a-z_]*\)\) */, "", text)
  match(text, /[A-Za-z_0-9]+ *\(/)
  name = substr(text, RSTART, RLENGTH)
  sub(/ *\($/, "", name)
  if (!(name in used) && name !~ joined) next
  if (!(name in kept)) print name >list
  kept[name] = 1
}
{ print }

# Write the problem files of a folder into one C source, so that a shipped name works from any place and needs no
# installation path. Run as a script: -DFOLDER=… -DOUTPUT=…
file(GLOB files ${FOLDER}/*.yaml)
list(SORT files)
set(text "/* Made by cmake/embed_problems.cmake from problems/. */\n#include \"rpinn/problem.h\"\n\n")
string(APPEND text "static const struct {\n  const char *name, *text;\n} shipped[] = {\n")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} content)
  string(REPLACE "\\" "\\\\" content "${content}")
  string(REPLACE "\"" "\\\"" content "${content}")
  string(REPLACE "\n" "\\n\"\n     \"" content "${content}")
  string(APPEND text "    {\"${name}\",\n     \"${content}\"},\n")
endforeach()
string(APPEND text "};\n\nsize_t rpinn_shipped_count(void) { return sizeof shipped / sizeof shipped[0]; }\n"
       "const char *rpinn_shipped_name(size_t index) { return shipped[index].name; }\n"
       "const char *rpinn_shipped_text(size_t index) { return shipped[index].text; }\n")
file(WRITE ${OUTPUT} "${text}")

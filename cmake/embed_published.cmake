# Write the CSV files of published figures into one C source, as cmake/embed_problems.cmake does with the problems. Run as
# a script: -DFOLDER=… -DOUTPUT=…
file(GLOB files ${FOLDER}/*.csv)
list(SORT files)
set(text "/* Made by cmake/embed_published.cmake from problems/published/. */\n#include \"published.h\"\n\n")
string(APPEND text "#include <string.h>\n\nstatic const struct {\n  const char *name, *text;\n} tables[] = {\n")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} content)
  string(REPLACE "\\" "\\\\" content "${content}")
  string(REPLACE "\"" "\\\"" content "${content}")
  string(REPLACE "\n" "\\n\"\n     \"" content "${content}")
  string(APPEND text "    {\"${name}\",\n     \"${content}\"},\n")
endforeach()
string(APPEND text "};\n\nconst char *rpinn_published_text(const char *name) {\n"
       "  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)\n"
       "    if (!strcmp(tables[i].name, name)) return tables[i].text;\n  return NULL;\n}\n")
file(WRITE ${OUTPUT} "${text}")

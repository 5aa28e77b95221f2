# Writes OUT, a source file that holds the text of every one of FILES under its name and gives them
# as headroom::NAMESPACE::embedded_files(), declared in NAMESPACE/embedded.h.
set(text "// Files compiled into the program (written by cmake/embed.cmake).\n")
string(APPEND text "#include \"${NAMESPACE}/embedded.h\"\n\nnamespace headroom::${NAMESPACE} {\n\n")
string(APPEND text "std::span<const base::EmbeddedFile> embedded_files() {\n")
string(APPEND text "  static constexpr base::EmbeddedFile kFiles[] = {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  if(name STREQUAL "config.json")  # a model's own: the folder is its name
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    set(name ${folder}.json)
  endif()
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"~data~(${content})~data~\"},\n")
endforeach()
string(APPEND text "  };\n  return kFiles;\n}\n\n}  // namespace headroom::${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")

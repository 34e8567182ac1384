# cmake --install: library, headers, command line with its manual page and completions, the guides and examples, and the files by which CMake
# (find_package(rpinn), target rpinn::rpinn) and pkg-config (module rpinn) find them. All of it may be moved: no file
# holds the prefix.
include(CMakePackageConfigHelpers)

install(TARGETS rpinn EXPORT rpinnTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/rpinn ${PROJECT_BINARY_DIR}/include/rpinn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

# Whatever programs cli/ makes find the library beside them.
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
get_property(programs DIRECTORY cli PROPERTY BUILDSYSTEM_TARGETS)
foreach(program ${programs})
  get_property(type TARGET ${program} PROPERTY TYPE)
  if(type STREQUAL EXECUTABLE)
    set_property(TARGET ${program} PROPERTY INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(FILES man/rpinn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completion/rpinn.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME rpinn)
install(FILES completion/_rpinn DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# Side by side, as links between them expect it.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rpinn)
install(EXPORT rpinnTargets NAMESPACE rpinn:: DESTINATION ${package_dir})
configure_package_config_file(cmake/rpinnConfig.cmake.in ${PROJECT_BINARY_DIR}/rpinnConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may break callers.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rpinnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rpinnConfig.cmake ${PROJECT_BINARY_DIR}/rpinnConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH prefix_to_lib ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH prefix_to_include ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/rpinn.pc.in ${PROJECT_BINARY_DIR}/rpinn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rpinn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

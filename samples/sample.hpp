/// What all samples do alike: where they read and write, and how they end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <vector>

/// The folder to write into, which is made: SMEM_SAMPLE_OUTPUT, else ./output.
inline std::filesystem::path output_folder() {
  const char* wanted = std::getenv("SMEM_SAMPLE_OUTPUT");
  std::filesystem::path folder = wanted != nullptr && *wanted != '\0' ? wanted : "output";
  std::filesystem::create_directories(folder);
  return folder;
}

/// The pictures that the sample was told to read, or those that come with it.
inline std::vector<std::filesystem::path> pictures_of(int argc, char** argv) {
  if (argc > 1 && argv[1][0] == '-')
    throw std::invalid_argument(fmt::format("expected names of pictures, got {}", argv[1]));
  if (argc > 1) return {argv + 1, argv + argc};
  const std::filesystem::path data = SMEM_SAMPLE_DATA;
  return {data / "astronaut.png", data / "hubble_deep_field.jpg"};
}

/// Runs `body`; an error is printed behind the sample's name. \returns the exit code.
template <class Body>
int run_sample(const char* name, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

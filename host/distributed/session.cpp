// The public face of a session, and the views of a task's arguments.
#include <smem/distributed/session.hpp>

#include "distributed/state.hpp"

#include <utility>

namespace smem::distributed {

namespace {

std::size_t elements_before(const Piece& piece, const ElementType& type) {
  if (piece.element_bytes != type.bytes || type.bytes == 0 || piece.offset % type.bytes != 0) {
    throw Error({.operation = "distributed::Piece",
                 .argument = "type",
                 .expected = "elements of " + std::to_string(piece.element_bytes) +
                             " bytes, as the data was registered with",
                 .got = std::to_string(type.bytes) + " bytes"});
  }
  return piece.offset / type.bytes;
}

}  // namespace

smem::Vector Piece::vector(const ElementType& type) const {
  return {buffer, type, nx, elements_before(*this, type)};
}

smem::Matrix Piece::matrix(const ElementType& type) const {
  return {buffer, type, ny, nx, {.offset = elements_before(*this, type), .pitch = pitch}};
}

smem::Grid Piece::grid(const ElementType& type) const {
  return {
      buffer, type, {nx, ny, nz}, {.offset = elements_before(*this, type), .pitch = pitch, .plane = plane}};
}

Session::Session(const SessionOptions& options) : state_(std::make_shared<detail::State>(options)) {}

int Session::rank() const { return state().rank(); }
int Session::ranks() const { return state().ranks(); }
const std::vector<std::vector<std::string>>& Session::devices() const { return state().devices(); }

void Session::submit(const std::string& name, const std::vector<Argument>& arguments, Body body) const {
  state().submit(name, arguments, std::move(body));
}

void Session::wait(const char* operation) const {
  state().collective(
      operation, [](detail::Signature&) {}, [] {});
}

}  // namespace smem::distributed

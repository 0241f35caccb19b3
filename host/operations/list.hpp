/// All operations that are described.
#pragma once

#include "operations/operation.hpp"

#include <string_view>
#include <vector>

namespace smem::operations {

const std::vector<Operation>& all();
/// Null: none of that name.
const Operation* find(std::string_view name);

}  // namespace smem::operations

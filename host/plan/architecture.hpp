/// What is known of architectures beyond what drivers tell.
#pragma once

#include <smem/device.hpp>

namespace smem::plan {

/// The limits of the unit that shares local memory, by vendor and architecture; zeros when unknown.
UnitLimits unit_limits(Vendor vendor, std::string_view architecture, std::size_t sub_group_width);

}  // namespace smem::plan

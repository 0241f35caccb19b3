/// The lock on the device, for test processes that run side by side, and builds that fail (device_lock.cpp).
#pragma once

namespace test {

/// Seconds for which this process has waited for the lock.
double waited_for_device();

/// Gives the lock back, if this process has it: for a test case that did not wait for what it enqueued.
void release_device();

/// Lets the next builds of programs fail, without a log, before the driver sees them.
void fail_builds(int count);

}  // namespace test

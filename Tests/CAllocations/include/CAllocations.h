// Counts what the threads of one name ask of the allocator.
#pragma once

// From here on, allocations of threads with this name are counted; at most 15 bytes, kept by the caller.
void allocations_count_threads_named(const char *name);
long allocations_counted(void);

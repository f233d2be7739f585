// The program's own malloc: the linker lets it stand before that of glibc for every library of the process. Each function
// counts and passes the call on to glibc's own, which goes by a second name.
#define _GNU_SOURCE
#include "CAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_OTHER_ALLOCATOR 1
#endif
#endif

static _Atomic(const char *) counted_name;
static atomic_long counted;

void allocations_count_threads_named(const char *name) { atomic_store(&counted_name, name); }
long allocations_counted(void) { return atomic_load(&counted); }

#if !defined(HAS_OTHER_ALLOCATOR)
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void note(void) {
    static _Thread_local int is_counted;
    if (!is_counted) {
        const char *name = atomic_load(&counted_name);
        char own[16] = {0};
        // Asked anew as long as it is another one: a thread gets its name after its first steps.
        if (name == NULL || prctl(PR_GET_NAME, own) != 0 || strcmp(name, own) != 0) return;
        is_counted = 1;
    }
    atomic_fetch_add(&counted, 1);
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    note();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    note();
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}
#endif

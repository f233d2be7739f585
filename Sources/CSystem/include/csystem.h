// The little of Linux that Swift's Glibc module does not show: epoll, eventfd, accept4, thread attributes.
//
// Every function that can fail answers a negative errno and leaves `errno` alone for its caller.
#pragma once

// Only the compiler's own headers: Swift would take a type of glibc seen through here for one of this module's.
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// One readiness report. Has the layout of `struct epoll_event` (checked in csystem.c), with its 64 bits of user data
// as two words: which slot, and which generation of that slot.
struct csystem_event {
    uint32_t events;
#if !defined(__x86_64__)
    uint32_t padding;
#endif
    uint32_t slot;
    uint32_t generation;
};

#define CSYSTEM_READABLE 0x001u
#define CSYSTEM_WRITABLE 0x004u
#define CSYSTEM_ERROR 0x008u
#define CSYSTEM_HANGUP 0x010u
#define CSYSTEM_PEER_ENDED 0x2000u
#define CSYSTEM_EDGE 0x80000000u

int csystem_epoll_create(void);
int csystem_epoll_add(int epoll, int descriptor, struct csystem_event event);
int csystem_epoll_modify(int epoll, int descriptor, struct csystem_event event);
int csystem_epoll_remove(int epoll, int descriptor);
// Waits at most `milliseconds` (-1: for ever). An interruption by a signal counts as no event.
int csystem_epoll_wait(int epoll, struct csystem_event *events, int capacity, int milliseconds);

int csystem_eventfd(void);
int csystem_eventfd_raise(int descriptor);
// Sets the counter back to zero; -EAGAIN when it was zero.
int csystem_eventfd_reset(int descriptor);
// 1 when `descriptor` became readable (or writable), 0 when the time was over.
int csystem_poll_readable(int descriptor, int milliseconds);
int csystem_poll_writable(int descriptor, int milliseconds);

// An Internet address and port; `family` is 4 or 6, the bytes are in network order, the port in the host's.
struct csystem_address {
    uint64_t words[2];
    uint16_t port;
    uint8_t family;
};

#define CSYSTEM_ADDRESS_TEXT_MAX 46

// 0, or -EINVAL when `text` is no numeric address. The port is left alone.
int csystem_address_parse(const char *text, struct csystem_address *address);
// Writes the address without its port, ended by a NUL; an IPv4 address mapped into IPv6 is written as IPv4.
// `text` has room for CSYSTEM_ADDRESS_TEXT_MAX bytes.
void csystem_address_text(const struct csystem_address *address, char *text);

// Sends one datagram to a Unix socket; a `path` that begins with `@` is an abstract name. 0, or a negative errno.
int csystem_unix_datagram(const char *path, const void *bytes, size_t count);

// A bound, not yet listening, non-blocking TCP socket. `share_port` sets SO_REUSEPORT before the bind.
int csystem_tcp_bind(const struct csystem_address *address, int share_port);
// Lets later sockets with SO_REUSEPORT bind to the address that `descriptor` already holds.
int csystem_tcp_share_port(int descriptor);
int csystem_tcp_listen(int descriptor, int backlog);
int csystem_tcp_local_address(int descriptor, struct csystem_address *address);
// A non-blocking connection of `listener`, with its peer.
int csystem_tcp_accept(int listener, struct csystem_address *peer);
int64_t csystem_tcp_receive(int descriptor, void *bytes, size_t capacity);
int64_t csystem_tcp_send(int descriptor, const void *bytes, size_t count);
int csystem_tcp_shutdown_writing(int descriptor);
void csystem_close(int descriptor);
// Closes at once with a reset: what the peer has not taken yet is thrown away, not kept by the kernel.
void csystem_tcp_abort(int descriptor);

// Starts a thread with every signal blocked but those that report a fault of the thread itself.
int csystem_thread_start(uint64_t *thread, const char *name, size_t stack_bytes,
                         void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable context);
int csystem_thread_join(uint64_t thread);

// Raises the soft limit of open descriptors to the hard one; the limit that holds afterwards.
int64_t csystem_raise_descriptor_limit(void);

// Tell the race detector (ThreadSanitizer) of a lock it cannot see: Swift's Mutex lives in a library that is not
// instrumented. `lock` is any address that stands for that lock. Without the detector they do nothing.
void csystem_lock_taken(const void *lock);
void csystem_lock_given_up(const void *lock);

// A short English text, never NULL, valid for ever.
const char *csystem_error_text(int code);

#pragma clang assume_nonnull end

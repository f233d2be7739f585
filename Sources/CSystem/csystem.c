#define _GNU_SOURCE
#include "csystem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(sizeof(struct csystem_event) == sizeof(struct epoll_event), "one layout, so that no event is copied");
_Static_assert(offsetof(struct csystem_event, slot) == offsetof(struct epoll_event, data), "slot opens the user data");
_Static_assert(CSYSTEM_READABLE == EPOLLIN && CSYSTEM_WRITABLE == EPOLLOUT, "kernel names");
_Static_assert(CSYSTEM_ERROR == EPOLLERR && CSYSTEM_HANGUP == EPOLLHUP, "kernel names");
_Static_assert(CSYSTEM_PEER_ENDED == EPOLLRDHUP && CSYSTEM_EDGE == EPOLLET, "kernel names");

static int result_or_errno(int result) { return result < 0 ? -errno : result; }

// MARK: epoll

int csystem_epoll_create(void) { return result_or_errno(epoll_create1(EPOLL_CLOEXEC)); }

static int control(int epoll, int operation, int descriptor, struct csystem_event event) {
    struct epoll_event kernel_event;
    memcpy(&kernel_event, &event, sizeof kernel_event);
    return result_or_errno(epoll_ctl(epoll, operation, descriptor, &kernel_event));
}

int csystem_epoll_add(int epoll, int descriptor, struct csystem_event event) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, event);
}

int csystem_epoll_modify(int epoll, int descriptor, struct csystem_event event) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, event);
}

int csystem_epoll_remove(int epoll, int descriptor) {
    return control(epoll, EPOLL_CTL_DEL, descriptor, (struct csystem_event){0});
}

int csystem_epoll_wait(int epoll, struct csystem_event *events, int capacity, int milliseconds) {
    int count = epoll_wait(epoll, (struct epoll_event *)events, capacity, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count;
}

// MARK: eventfd and poll

int csystem_eventfd(void) { return result_or_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int csystem_eventfd_raise(int descriptor) {
    uint64_t one = 1;
    return write(descriptor, &one, sizeof one) < 0 ? -errno : 0;
}

int csystem_eventfd_reset(int descriptor) {
    uint64_t count;
    return read(descriptor, &count, sizeof count) < 0 ? -errno : 0;
}

static int poll_one(int descriptor, short events, int milliseconds) {
    struct pollfd entry = {.fd = descriptor, .events = events};
    int count = poll(&entry, 1, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count;
}

int csystem_poll_readable(int descriptor, int milliseconds) { return poll_one(descriptor, POLLIN, milliseconds); }

int csystem_poll_writable(int descriptor, int milliseconds) { return poll_one(descriptor, POLLOUT, milliseconds); }

// MARK: addresses

int csystem_address_parse(const char *text, struct csystem_address *address) {
    struct in_addr four;
    struct in6_addr six;
    memset(address->words, 0, sizeof address->words);
    if (inet_pton(AF_INET, text, &four) == 1) {
        address->family = 4;
        memcpy(address->words, &four, sizeof four);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &six) == 1) {
        address->family = 6;
        memcpy(address->words, &six, sizeof six);
        return 0;
    }
    return -EINVAL;
}

void csystem_address_text(const struct csystem_address *address, char *text) {
    struct in6_addr six;
    const void *bytes = address->words;
    int family = AF_INET;
    text[0] = 0;
    if (address->family == 6) {
        memcpy(&six, address->words, sizeof six);
        if (IN6_IS_ADDR_V4MAPPED(&six)) {
            bytes = &six.s6_addr[12];
        } else {
            family = AF_INET6;
        }
    } else if (address->family != 4) {
        return;
    }
    if (inet_ntop(family, bytes, text, CSYSTEM_ADDRESS_TEXT_MAX) == NULL) text[0] = 0;
}

static socklen_t to_socket_address(const struct csystem_address *address, struct sockaddr_storage *storage) {
    memset(storage, 0, sizeof *storage);
    if (address->family == 6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)storage;
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(address->port);
        memcpy(&six->sin6_addr, address->words, sizeof six->sin6_addr);
        return sizeof *six;
    }
    struct sockaddr_in *four = (struct sockaddr_in *)storage;
    four->sin_family = AF_INET;
    four->sin_port = htons(address->port);
    memcpy(&four->sin_addr, address->words, sizeof four->sin_addr);
    return sizeof *four;
}

static void from_socket_address(const struct sockaddr_storage *storage, struct csystem_address *address) {
    memset(address, 0, sizeof *address);
    if (storage->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)storage;
        address->family = 6;
        address->port = ntohs(six->sin6_port);
        memcpy(address->words, &six->sin6_addr, sizeof six->sin6_addr);
    } else if (storage->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)storage;
        address->family = 4;
        address->port = ntohs(four->sin_port);
        memcpy(address->words, &four->sin_addr, sizeof four->sin_addr);
    }
}

// MARK: TCP

static int set_flag(int descriptor, int level, int option) {
    int on = 1;
    return setsockopt(descriptor, level, option, &on, sizeof on);
}

int csystem_tcp_bind(const struct csystem_address *address, int share_port) {
    struct sockaddr_storage storage;
    socklen_t length = to_socket_address(address, &storage);
    int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // Accepted sockets inherit the options of their listener, which spares calls for each of them. The limit on bytes
    // not yet sent makes a slow client's progress visible every 64 KiB instead of every few MiB of kernel buffer.
    int unsent_bytes_max = 128 << 10;
    int failed = set_flag(descriptor, SOL_SOCKET, SO_REUSEADDR) < 0 ||
                 set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY) < 0 ||
                 setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes_max, sizeof unsent_bytes_max)
                     < 0 ||
                 (share_port && set_flag(descriptor, SOL_SOCKET, SO_REUSEPORT) < 0) ||
                 // An address means itself alone: "[::]" does not take IPv4 connections behind "0.0.0.0"'s back.
                 (address->family == 6 && set_flag(descriptor, IPPROTO_IPV6, IPV6_V6ONLY) < 0) ||
                 bind(descriptor, (struct sockaddr *)&storage, length) < 0;
    if (failed) {
        int code = errno;
        close(descriptor);
        return -code;
    }
    return descriptor;
}

int csystem_tcp_share_port(int descriptor) {
    return result_or_errno(set_flag(descriptor, SOL_SOCKET, SO_REUSEPORT));
}

int csystem_tcp_listen(int descriptor, int backlog) { return result_or_errno(listen(descriptor, backlog)); }

int csystem_tcp_local_address(int descriptor, struct csystem_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &length) < 0) return -errno;
    from_socket_address(&storage, address);
    return 0;
}

int csystem_tcp_accept(int listener, struct csystem_address *peer) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    storage.ss_family = AF_UNSPEC;
    int descriptor = accept4(listener, (struct sockaddr *)&storage, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return -errno;
    from_socket_address(&storage, peer);
    return descriptor;
}

int64_t csystem_tcp_receive(int descriptor, void *bytes, size_t capacity) {
    ssize_t count;
    do count = recv(descriptor, bytes, capacity, 0);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int64_t csystem_tcp_send(int descriptor, const void *bytes, size_t count) {
    ssize_t sent;
    do sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

int csystem_tcp_shutdown_writing(int descriptor) { return result_or_errno(shutdown(descriptor, SHUT_WR)); }

void csystem_close(int descriptor) { close(descriptor); }

void csystem_tcp_abort(int descriptor) {
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(descriptor);
}

// MARK: threads

_Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "a thread's handle fits");

int csystem_thread_start(uint64_t *thread, const char *name, size_t stack_bytes, void *(*body)(void *), void *context) {
    pthread_t handle;
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int code = pthread_attr_init(&attributes);
    if (code != 0) return -code;
    code = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (code == 0) {
        // A fault of the thread itself must reach the crash reporter; every other signal belongs to the main thread.
        sigfillset(&blocked);
        const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
        for (size_t index = 0; index < sizeof faults / sizeof faults[0]; index++) sigdelset(&blocked, faults[index]);
        pthread_sigmask(SIG_BLOCK, &blocked, &before);
        code = pthread_create(&handle, &attributes, body, context);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (code == 0) {
            char short_name[16];  // the kernel's limit, with the NUL
            strncpy(short_name, name, sizeof short_name - 1);
            short_name[sizeof short_name - 1] = 0;
            pthread_setname_np(handle, short_name);
            *thread = handle;
        }
    }
    pthread_attr_destroy(&attributes);
    return -code;
}

int csystem_thread_join(uint64_t thread) { return -pthread_join((pthread_t)thread, NULL); }

// MARK: limits

int64_t csystem_raise_descriptor_limit(void) {
    struct rlimit limit;
    // The smallest limit any system has, should this one not tell.
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 256;
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) limit.rlim_cur = soft;
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

// MARK: race detector

#if __has_feature(thread_sanitizer)
extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

void csystem_lock_taken(const void *lock) { __tsan_acquire((void *)lock); }

void csystem_lock_given_up(const void *lock) { __tsan_release((void *)lock); }
#else
void csystem_lock_taken(const void *lock) { (void)lock; }

void csystem_lock_given_up(const void *lock) { (void)lock; }
#endif

// MARK: errors

const char *csystem_error_text(int code) {
    const char *text = strerrordesc_np(code);
    return text != NULL ? text : "Unknown error";
}

// MARK: a datagram to a Unix socket

int csystem_unix_datagram(const char *path, const void *bytes, size_t count) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return -EINVAL;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] != '@'));
    ssize_t sent = sendto(descriptor, bytes, count, MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    int result = sent < 0 ? -errno : 0;
    close(descriptor);
    return result;
}

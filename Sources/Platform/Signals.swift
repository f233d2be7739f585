internal import Glibc

/// The signals that ask the process to end or to read its files again, taken one by one by the main thread.
public enum Signals {
    /// Blocks SIGTERM, SIGINT, SIGHUP, SIGPIPE and SIGXFSZ for the calling thread and every thread it starts from now on.
    ///
    /// Call it first in `main`, before any thread exists. A blocked SIGPIPE means that a write to a closed pipe answers
    /// `EPIPE`. A child process inherits the block unless its starter resets it.
    public static func block() {
        var set = awaited()
        unsafe sigaddset(&set, SIGPIPE)
        // A file at the size limit of the process: the write answers `EFBIG`.
        unsafe sigaddset(&set, SIGXFSZ)
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Blocks the calling thread until SIGTERM, SIGINT or SIGHUP comes, and gives its number.
    ///
    /// A signal that came after `block` is not lost: it waits here.
    public static func waitForSignal() -> Int32 {
        var set = awaited()
        var signal: Int32 = 0
        while unsafe sigwait(&set, &signal) != 0 {}
        return signal
    }

    private static func awaited() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, signal) }
        return set
    }
}

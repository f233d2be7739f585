internal import CSystem
internal import Glibc

/// Files that only their owner may read, whatever the mask of the process says.
public enum PrivateFile {
    private static let mode: mode_t = 0o600

    /// Makes an empty file for its owner only.
    ///
    /// - Returns: False when there is something at this path already; it stays as it is.
    public static func create(_ path: String) throws(SystemError) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            let code = errno
            if code == EEXIST { return false }
            throw systemError(errno: code, "open")
        }
        defer { csystem_close(descriptor) }
        // The mask of the process can only have taken rights away, also the owner's own.
        guard fchmod(descriptor, mode) == 0 else { throw systemError(errno: errno, "fchmod") }
        return true
    }

    /// Gives a finished file its name, and syncs both to the disk.
    ///
    /// - Parameter replacing: Whether a file of that name may go.
    /// - Returns: False when the name is taken and may not be.
    public static func publish(_ path: String, as name: String, replacing: Bool) throws(SystemError) -> Bool {
        try sync(path, O_RDONLY)
        if replacing {
            guard unsafe rename(path, name) == 0 else { throw systemError(errno: errno, "rename") }
        } else {
            // A link is made only where nothing is: no other process can come between the look and the deed.
            guard unsafe link(path, name) == 0 else {
                let code = errno
                if code == EEXIST { return false }
                throw systemError(errno: code, "link")
            }
            unsafe unlink(path)
        }
        let folder = name.lastIndex(of: "/").map { $0 == name.startIndex ? "/" : String(name[..<$0]) } ?? "."
        try sync(folder, O_RDONLY | O_DIRECTORY)
        return true
    }

    public static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Whether two names lead to one file; false when there is none.
    public static func isSame(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard unsafe stat(path, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Takes a file away if there is one.
    public static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }

    private static func sync(_ path: String, _ flags: Int32) throws(SystemError) {
        let descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemError(errno: errno, "open") }
        defer { csystem_close(descriptor) }
        guard fsync(descriptor) == 0 else { throw systemError(errno: errno, "fsync") }
    }
}

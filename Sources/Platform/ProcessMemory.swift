internal import Glibc

/// What the kernel tells of this process's memory.
public enum ProcessMemory {
    /// Bytes of the process that are in memory now; nil when the kernel does not tell.
    ///
    /// Source: proc_pid_statm(5), second field, in pages.
    public static func residentBytes() -> Int? {
        let descriptor = unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = unsafe read(descriptor, &text, text.count)
        guard count > 0 else { return nil }
        let fields = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}

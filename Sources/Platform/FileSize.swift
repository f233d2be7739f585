internal import Glibc

/// How large a file is.
public enum FileSize {
    /// Bytes of the file; nil when it is not there or cannot be looked at.
    public static func bytes(of path: String) -> Int? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Int(status.st_size)
    }
}

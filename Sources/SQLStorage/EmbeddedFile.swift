internal import CEmbedded

/// A file of the source tree inside the program.
struct EmbeddedFile {
    let path: String
    let bytes: [UInt8]

    /// Every embedded file below a folder, by path.
    static func all(below folder: String) -> [EmbeddedFile] {
        var files: [EmbeddedFile] = []
        for index in 0..<embedded_file_count() {
            // The path and the bytes are constants of the program.
            let file = unsafe embedded_file_at(index)
            let path = unsafe String(cString: file.path)
            guard path.hasPrefix(folder) else { continue }
            files.append(
                EmbeddedFile(
                    path: path,
                    bytes: unsafe [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size))
                )
            )
        }
        return files.sorted { $0.path < $1.path }
    }
}

internal import Foundation

/// A small file beside the database that only its owner may read.
enum SecretFile {
    /// - Throws: When it cannot be read, or when others can.
    static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = attributes[.posixPermissions] as? NSNumber, let data = FileManager.default.contents(atPath: path)
        else { throw ConfigurationError(path, "it cannot be read", hint: "restore it from a backup") }
        guard mode.intValue & 0o077 == 0 else {
            throw ConfigurationError(path, "others on this machine can read it", hint: "chmod 600 \(path)")
        }
        return [UInt8](data)
    }

    /// Puts the file in place whole: whoever reads it meanwhile finds the old bytes or the new ones.
    ///
    /// - Parameter isNew: Leaves a file alone that another process has made meanwhile.
    static func write(_ bytes: [UInt8], to path: String, isNew: Bool) throws(ConfigurationError) {
        let temporary = path + ".new-\(getpid())"
        _ = unsafe unlink(temporary)
        // Made with its mode, so that no moment has it readable for others.
        let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else {
            throw ConfigurationError(path, "it cannot be written", hint: "check the folder's owner")
        }
        // The bytes are held for the length of the call.
        let written = unsafe bytes.withUnsafeBytes { unsafe Foundation.write(file, $0.baseAddress, $0.count) }
        let isSynced = written == bytes.count && fsync(file) == 0
        close(file)
        let isPlaced =
            unsafe isSynced
            && (isNew ? link(temporary, path) == 0 || errno == EEXIST : rename(temporary, path) == 0)
        _ = unsafe unlink(temporary)
        guard isPlaced else { throw ConfigurationError(path, "it cannot be written", hint: "is the disk full?") }
    }
}

internal import Entitlements
internal import Foundation
internal import Licensing
internal import Platform

/// The secret file with the keys that sign offline tokens, beside the database and for its owner only.
///
/// A loop's own view of it: the file is looked at now and then, so that a rotation counts without a restart.
struct SigningKeyFile {
    private static let lookEachSeconds = 1

    let path: String
    private(set) var keys: SigningKeys
    private var modified: Date?
    private var lookAt: MonotonicNanos

    static func path(besideDatabase database: String) -> String { database + ".signing-keys" }

    /// Reads the file, or makes it with a first key.
    ///
    /// - Throws: When it can be read by others, is damaged, or cannot be written.
    static func load(besideDatabase database: String) throws(ConfigurationError) -> SigningKeyFile {
        let path = path(besideDatabase: database)
        if !FileManager.default.fileExists(atPath: path) {
            let first: SigningKeys
            do throws(SigningKeyError) {
                first = try SigningKeys.make(at: UnixMillis(wallClockMillis()))
            } catch {
                throw ConfigurationError(path, error.reason)
            }
            try write(first, to: path, isNew: true)
        }
        return try SigningKeyFile(path)
    }

    private init(_ path: String) throws(ConfigurationError) {
        self.path = path
        keys = try Self.read(path)
        modified = Self.modified(path)
        lookAt = .now().adding(seconds: Self.lookEachSeconds)
    }

    private static func modified(_ path: String) -> Date? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
    }

    static func read(_ path: String) throws(ConfigurationError) -> SigningKeys {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = attributes[.posixPermissions] as? NSNumber, let data = FileManager.default.contents(atPath: path)
        else {
            throw ConfigurationError(path, "it cannot be read", hint: "it signs licences; restore it from a backup")
        }
        guard mode.intValue & 0o077 == 0 else {
            throw ConfigurationError(path, "others on this machine can read it", hint: "chmod 600 \(path)")
        }
        do throws(SigningKeyError) {
            return try SigningKeys(encoded: [UInt8](data))
        } catch {
            throw ConfigurationError(path, error.reason, hint: "restore it from a backup, or take it away for new keys")
        }
    }

    /// Replaces the file whole: whoever reads it meanwhile finds the old keys or the new ones.
    ///
    /// - Parameter isNew: Refuses to replace a file that another process has made meanwhile.
    static func write(_ keys: SigningKeys, to path: String, isNew: Bool) throws(ConfigurationError) {
        let temporary = path + ".new-\(getpid())"
        _ = unsafe unlink(temporary)
        // Made with its mode, so that no moment has it readable for others.
        let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else {
            throw ConfigurationError(path, "it cannot be written", hint: "check the folder's owner")
        }
        let bytes = keys.encoded
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

    /// The keys as the file has them now. A file that cannot be read leaves the keys that were read before.
    mutating func current() -> SigningKeys {
        let now = MonotonicNanos.now()
        guard now >= lookAt else { return keys }
        lookAt = now.adding(seconds: Self.lookEachSeconds)
        let modified = Self.modified(path)
        guard modified != self.modified else { return keys }
        do throws(ConfigurationError) {
            keys = try Self.read(path)
            self.modified = modified
        } catch {
            Log.error("the signing keys cannot be read again", ("reason", .string(error.description)))
        }
        return keys
    }
}

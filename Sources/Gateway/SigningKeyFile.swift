internal import Entitlements
internal import Foundation
internal import Licensing
internal import Platform

/// The secret file with the keys that sign offline tokens, beside the database.
///
/// A loop's own view of it: the file is looked at now and then, so that a rotation counts without a restart.
struct SigningKeyFile {
    private static let lookEachSeconds = 1

    let path: String
    private var keys: SigningKeys
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
            try SecretFile.write(first.encoded, to: path, isNew: true)
        }
        return try SigningKeyFile(path)
    }

    private init(_ path: String) throws(ConfigurationError) {
        self.path = path
        modified = Self.modified(path)
        keys = try Self.read(path)
        lookAt = .now().adding(seconds: Self.lookEachSeconds)
    }

    private static func modified(_ path: String) -> Date? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
    }

    private static func read(_ path: String) throws(ConfigurationError) -> SigningKeys {
        let bytes = try SecretFile.read(path)
        do throws(SigningKeyError) {
            return try SigningKeys(encoded: bytes)
        } catch {
            throw ConfigurationError(path, error.reason, hint: "restore it from a backup, or take it away for new keys")
        }
    }

    /// Notes how long tokens live that are signed from now on: so long a key is published after it has signed the last.
    mutating func note(tokenDays: Int) throws(ConfigurationError) {
        guard let known = keys.signing(tokensOfDays: tokenDays) else { return }
        try SecretFile.write(known.encoded, to: path, isNew: false)
        keys = known
        modified = Self.modified(path)
    }

    /// A new key signs from now on; the old ones are published as long as their tokens live.
    ///
    /// - Returns: The new key's id, and how many keys are published.
    func rotate(tokenDays: Int, now: UnixMillis) throws(ConfigurationError) -> (kid: String, published: Int) {
        let rotated: SigningKeys
        do throws(SigningKeyError) {
            rotated = try keys.rotated(at: now, tokenDays: tokenDays)
        } catch {
            throw ConfigurationError(path, error.reason)
        }
        try SecretFile.write(rotated.encoded, to: path, isNew: false)
        return (rotated.keys.first?.kid ?? "", rotated.keys.count)
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

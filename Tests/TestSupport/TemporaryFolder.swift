import Foundation

/// A new empty folder for one test. It goes away when asked to, so that what a failed test left can be looked at.
public struct TemporaryFolder: Sendable {
    public let path: String

    /// The name begins with `prefix`; characters that do not belong in a file name become `_`.
    public init(prefix: String) throws {
        let kept = prefix.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "_" }
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent(String(kept) + "-" + UUID().uuidString.lowercased(), isDirectory: true)
        try FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        path = url.path
    }

    public func file(_ name: String) -> String {
        path + "/" + name
    }

    public func remove() {
        // A leftover folder is untidy and nothing more: not worth failing a test that passed.
        try? FileManager.default.removeItem(atPath: path)
    }
}

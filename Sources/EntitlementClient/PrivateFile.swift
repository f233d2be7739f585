internal import Foundation

/// A small JSON file for this device's user only, replaced as a whole.
struct PrivateFile: Sendable {
    let url: URL

    init(_ url: URL) {
        self.url = url
    }

    /// Nil when there is none, or when what stands there cannot be read.
    func read<Content: Decodable>(_ type: Content.Type) -> Content? {
        guard let data = try? Data(contentsOf: url) else { return nil }
        return try? GatewayTime.decoder().decode(type, from: data)
    }

    func write<Content: Encodable>(_ content: Content) throws(EntitlementClientError) {
        do {
            let folder = url.deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try GatewayTime.encoder().encode(content).write(to: url, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
        } catch {
            throw .storage("\(url.lastPathComponent): \(error.localizedDescription)")
        }
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    /// When it was last written, by the clock of then.
    var writtenAt: Date? {
        (try? FileManager.default.attributesOfItem(atPath: url.path))?[.modificationDate] as? Date
    }

    /// A place of the app's own in a folder that the system has for such things.
    static func standard(_ folder: FileManager.SearchPathDirectory, _ name: String) -> URL {
        let base =
            FileManager.default.urls(for: folder, in: .userDomainMask).first ?? FileManager.default.temporaryDirectory
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return base.appendingPathComponent(app).appendingPathComponent(name)
    }
}

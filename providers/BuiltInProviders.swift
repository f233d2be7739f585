internal import CEmbedded
public import ProviderKit

/// What comes with the program: manifests and sample events.
public enum BuiltInProviders {
    /// The manifests of web billing, ready to be used.
    ///
    /// - Throws: `ManifestError`; a test reads every one of them, so that a program that was tested never does.
    public static func manifests() throws(ManifestError) -> [Manifest] {
        var manifests: [Manifest] = []
        for file in files() {
            let parts = file.path.split(separator: "/")
            guard parts.count == 3, parts[0] == "providers", parts[2] == "\(parts[1]).json" else { continue }
            manifests.append(try Manifest(json: file.bytes, file: file.path))
        }
        return manifests
    }

    /// Sample events of a provider: name → body as the provider would send it.
    public static func samples(of provider: String) -> [String: [UInt8]] {
        var samples: [String: [UInt8]] = [:]
        let folder = "providers/\(provider)/samples/"
        for file in files() where file.path.hasPrefix(folder) && file.path.hasSuffix(".json") {
            samples[String(file.path.dropFirst(folder.count).dropLast(5))] = file.bytes
        }
        return samples
    }

    /// Which of the samples are a whole life (`life.json`); nil for a provider that has none.
    public static func life(of provider: String) throws(ManifestError) -> SampleLife? {
        let path = "providers/\(provider)/life.json"
        guard let file = files().first(where: { $0.path == path }) else { return nil }
        return try SampleLife(json: file.bytes, file: path)
    }

    /// One file that comes with the program, by its path in the source tree.
    static func file(_ path: String) -> [UInt8]? {
        files().first { $0.path == path }?.bytes
    }

    private static func files() -> [(path: String, bytes: [UInt8])] {
        (0..<embedded_file_count()).map { index in
            // Path and bytes are constants of the program.
            let file = unsafe embedded_file_at(index)
            return unsafe (
                String(cString: file.path), [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size))
            )
        }
    }
}

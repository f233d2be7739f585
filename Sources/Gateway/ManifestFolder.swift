internal import Entitlements
internal import Foundation
internal import ProviderKit

/// A folder of manifests (`--providers`): `shop.json`, or a folder of its own as in the source tree, `shop/shop.json`; sample events
/// lie in `shop/samples/`, and a life made of them in `shop/life.json`.
struct ManifestFolder {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Every manifest of the folder, in the order of the files' names.
    ///
    /// - Throws: For a folder or a file that cannot be read, a manifest that cannot work, and a name that two files have.
    func manifests() throws(ConfigurationError) -> [Manifest] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw ConfigurationError(path, "no such folder", hint: "--providers names a folder of manifests")
        }
        var found: [Manifest] = []
        var files: [String: String] = [:]
        for name in names.sorted() {
            guard let file = manifestFile(name) else { continue }
            let manifest = try Self.manifest(file)
            if let other = files.updateValue(file, forKey: manifest.provider.name) {
                throw ConfigurationError(
                    "\(file) /name",
                    "the name \(manifest.provider.name) is taken by \(other)",
                    hint: "give each provider of the folder a name of its own"
                )
            }
            found.append(manifest)
        }
        return found
    }

    private func manifestFile(_ name: String) -> String? {
        if name.hasSuffix(".json") { return "\(path)/\(name)" }
        let inner = "\(path)/\(name)/\(name).json"
        return FileManager.default.fileExists(atPath: inner) ? inner : nil
    }

    /// One file.
    static func manifest(_ file: String) throws(ConfigurationError) -> Manifest {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw ConfigurationError(file, "it cannot be read", hint: "a manifest is a file that this user may read")
        }
        do throws(ManifestError) {
            return try Manifest(json: [UInt8](data), file: file)
        } catch {
            throw ConfigurationError(file, error.reason)
        }
    }

    /// Sample events of a provider: name → body.
    func samples(of provider: String) -> [String: [UInt8]] {
        let folder = "\(path)/\(provider)/samples"
        var samples: [String: [UInt8]] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasSuffix(".json") {
            samples[String(name.dropLast(5))] = FileManager.default.contents(atPath: "\(folder)/\(name)").map {
                [UInt8]($0)
            }
        }
        return samples
    }

    /// Which of the samples are a whole life; nil where the provider has none here.
    func life(of provider: String) throws(ConfigurationError) -> SampleLife? {
        let file = "\(path)/\(provider)/life.json"
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        do throws(ManifestError) {
            return try SampleLife(json: [UInt8](data), file: file)
        } catch {
            throw ConfigurationError(file, error.reason)
        }
    }
}

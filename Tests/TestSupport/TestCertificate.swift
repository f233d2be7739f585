import Foundation

/// A certificate with its key, made by the openssl command for one test.
public struct TestCertificate: Sendable {
    public let certificate: String
    public let key: String

    public struct CannotMake: Error {
        public let reason: String
    }

    /// - Parameter name: The common name, and part of the names of the two files in `folder`.
    /// - Parameter more: Further words for `openssl req`.
    public init(_ name: String, in folder: TemporaryFolder, days: Int = 30, more: [String] = ["-nodes"]) throws {
        certificate = folder.file("\(name).crt")
        key = folder.file("\(name).key")
        try Self.openssl(
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "\(days)"]
                + ["-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
                + ["-keyout", key, "-out", certificate] + more,
            in: folder
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    /// Runs the openssl command, and gives what it wrote.
    @discardableResult
    public static func openssl(_ words: [String], in folder: TemporaryFolder) throws -> String {
        let log = folder.file("openssl-\(UUID().uuidString).log")
        let process = try ChildProcess(
            .init(
                program: "/usr/bin/env",
                arguments: ["openssl"] + words,
                environment: ProcessInfo.processInfo.environment,
                folder: folder.path,
                output: log
            )
        )
        let status = process.wait(seconds: 30)
        process.kill()
        let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
        guard status == .exited(0) else { throw CannotMake(reason: text) }
        return text
    }
}

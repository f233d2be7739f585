internal import Foundation
internal import TestSupport

/// A real proxy in front of something, and what it is to be stopped with.
final class RunningProxy {
    let port: UInt16
    private let process: ChildProcess

    /// Starts it and waits until it answers.
    ///
    /// - Parameters:
    ///   - arguments: The words of the program, from the path of its configuration.
    ///   - config: The configuration, from the port it listens on.
    init(
        _ program: String,
        in folder: TemporaryFolder,
        asking target: String,
        arguments: (String) -> [String],
        config: (UInt16) -> String
    ) throws {
        port = try FreePorts.claim()
        let file = folder.file("proxy.conf")
        try Data(config(port).utf8).write(to: URL(fileURLWithPath: file))
        process = try ChildProcess(
            .init(
                program: program,
                arguments: arguments(file),
                environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": folder.path],
                folder: folder.path,
                output: folder.file("proxy.out"),
                errors: folder.file("proxy.err")
            )
        )
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if (try? HTTPConnection(port: port).send(HTTPRequest(target: target), seconds: 5)) != nil { return }
            Thread.sleep(forTimeInterval: 0.02)
        }
        let log = FileManager.default.contents(atPath: folder.file("proxy.err")) ?? Data()
        process.kill()
        throw GatewayTestError("\(program) did not start: \(String(decoding: log, as: UTF8.self).suffix(800))")
    }

    deinit { process.kill() }

    /// The folders that nginx writes to, below the one it runs in.
    static let nginxFolders = """
        client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
        scgi_temp_path scgi;
        """
}

internal import Foundation
internal import Glibc
internal import TestSupport

/// A headless Chromium with one page, driven over the pipe of its DevTools protocol. For one thread.
///
/// Source: https://chromedevtools.github.io/devtools-protocol/
final class Browser {
    static let program = InstalledProgram.path(of: "chromium")
    private static let answerSeconds = 30.0

    private let folder: TemporaryFolder
    private let process: ChildProcess
    private let input: Int32
    private let output: Int32
    private var unread: [UInt8] = []
    private var lastID: Int64 = 0
    private var session: String?
    /// What the page's console, its exceptions and the browser's own log said.
    private(set) var complaints: [String] = []
    /// Every address that was asked for.
    private(set) var requests: [String] = []

    init(width: Int = 1200, height: Int = 900) throws {
        guard let program = Self.program else { throw GatewayTestError("chromium is not installed") }
        folder = try TemporaryFolder(prefix: "browser")
        let pipes = [folder.file("to"), folder.file("from")]
        for pipe in pipes where mkfifo(pipe, 0o600) != 0 { throw GatewayTestError("no pipe: \(errno)") }
        // Open for both directions: opening waits for nobody, and the end of the browser is no end of the file.
        input = open(pipes[0], O_RDWR | O_CLOEXEC)
        output = open(pipes[1], O_RDWR | O_CLOEXEC)
        process = try ChildProcess(
            .init(
                program: "/bin/sh",
                arguments: [
                    "-c", "exec \"$0\" \"$@\" 3<to 4>from", program, "--headless=new", "--no-sandbox", "--disable-gpu",
                    "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-sync",
                    "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                    "--user-data-dir=\(folder.file("profile"))", "--remote-debugging-pipe", "about:blank",
                ],
                environment: ["HOME": folder.path, "PATH": "/usr/bin:/bin", "TMPDIR": folder.path],
                folder: folder.path,
                output: folder.file("browser.out")
            )
        )
        let target = try call("Target.createTarget", "{\"url\":\"about:blank\"}")["targetId"]?.string ?? ""
        session = try call("Target.attachToTarget", "{\"targetId\":\"\(target)\",\"flatten\":true}")["sessionId"]?
            .string
        for domain in ["Page", "Runtime", "Log", "Network"] { try call("\(domain).enable") }
        try resize(width: width, height: height)
    }

    deinit {
        process.kill()
        close(input)
        close(output)
        folder.remove()
    }

    // MARK: - What a person does

    func visit(_ url: String) throws {
        try call("Page.navigate", "{\"url\":\(Self.quoted(url))}")
        try wait(for: "document.readyState === 'complete' && location.href !== 'about:blank'")
    }

    func resize(width: Int, height: Int) throws {
        let size = "{\"width\":\(width),\"height\":\(height),\"deviceScaleFactor\":1,\"mobile\":false}"
        try call("Emulation.setDeviceMetricsOverride", size)
    }

    /// - Parameter scheme: `light` or `dark`.
    func prefer(_ scheme: String) throws {
        try call(
            "Emulation.setEmulatedMedia",
            "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"\(scheme)\"}]}"
        )
    }

    /// One key with its name, such as `Tab`, `Enter` or `ArrowRight`.
    func press(_ name: String) throws {
        let codes = ["Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35]
        let text = name == "Enter" ? ",\"text\":\"\\r\"" : ""
        let code = codes[name] ?? 0
        for kind in ["keyDown", "keyUp"] {
            try call(
                "Input.dispatchKeyEvent",
                "{\"type\":\"\(kind)\",\"key\":\"\(name)\",\"code\":\"\(name)\",\"windowsVirtualKeyCode\":\(code)\(text)}"
            )
        }
    }

    /// Text into whatever has the focus.
    func type(_ text: String) throws {
        try call("Input.insertText", "{\"text\":\(Self.quoted(text))}")
    }

    /// Puts a text into the field that the selector finds.
    func fill(_ selector: String, _ text: String) throws {
        try evaluate("{ const one = document.querySelector(\(Self.quoted(selector))); one.focus(); one.value = ''; }")
        try type(text)
    }

    func click(_ selector: String) throws {
        try evaluate("document.querySelector(\(Self.quoted(selector))).click()")
    }

    /// Keeps a picture of the page under the build folder.
    func keepPicture(_ name: String) throws {
        let answer = try call("Page.captureScreenshot", "{\"format\":\"png\",\"captureBeyondViewport\":true}")
        guard let text = answer["data"]?.string, let picture = Data(base64Encoded: text) else {
            throw GatewayTestError("no picture of \(name)")
        }
        let pictures = Bundle.main.bundleURL.appendingPathComponent("screenshots", isDirectory: true)
        try FileManager.default.createDirectory(at: pictures, withIntermediateDirectories: true)
        try picture.write(to: pictures.appendingPathComponent("\(name).png"))
    }

    // MARK: - What is on the page

    /// The value of a script's last expression.
    @discardableResult
    func evaluate(_ script: String) throws -> JSONValue {
        let answer = try call(
            "Runtime.evaluate",
            "{\"expression\":\(Self.quoted(script)),\"returnByValue\":true,\"userGesture\":true}"
        )
        if let exception = answer["exceptionDetails"] {
            throw GatewayTestError("\(script): \(exception.compact.prefix(400))")
        }
        return answer["result"]?["value"] ?? .null
    }

    /// Waits until an expression is true.
    func wait(for condition: String, seconds: Double = 20) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while try evaluate("!!(\(condition))") != .bool(true) {
            guard ContinuousClock.now < end else {
                let text = try evaluate("document.body.innerText").string ?? ""
                throw GatewayTestError("\(condition) is not so: \(text.prefix(1500)) \(complaints)")
            }
            Thread.sleep(forTimeInterval: 0.03)
        }
    }

    /// Waits until the page shows a text.
    func wait(forText text: String, in selector: String = "body") throws {
        try wait(for: "document.querySelector(\(Self.quoted(selector)))?.innerText.includes(\(Self.quoted(text)))")
    }

    static func quoted(_ text: String) -> String { JSONValue.string(text).compact }

    // MARK: - The protocol

    @discardableResult
    private func call(_ method: String, _ parameters: String = "{}") throws -> JSONValue {
        lastID += 1
        let name = session.map { ",\"sessionId\":\"\($0)\"" } ?? ""
        let message = Array("{\"id\":\(lastID),\"method\":\"\(method)\",\"params\":\(parameters)\(name)}".utf8) + [0]
        var sent = 0
        while sent < message.count {
            let count = message[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            guard count > 0 else { throw GatewayTestError("\(method) could not be sent: \(errno)") }
            sent += count
        }
        while true {
            let answer = try receive(method)
            guard answer["id"] == .integer(lastID) else {
                note(answer)
                continue
            }
            if let error = answer["error"] { throw GatewayTestError("\(method): \(error.compact)") }
            return answer["result"] ?? .null
        }
    }

    /// The next message; each ends with a NUL.
    private func receive(_ method: String) throws -> JSONValue {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if let end = unread.firstIndex(of: 0) {
                defer { unread.removeFirst(end + 1) }
                return try JSONValue(parsing: Array(unread[..<end]))
            }
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Int32(Self.answerSeconds * 1000)) > 0 else {
                let log = FileManager.default.contents(atPath: folder.file("browser.out")) ?? Data()
                throw GatewayTestError(
                    "\(method) was not answered: \(String(decoding: log.suffix(800), as: UTF8.self))"
                )
            }
            let count = read(output, &buffer, buffer.count)
            guard count > 0 else { throw GatewayTestError("the browser is gone: \(errno)") }
            unread += buffer[..<count]
        }
    }

    private func note(_ event: JSONValue) {
        let parameters = event["params"] ?? .null
        switch event["method"]?.string {
        case "Network.requestWillBeSent": requests.append(parameters["request"]?["url"]?.string ?? "")
        case "Runtime.exceptionThrown", "Runtime.consoleAPICalled": complaints.append(parameters.compact)
        case "Log.entryAdded":
            // A refusal that the page tells of in its own words is not one more.
            if parameters["entry"]?["source"] != "network" { complaints.append(parameters.compact) }
        default: return
        }
    }
}

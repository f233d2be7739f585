internal import Foundation
internal import TestSupport
internal import Testing

/// `--tls-certificate` and `--tls-key` (contract section 3), with the clients that others use: curl and openssl.
@Suite("TLS", .ownThread)
struct EncryptionTests {
    private static let hasCurl = ["/usr/bin/curl", "/usr/local/bin/curl", "/bin/curl"]
        .contains { FileManager.default.isExecutableFile(atPath: $0) }

    private static func gateway(_ name: String = "first") throws -> (RunningGateway, TestCertificate) {
        let gateway = try RunningGateway()
        let files = try TestCertificate(name, in: gateway.folder)
        gateway.arguments = ["--tls-certificate", files.certificate, "--tls-key", files.key]
        return (gateway, files)
    }

    /// What `serve` says when it must end with a failure.
    private static func refusal(_ gateway: RunningGateway, _ changes: [String: String?] = [:]) throws -> String {
        let result = try gateway.run(["serve"] + gateway.arguments, changes: changes)
        #expect(result.status == .exited(1), "\(result.errors)")
        return result.errors
    }

    /// What `openssl s_client` tells of a connection that ends after one request.
    private static func client(_ gateway: RunningGateway, _ words: [String] = []) throws -> String {
        try gateway.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", to: "request")
        let line = "exec openssl s_client -connect \(gateway.listen) -alpn http/1.1 -ign_eof "
        let script = line + words.joined(separator: " ") + " <request 2>&1 || true"
        let log = gateway.folder.file("client-\(UUID().uuidString)")
        let process = try ChildProcess(
            .init(
                program: "/bin/sh",
                arguments: ["-c", script],
                environment: ProcessInfo.processInfo.environment,
                folder: gateway.folder.path,
                output: log
            )
        )
        _ = process.wait(seconds: 20)
        process.kill()
        return String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
    }

    private static func curl(_ gateway: RunningGateway, _ files: TestCertificate, _ words: [String]) throws -> String {
        let log = gateway.folder.file("curl-\(UUID().uuidString)")
        let process = try ChildProcess(
            .init(
                program: "/usr/bin/env",
                arguments: ["curl", "-sS", "--max-time", "20", "--cacert", files.certificate] + words,
                environment: ProcessInfo.processInfo.environment,
                folder: gateway.folder.path,
                output: log
            )
        )
        let status = process.wait(seconds: 30)
        process.kill()
        let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
        if status != .exited(0) { throw GatewayTestError("curl: \(text)") }
        return text
    }

    // MARK: - The start

    @Test func halfAPairStopsTheStart() throws {
        let gateway = try RunningGateway()
        let files = try TestCertificate("half", in: gateway.folder)
        gateway.arguments = ["--tls-certificate", files.certificate]
        let noKey = try Self.refusal(gateway)
        #expect(noKey.contains("GATEWAY_TLS_KEY") && noKey.contains("--tls-certificate") && noKey.contains("—"))
        gateway.arguments = []
        let noCertificate = try Self.refusal(gateway, ["GATEWAY_TLS_KEY": files.key])
        #expect(noCertificate.contains("GATEWAY_TLS_CERTIFICATE"), "\(noCertificate)")
    }

    @Test func filesThatCannotBeUsedStopTheStart() throws {
        let (gateway, files) = try Self.gateway()
        let other = try TestCertificate("other", in: gateway.folder)
        let locked = try TestCertificate("locked", in: gateway.folder, more: ["-passout", "pass:secretword"])
        try gateway.write("nothing\n", to: "nothing.pem")
        let nothing = gateway.folder.file("nothing.pem")
        func refusal(_ certificate: String, _ key: String) throws -> String {
            gateway.arguments = ["--tls-certificate", certificate, "--tls-key", key]
            return try Self.refusal(gateway)
        }
        let missing = try refusal("missing.crt", files.key)
        #expect(missing.contains("--tls-certificate missing.crt: no such file —"), "\(missing)")
        #expect(try refusal(files.certificate, "missing.key").contains("--tls-key missing.key: no such file —"))
        #expect(try refusal(nothing, files.key).contains("no certificate in PEM form"))
        #expect(try refusal(files.certificate, nothing).contains("no private key"))
        #expect(try refusal(files.certificate, other.key).contains("not the key of the certificate"))
        let encrypted = try refusal(locked.certificate, locked.key)
        #expect(encrypted.contains("locked.key") && encrypted.contains("not encrypted"), "\(encrypted)")
        #expect(try refusal(gateway.folder.path, files.key).contains("--tls-certificate"))
        #expect(!gateway.text(of: "gateway.log").contains("PRIVATE"))
    }

    @Test func aKeyThatEveryoneReadsStopsTheStart() throws {
        let (gateway, files) = try Self.gateway()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: files.key)
        let reason = try Self.refusal(gateway)
        #expect(reason.contains(files.key) && reason.contains("chmod 600"), "\(reason)")
        // The group may, as with a key that several services share.
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: files.key)
        try gateway.start()
    }

    @Test func theEndOfACertificateIsTold() throws {
        let gateway = try RunningGateway()
        let files = try TestCertificate("short", in: gateway.folder, days: 3)
        gateway.environment["GATEWAY_TLS_CERTIFICATE"] = files.certificate
        gateway.environment["GATEWAY_TLS_KEY"] = files.key
        try gateway.start()
        let log = gateway.text(of: "gateway.log")
        // Three days less the moment since it was made.
        #expect(log.contains("ends soon") && (log.contains("_left\":2") || log.contains("_left\":3")), "\(log)")
    }

    // MARK: - Clients

    @Test func theTwoNewestVersionsAreSpoken() throws {
        let (gateway, _) = try Self.gateway()
        try gateway.start()
        for (words, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
            let told = try Self.client(gateway, [words])
            #expect(told.contains("HTTP/1.1 200 OK") && told.contains(version), "\(told)")
            #expect(told.contains("ALPN protocol: http/1.1") && told.contains("Compression: NONE"), "\(told)")
        }
        for version in ["-tls1", "-tls1_1"] {
            let old = try Self.client(gateway, [version, "-cipher", "ALL:@SECLEVEL=0"])
            #expect(!old.contains("HTTP/1.1 200 OK") && old.contains("alert protocol version"), "\(old)")
        }
    }

    @Test(
        "ciphers without forward secrecy or without authenticated encryption, and those of nobody",
        arguments: [
            "AES128-SHA:AES256-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA",
            "ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA256", "DHE-RSA-AES128-GCM-SHA256",
            "AECDH-AES128-SHA:ADH-AES128-GCM-SHA256", "ECDHE-RSA-NULL-SHA:NULL-SHA256:ECDHE-ECDSA-NULL-SHA",
            "CAMELLIA128-SHA:ARIA128-GCM-SHA256",
        ]
    )
    func weakCiphersAreRefused(ciphers: String) throws {
        let (gateway, _) = try Self.gateway()
        try gateway.start()
        let told = try Self.client(gateway, ["-tls1_2", "-cipher", "'\(ciphers):@SECLEVEL=0'"])
        #expect(!told.contains("HTTP/1.1 200 OK"), "\(ciphers): \(told)")
        #expect(told.contains("alert handshake failure"), "refused by the gateway and not by the client: \(told)")
    }

    @Test func whatTLSHasGivenUpIsRefused() throws {
        let (gateway, _) = try Self.gateway()
        try gateway.start()
        // A line that is R alone asks for new keys in the middle of a connection.
        try gateway.write("R\n", to: "renegotiation")
        let log = gateway.folder.file("renegotiated")
        let line = "openssl s_client -connect \(gateway.listen) -tls1_2 <renegotiation >\(log) 2>&1"
        let process = try ChildProcess(
            .init(
                program: "/bin/sh",
                arguments: ["-c", "(cat renegotiation; sleep 1) | \(line.replacing(" <renegotiation", with: ""))"],
                environment: ProcessInfo.processInfo.environment,
                folder: gateway.folder.path,
                output: gateway.folder.file("renegotiation.out")
            )
        )
        _ = process.wait(seconds: 20)
        process.kill()
        let told = gateway.text(of: "renegotiated")
        #expect(told.contains("RENEGOTIATING") && told.contains("no renegotiation"), "\(told)")
        // No early data, so that no request can be sent twice by whoever has recorded it.
        let resumed = try Self.client(gateway, ["-tls1_3"])
        #expect(resumed.contains("Max Early Data: 0") || !resumed.contains("Max Early Data"), "\(resumed)")
        #expect(resumed.contains("HTTP/1.1 200 OK"))
    }

    @Test(.enabled(if: hasCurl)) func curlIsServed() throws {
        let (gateway, files) = try Self.gateway()
        try gateway.start()
        let base = "https://\(gateway.listen)"
        let key = ["-H", "Authorization: Bearer \(RunningGateway.readKey)"]
        let answer = try Self.curl(gateway, files, key + [base + "/v1/users/u1/entitlement"])
        #expect(answer.contains("\"status\":\"none\""), "\(answer)")
        // A delivery of just under and one of just over 1 MiB.
        for (bytes, wanted) in [(1_000_000, "200"), (1_100_000, "413")] {
            var event = RevenueCatEvent("large-\(bytes)", user: "u1", purchase: "tx-1")
            event.more = [(key: "filler", value: .string(String(repeating: "x", count: bytes)))]
            try gateway.write(event.body, to: "large.json")
            let status = try Self.curl(
                gateway,
                files,
                ["-o", "answer", "-w", "%{http_code}", "--data-binary", "@large.json"]
                    + ["-H", "Authorization: \(WebhookSigner.authorization)", base + "/v1/webhooks/revenuecat"]
            )
            #expect(status == wanted, "\(gateway.text(of: "answer"))")
        }
        let after = try Self.curl(gateway, files, key + [base + "/v1/users/u1/entitlement"])
        #expect(after.contains("\"entitled\":true"), "\(after)")
        try gateway.stop()
    }

    @Test func plainHTTPIsToldWhereItIs() throws {
        let (gateway, _) = try Self.gateway()
        try gateway.start()
        let answer = try gateway.ask("GET", "/v1/users/u1/entitlement", key: nil)
        #expect(answer.status == 400 && answer.text.contains("HTTPS"))
        #expect(answer.header("Connection") == "close")
    }

    /// A connection that waits costs some KiB more than a plain one, not the 32 KiB of two records.
    @Test func idleEncryptedConnectionsCostLittle() throws {
        let (gateway, _) = try Self.gateway()
        try gateway.start()
        let count = Stress.size(200, full: 2_000)
        let before = GatewayWatch.memory(of: gateway.processNumber)
        let clients = try (0..<count).map { _ in try EncryptedClient(port: gateway.port) }
        for client in clients { #expect(try client.ask("/healthz").hasPrefix("HTTP/1.1 200 OK")) }
        let bytesEach = (GatewayWatch.memory(of: gateway.processNumber) - before) * 1_048_576 / Double(count)
        Stress.tell("\(Int(bytesEach)) bytes an encrypted connection")
        #expect(bytesEach < 40_000)
        try gateway.stop()
    }

    // MARK: - New files

    @Test(.enabled(if: hasCurl, "curl is not installed"))
    func theEndOfTheCertificateIsMeasured() throws {
        let (gateway, files) = try Self.gateway()
        try gateway.start()
        let base = "https://localhost:\(gateway.port)"
        let key = ["-H", "Authorization: Bearer \(RunningGateway.readKey)"]
        func daysLeft(_ files: TestCertificate) throws -> Double {
            let reading = try MetricsReading(try Self.curl(gateway, files, key + [base + "/metrics"]))
            return (reading["gateway_tls_certificate_end_seconds"] - Date().timeIntervalSince1970) / 86_400
        }
        #expect(abs(try daysLeft(files) - 30) < 0.1)
        let new = try TestCertificate("new", in: gateway.folder, days: 90)
        try gateway.write(gateway.text(of: "new.crt"), to: "first.crt")
        try gateway.write(gateway.text(of: "new.key"), to: "first.key")
        gateway.hangUp()
        try Self.eventually { gateway.text(of: "gateway.log").contains("was read again") }
        #expect(abs(try daysLeft(new) - 90) < 0.1)
        try gateway.stop()
    }

    @Test func newFilesAreTakenAndBrokenOnesAreNot() throws {
        let (gateway, files) = try Self.gateway("before")
        try gateway.start()
        #expect(try Self.client(gateway).contains("CN = before"))
        let new = try TestCertificate("after", in: gateway.folder)
        try gateway.write(gateway.text(of: "after.crt"), to: "before.crt")
        // Half of the pair is new: the old pair stays.
        gateway.hangUp()
        try Self.eventually { gateway.text(of: "gateway.log").contains("could not be read again") }
        #expect(gateway.text(of: "gateway.log").contains("not the key of the certificate"))
        #expect(try Self.client(gateway).contains("CN = before"))
        try gateway.write(gateway.text(of: "after.key"), to: "before.key")
        gateway.hangUp()
        try Self.eventually { gateway.text(of: "gateway.log").contains("was read again") }
        try Self.eventually { try Self.client(gateway).contains("CN = after") }
        try gateway.write("broken", to: "before.crt")
        gateway.hangUp()
        try Self.eventually { gateway.text(of: "gateway.log").contains("no certificate in PEM form") }
        #expect(try Self.client(gateway).contains("CN = after"))
        #expect(files.key != new.key)
        try gateway.stop()
    }

    private static func eventually(_ condition: () throws -> Bool) throws {
        for _ in 0..<400 {
            if try condition() { return }
            Thread.sleep(forTimeInterval: 0.025)
        }
        throw GatewayTestError("it did not happen in ten seconds")
    }
}

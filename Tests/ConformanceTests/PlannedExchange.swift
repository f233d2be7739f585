import Foundation
import TestSupport

/// A request ready to be sent, and what its answer is to be compared with.
struct PlannedExchange: Sendable {
    let what: String
    let request: HTTPRequest
    let seconds: Double
    let expect: AnswerExpectation
    let defaultStatus: Int?
    let save: [Saving]
}

/// Turns steps into requests. It reads the case's scope and changes nothing.
struct ExchangePlanner {
    let run: ConformanceRun
    let scope: Scope
    let issuer: FakeIssuer

    func plan(_ step: ReadStep) throws(ConformanceError) -> PlannedExchange {
        let user = try scope.text(.string(step.user))
        var target = "/v1/users/\(Self.percentEncoded(user))/entitlement"
        var separator = "?"
        for (name, value) in step.query {
            target += separator + name + "=" + Self.percentEncoded(try scope.text(value))
            separator = "&"
        }
        let request = HTTPRequest(target: target, headers: try authorization(step.key))
        return PlannedExchange(
            what: "read \(target)",
            request: request,
            seconds: RequestStep.secondsDefault,
            expect: step.expect,
            defaultStatus: nil,
            save: step.save
        )
    }

    func plan(_ step: RequestStep) throws(ConformanceError) -> PlannedExchange {
        let target = try scope.text(.string(step.path))
        var request = HTTPRequest(method: step.method, target: target, headers: try authorization(step.key))
        if let raw = step.raw {
            request.body = Array(try scope.text(.string(raw)).utf8)
        } else if let body = step.body {
            request.body = Array(try scope.expand(body).compact.utf8)
        }
        if request.body != nil { request.set("Content-Type", "application/json") }
        try change(&request, by: step.headers)
        return PlannedExchange(
            what: "\(step.method) \(target)",
            request: request,
            seconds: step.seconds,
            expect: step.expect,
            defaultStatus: nil,
            save: step.save
        )
    }

    func plan(_ step: DeliverStep) throws(ConformanceError) -> PlannedExchange {
        var body = try body(of: step)
        let eventID = try step.eventID.map { value throws(ConformanceError) in try scope.text(value) }
        let made = "msg_" + Digests.hex(Digests.sha256(body)).prefix(24)
        if step.provider == "app_store" { body = try signedByApple(body, step) }
        var pushToken: String?
        if step.provider == "google_play", !step.isUnwrapped {
            (body, pushToken) = try run.google.push(
                body,
                step.mode,
                environment: scope.environment,
                messageID: eventID ?? made,
                claims: step.tokenClaims
            )
        }
        body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, step.padBytes - body.count))
        let target = "/v1/webhooks/" + Self.percentEncoded(step.provider)
        var request = HTTPRequest(
            method: "POST",
            target: target,
            headers: [HTTPHeader("Content-Type", "application/json")],
            body: body
        )
        if let pushToken { request.headers.append(HTTPHeader("Authorization", "Bearer " + pushToken)) }
        request.headers += try signature(of: step, body: body, eventID: eventID ?? made)
        try change(&request, by: step.headers)
        let what = if case .payload(let name) = step.content { name } else { "raw bytes to \(step.provider)" }
        return PlannedExchange(
            what: "deliver \(what)",
            request: request,
            seconds: RequestStep.secondsDefault,
            expect: step.expect,
            defaultStatus: step.defaultStatus,
            save: step.save
        )
    }

    // MARK: Deliveries

    /// The file's own bytes when nothing is changed in them; else the changed JSON without blanks.
    private func body(of step: DeliverStep) throws(ConformanceError) -> [UInt8] {
        switch step.content {
        case .raw(let text): return Array(try scope.text(.string(text)).utf8)
        case .payload(let name):
            let bytes = try run.payload(name)
            guard let document = try? JSONValue(parsing: bytes) else { return bytes }
            var changed = try scope.expand(document)
            for member in step.set.members {
                changed = try JSONPointer(member.key).set(try scope.expand(member.value), in: changed)
            }
            for pointer in step.remove {
                changed = try JSONPointer(pointer).remove(from: changed)
            }
            let isChanged = !step.set.members.isEmpty || !step.remove.isEmpty || changed != document
            return isChanged ? Array(changed.compact.utf8) : bytes
        }
    }

    /// The App Store signs inside the body; raw bytes are sent as they are.
    private func signedByApple(_ body: [UInt8], _ step: DeliverStep) throws(ConformanceError) -> [UInt8] {
        guard case .payload = step.content, let document = try? JSONValue(parsing: body) else { return body }
        return run.apple.body(
            document,
            try step.mode.ofAppStore(),
            nested: try step.nested.map { mode throws(ConformanceError) in try mode.ofAppStore() }
        )
    }

    private func signature(
        of step: DeliverStep,
        body: [UInt8],
        eventID: String
    ) throws(ConformanceError) -> [HTTPHeader] {
        switch (step.provider, step.content) {
        case ("app_store", _): return []
        case ("google_play", _): return []
        default: break
        }
        var webhook = UnsignedWebhook(
            provider: step.provider,
            body: body,
            mode: step.mode,
            environment: scope.environment,
            eventID: eventID
        )
        webhook.secret = try step.secret.map { value throws(ConformanceError) in try scope.text(value) }
        webhook.keyAs = step.keyAs
        if let timestamp = step.timestamp {
            let text = try scope.text(timestamp)
            guard let seconds = Int64(text) else { throw .wrongCase("timestamp: not whole seconds: \(text)") }
            webhook.timestamp = seconds
        }
        return try WebhookSigners.headers(for: webhook)
    }

    // MARK: Headers and paths

    private func authorization(_ key: JSONValue?) throws(ConformanceError) -> [HTTPHeader] {
        guard let key, key != "none" else { return [] }
        let secret =
            switch key {
            case .object: try issuer.token(try scope.expand(key), now: scope.now)
            case "admin": scope.environment["GATEWAY_ADMIN_KEY"] ?? ""
            case "read": scope.environment["GATEWAY_READ_KEY"] ?? ""
            default: try scope.text(key)
            }
        return [HTTPHeader("Authorization", "Bearer " + secret)]
    }

    private func change(_ request: inout HTTPRequest, by headers: JSONObject) throws(ConformanceError) {
        for member in headers.members {
            request.set(member.key, member.value == .null ? nil : try scope.text(member.value))
        }
    }

    /// RFC 3986: everything but the unreserved characters, so that any user id is one part of a path.
    static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                return String(character)
            }
            return "%" + Digests.hex([byte]).uppercased()
        }.joined()
    }
}

import Foundation
import TestSupport

/// Everything that the signature of one webhook delivery depends on.
struct UnsignedWebhook: Sendable {
    let provider: String
    let body: [UInt8]
    let mode: SignMode
    /// The gateway's environment, where the secrets stand.
    let environment: [String: String]
    let eventID: String
    /// Signs instead of the configured ones.
    var secret: String?
    var keyAs = KeyForm.base64
    /// Unix seconds that the signature names instead of now.
    var timestamp: Int64?
}

/// The headers with which each provider signs its webhooks.
enum WebhookSigners {
    /// Older than the tolerance of every scheme, which is 300 seconds.
    private static let staleSeconds: Int64 = 3600

    /// The headers to add. A provider without a scheme here has none.
    static func headers(for webhook: UnsignedWebhook) throws(ConformanceError) -> [HTTPHeader] {
        if case .appStore = webhook.mode {
            throw .wrongCase("\(webhook.provider) is not signed with a certificate chain")
        }
        let isStandard = webhook.provider == "polar" || webhook.provider == "dodo"
        if webhook.mode == .none {
            guard isStandard else { return [] }
            return [HTTPHeader("webhook-id", webhook.eventID), HTTPHeader("webhook-timestamp", "\(webhook.moment)")]
        }
        switch webhook.provider {
        case "revenuecat": return try revenueCat(webhook)
        case "creem": return [try plain(webhook, "creem-signature", "CREEM_WEBHOOK_SECRET")]
        case "lemonsqueezy": return try lemonSqueezy(webhook)
        case "stripe":
            return [try timed(webhook, "Stripe-Signature", "STRIPE_WEBHOOK_SECRET", Form(time: "t", mark: "v1"))]
        case "paddle":
            let form = Form(time: "ts", mark: "h1", between: ";", afterTime: ":")
            return [try timed(webhook, "Paddle-Signature", "PADDLE_WEBHOOK_SECRET", form)]
        case "polar": return try standard(webhook, "POLAR_WEBHOOK_SECRET")
        case "dodo": return try standard(webhook, "DODO_WEBHOOK_SECRET")
        default: return []
        }
    }

    /// How a header with a time in it is written.
    private struct Form {
        var time: String
        var mark: String
        var between = ","
        /// Stands between the time and the body in what is signed.
        var afterTime = "."
    }

    private static func timed(
        _ webhook: UnsignedWebhook,
        _ header: String,
        _ variable: String,
        _ form: Form
    ) throws(ConformanceError) -> HTTPHeader {
        let moment = webhook.moment
        let message = Array("\(moment)\(form.afterTime)".utf8) + (try webhook.signedBody())
        let marks = webhook.secrets(variable).map {
            form.mark + "=" + Digests.hex(Digests.hmacSHA256(key: Array($0.utf8), message))
        }
        return HTTPHeader(header, (["\(form.time)=\(moment)"] + marks).joined(separator: form.between))
    }

    /// One mark in hexadecimal over the body alone; of a rotation only the newest secret can sign.
    private static func plain(
        _ webhook: UnsignedWebhook,
        _ header: String,
        _ variable: String
    ) throws(ConformanceError) -> HTTPHeader {
        guard webhook.mode != .stale else {
            throw .wrongCase("the signature of \(webhook.provider) has no time that could be stale")
        }
        let secret = webhook.secrets(variable).last ?? ""
        return HTTPHeader(
            header,
            Digests.hex(Digests.hmacSHA256(key: Array(secret.utf8), try webhook.signedBody()))
        )
    }

    private static func revenueCat(_ webhook: UnsignedWebhook) throws(ConformanceError) -> [HTTPHeader] {
        var headers: [HTTPHeader] = []
        let hasSecret = webhook.environment["REVENUECAT_WEBHOOK_SECRET"]?.isEmpty == false
        let authorizations = UnsignedWebhook.parts(webhook.environment["REVENUECAT_WEBHOOK_AUTHORIZATION"])
        if var value = webhook.mode == .rotated ? authorizations.last : authorizations.first {
            // With both kinds of proof only the signature is spoiled, so that the case tells which one was looked at.
            if webhook.mode == .bad, !hasSecret {
                value = value.dropLast() + (value.last == "x" ? "y" : "x")
            }
            headers.append(HTTPHeader("Authorization", value))
        }
        if hasSecret || webhook.secret != nil {
            let form = Form(time: "t", mark: "v1")
            headers.append(
                try timed(webhook, "X-RevenueCat-Webhook-Signature", "REVENUECAT_WEBHOOK_SECRET", form)
            )
        }
        return headers
    }

    private static func lemonSqueezy(_ webhook: UnsignedWebhook) throws(ConformanceError) -> [HTTPHeader] {
        var headers = [try plain(webhook, "X-Signature", "LEMONSQUEEZY_WEBHOOK_SECRET")]
        if let name = (try? JSONValue(parsing: webhook.body))?["meta"]?["event_name"]?.string {
            headers.append(HTTPHeader("X-Event-Name", name))
        }
        return headers
    }

    /// Standard Webhooks (https://www.standardwebhooks.com): id, time and body, joined by full stops.
    private static func standard(
        _ webhook: UnsignedWebhook,
        _ variable: String
    ) throws(ConformanceError) -> [HTTPHeader] {
        let moment = webhook.moment
        let message = Array("\(webhook.eventID).\(moment).".utf8) + (try webhook.signedBody())
        let marks = webhook.secrets(variable).map { secret in
            "v1," + Data(Digests.hmacSHA256(key: standardKey(secret, webhook.keyAs), message)).base64EncodedString()
        }
        return [
            HTTPHeader("webhook-id", webhook.eventID), HTTPHeader("webhook-timestamp", "\(moment)"),
            HTTPHeader("webhook-signature", marks.joined(separator: " ")),
        ]
    }

    private static func standardKey(_ secret: String, _ form: KeyForm) -> [UInt8] {
        let prefix = "whsec_"
        let text = secret.hasPrefix(prefix) ? String(secret.dropFirst(prefix.count)) : secret
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard form == .base64, let key = Data(base64Encoded: text + padding) else { return Array(secret.utf8) }
        return Array(key)
    }

    fileprivate static func now(minus seconds: Int64) -> Int64 {
        Int64(Date().timeIntervalSince1970) - seconds
    }

    fileprivate static func seconds(of mode: SignMode) -> Int64 {
        mode == .stale ? staleSeconds : 0
    }
}

extension UnsignedWebhook {
    /// Several secrets stand in one variable, with commas between them.
    static func parts(_ value: String?) -> [String] {
        (value ?? "").split(separator: ",").map(String.init)
    }

    var moment: Int64 {
        timestamp ?? WebhookSigners.now(minus: WebhookSigners.seconds(of: mode))
    }

    /// The secrets that sign. During a rotation: one that the gateway does not know, then the last that it knows.
    func secrets(_ variable: String) -> [String] {
        if let secret { return [secret] }
        let known = Self.parts(environment[variable])
        // A provider that is off is sent a signature all the same, as it would be.
        let first = known.first ?? "not-configured"
        let last = known.last ?? "not-configured"
        switch mode {
        case .rotated: return [Self.wrong(last), last]
        case .bad: return [Self.wrong(first)]
        default: return [first]
        }
    }

    /// What the signature is over: the body, or another text of the same JSON.
    func signedBody() throws(ConformanceError) -> [UInt8] {
        guard mode == .reserialized else { return body }
        guard let document = try? JSONValue(parsing: body) else {
            throw .wrongCase("a body that is no JSON has no other rendering")
        }
        let other = Array(document.indentedAndSorted.utf8)
        guard other != body else { throw .wrongCase("the other rendering has the same bytes") }
        return other
    }

    private static func wrong(_ secret: String) -> String {
        "another-" + String(secret.reversed())
    }
}

public import Crypto
internal import Entitlements
internal import ProviderKit

/// Believes what Apple has signed for one app, and nothing else.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi/jwstransaction (the signed form),
/// https://www.apple.com/certificateauthority/ (the root and the markers).
public struct AppStoreVerifier: Sendable {
    /// The app that payloads must be for.
    public struct App: Sendable {
        public var bundleID: String
        /// The app's number in App Store Connect; payloads of production must carry it.
        public var appAppleID: Int64

        public init(bundleID: String, appAppleID: Int64) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
        }
    }

    /// What a certificate of App Store signing carries…
    static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// …and what the one above it does.
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    let app: App
    private let chains: CertificateChainVerifier

    /// - Throws: When a root cannot be used.
    public init(app: App, roots: [Certificate]) throws(KeyError) {
        self.app = app
        chains = try CertificateChainVerifier(
            roots: roots,
            leafMarker: Self.leafMarker,
            intermediateMarker: Self.intermediateMarker
        )
    }

    /// The content of a signed text. The certificates are judged at the moment the text says it was signed, for Apple
    /// changes them and old notifications stay true; a text that says no moment is judged now.
    ///
    /// - Throws: The same for everything: which check failed is nobody's business outside.
    func content(of text: String, cache: VerifiedSignerCache?, now: UnixMillis) throws(VerificationFailure) -> JSON {
        guard let jws = CompactJWS(text), let x5c = jws.header.x5c,
            let signer = chains.signer(of: x5c, cache: cache), jws.isSigned(by: signer.key, with: .es256),
            let content = JSON(jws.payload), content.object != nil
        else { throw .badSignature }
        let dates = [content["signedDate"], content["receiptCreationDate"]]
        let moment = dates.lazy.compactMap { $0?.integer }.first ?? now.value
        guard signer.isValid(atMillis: moment) else { throw .badSignature }
        return content
    }

    // MARK: - Notifications

    /// A notification with what is signed inside it opened: `signedTransactionInfo` becomes `transaction`,
    /// `signedRenewalInfo` `renewalInfo`, `signedAppTransactionInfo` `appTransaction`. Each is checked by itself, must be of
    /// the same app and environment as what is round it, and of the same purchase as its neighbour.
    func notification(
        in body: [UInt8],
        cache: VerifiedSignerCache?,
        now: UnixMillis
    ) throws(VerificationFailure) -> JSON {
        guard let text = JSON(body)?["signedPayload"]?.string else { throw .unsigned }
        guard case .object(var notification) = try content(of: text, cache: cache, now: now),
            notification["notificationType"] != nil
        else { throw .badSignature }
        var isForThisApp = false
        for (name, part) in notification {
            guard case .object(var members) = part, members["bundleId"] != nil else { continue }
            try check(members, isToken: name == "externalPurchaseToken")
            isForThisApp = true
            for (signed, opened) in Self.signedParts {
                // Only what was opened here may stand under its name.
                members[opened] = nil
                guard let inner = members.removeValue(forKey: signed)?.string else { continue }
                members[opened] = try content(of: inner, cache: cache, now: now)
            }
            try checkAgreement(members)
            notification[name] = .object(members)
        }
        guard isForThisApp else { throw .badSignature }
        notification[Self.submissionName] = nil
        notification[AppStoreReading.name] = nil
        return .object(notification)
    }

    /// What stands for a notification when an app hands in a transaction itself.
    static let submissionName = "submission"

    private static let signedParts = [
        "signedTransactionInfo": "transaction", "signedRenewalInfo": "renewalInfo",
        "signedAppTransactionInfo": "appTransaction",
    ]

    func check(_ members: [String: JSON], isToken: Bool) throws(VerificationFailure) {
        guard members["bundleId"]?.string == app.bundleID else { throw .badSignature }
        var environment = members["environment"]?.string
        if isToken, environment == nil {
            // A token names no environment but in its own id.
            let isSandbox = members["externalPurchaseId"]?.string?.hasPrefix("SANDBOX") ?? false
            environment = isSandbox ? "Sandbox" : "Production"
        }
        // Xcode and its tests sign with keys of everyone.
        guard environment != "Xcode", environment != "LocalTesting" else { throw .badSignature }
        // The sandbox leaves the number out; another app's is another app's there, too.
        if environment == "Production" || members["appAppleId"] != nil {
            guard members["appAppleId"]?.integer == app.appAppleID else { throw .badSignature }
        }
    }

    private func checkAgreement(_ members: [String: JSON]) throws(VerificationFailure) {
        let environment = members["environment"]
        let (transaction, renewal) = (members["transaction"], members["renewalInfo"])
        if let transaction {
            guard transaction["bundleId"]?.string == app.bundleID, transaction["environment"] == environment else {
                throw .badSignature
            }
        }
        if let renewal {
            guard renewal["environment"] == environment else { throw .badSignature }
            if let transaction, renewal["originalTransactionId"] != transaction["originalTransactionId"] {
                throw .badSignature
            }
        }
        if let inner = members["appTransaction"] {
            guard inner["bundleId"]?.string == app.bundleID, inner["receiptType"] == environment else {
                throw .badSignature
            }
        }
    }

    // MARK: - Submissions

    /// A transaction that an app hands in, with the renewal information if it has it.
    func submission(
        transaction: String,
        renewalInfo: String?,
        cache: VerifiedSignerCache?,
        now: UnixMillis
    ) throws(VerificationFailure) -> JSON {
        let opened = try content(of: transaction, cache: cache, now: now)
        guard opened["bundleId"]?.string == app.bundleID, let environment = opened["environment"]?.string,
            environment == "Production" || environment == "Sandbox"
        else { throw .badSignature }
        var members: [String: JSON] = ["environment": .string(environment), "transaction": opened]
        if let renewalInfo { members["renewalInfo"] = try content(of: renewalInfo, cache: cache, now: now) }
        try checkAgreement(members)
        return .object([Self.submissionName: .object(members)])
    }
}

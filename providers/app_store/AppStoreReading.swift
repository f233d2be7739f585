internal import Crypto
internal import Entitlements
internal import ProviderKit

/// What the App Store Server API answered about one purchase, opened and checked: the event that is recorded.
///
/// As a document it is `{"reading": {"environment", "status"?, "transaction", "renewalInfo"?}}`. It is as old as what was signed
/// last in it, less the five seconds within which a notification is believed before it (rule 8).
struct AppStoreReading {
    typealias Failure = AppStoreFields.Failure

    static let name = "reading"

    private let document: JSON

    init(_ document: JSON) {
        self.document = document
    }

    /// - Parameter status: How the subscription stands; nil for something that was bought once.
    init(environment: String, status: Int64?, transaction: JSON, renewalInfo: JSON?) {
        var members: [String: JSON] = ["environment": .string(environment), "transaction": transaction]
        members["status"] = status.map { .integer($0) }
        members["renewalInfo"] = renewalInfo
        document = .object(members)
    }

    var body: [UInt8] { JSON.object([Self.name: document]).bytes }

    /// Whether it is about the purchase of this transaction.
    func isOf(_ id: String) -> Bool {
        let transaction = document["transaction"]
        return transaction?["originalTransactionId"]?.string == id || transaction?["transactionId"]?.string == id
    }

    func translate(into event: inout NormalizedEvent) throws(Failure) {
        let fields = AppStoreFields(value: document, place: "/" + Self.name)
        let status = try fields.number("status")
        event.type = status == nil ? "api.transaction" : "api.subscription"
        guard let environment = AppStoreNotification.environment(document["environment"]) else {
            throw Failure(reason: "\(fields.place)/environment is neither Production nor Sandbox")
        }
        event.environment = environment
        let signed = try fields.required("transaction", try fields.object("transaction"))
        let renewal = try fields.object("renewalInfo")
        let transaction = try AppStoreTransaction(signed, renewal: renewal)
        let signedAt = try signed.required("signedDate", try signed.time("signedDate"))
        let toldAt = max(signedAt, try renewal?.time("signedDate") ?? signedAt)
        event.occurredAt = toldAt
        let digest = Hex.encode(Array(Digest.sha256(document.bytes).prefix(12)))
        event.eventID = "api:\(digest):\(toldAt.value)"
        let moment = toldAt.adding(millis: -AppStoreAPI.deliveryWinsMillis)
        var standing = AppStoreStanding.active(tellsOfPayment: true)
        if let status {
            guard let known = AppStoreStanding(status: status) else {
                event.verdict = .observed("status \(status) is not known")
                return
            }
            standing = known
        }
        var facts: [Fact] = [.state(try transaction.state(standing, at: moment))]
        if let change = try adjustment(of: transaction, status, moment) { facts.append(.adjustment(change)) }
        event.effects = try AppStoreAdapter.effects(of: transaction, facts, environment, at: moment)
    }

    /// What was taken back; and that nothing was, where Apple says that it is paid for.
    private func adjustment(
        of transaction: AppStoreTransaction,
        _ status: Int64?,
        _ moment: UnixMillis
    ) throws(Failure) -> Adjustment? {
        // A subscription that goes on does so whatever was paid back of it.
        let goesOn = status == 1 || status == 3 || status == 4
        if !goesOn, let taken = try transaction.revocation(status == 5 ? .whole : nil, at: moment) { return taken }
        let isTakenBack = try transaction.fields.time("revocationDate") != nil
        guard !isTakenBack, status == nil || status == 1 || status == 4 else { return nil }
        return transaction.reversal(at: moment.adding(millis: -Self.silenceMillis))
    }

    /// What Apple does not say of a refund counts as an hour old: not all of its servers know of one at once, and a
    /// notification of the last hour is believed before their silence.
    private static let silenceMillis: Int64 = 3_600_000
}

extension AppStoreStanding {
    /// Apple's own answer; nil for one that nobody knows yet.
    ///
    /// Source: https://developer.apple.com/documentation/appstoreserverapi/status
    init?(status: Int64) {
        switch status {
        case 1: self = .active(tellsOfPayment: true)
        case 2: self = .expired
        case 3: self = .retrying
        case 4: self = .grace
        // What is taken back is told beside it.
        case 5: self = .active(tellsOfPayment: false)
        default: return nil
        }
    }
}

extension AppStoreVerifier {
    /// The answer of Get All Subscription Statuses: of each subscription its newest transaction and what is known of its renewal.
    ///
    /// - Parameter now: Apple's moment of the answer; what names no moment of its own is judged by it, or not at all.
    func statuses(
        in body: JSON?,
        _ signers: VerifiedSignerCache,
        now: UnixMillis?
    ) throws(VerificationFailure) -> [AppStoreReading] {
        guard let members = body?.object, let groups = members["data"]?.array else { throw .badSignature }
        // Nobody has signed what is round the transactions. Another app's answer is refused all the same, and told apart
        // from a mistake of ours.
        for (name, own) in [("bundleId", JSON.string(app.bundleID)), ("appAppleId", .integer(app.appAppleID))] {
            guard members[name].map({ $0.isNull || $0 == own }) ?? true else { throw .badSignature }
        }
        let environment = members["environment"]?.string
        var readings: [AppStoreReading] = []
        for group in groups {
            for item in group["lastTransactions"]?.array ?? [] {
                guard let text = item["signedTransactionInfo"]?.string, let status = item["status"]?.integer else {
                    throw .badSignature
                }
                let reading = try opened(text, item["signedRenewalInfo"]?.string, environment, status, signers, now)
                // What is said of one purchase must be signed of the same.
                guard item["originalTransactionId"]?.string.map(reading.isOf) ?? true else { throw .badSignature }
                readings.append(reading)
            }
        }
        return readings
    }

    /// The answer of Get Transaction Info.
    func transaction(
        in body: JSON?,
        _ signers: VerifiedSignerCache,
        now: UnixMillis?
    ) throws(VerificationFailure) -> AppStoreReading {
        guard let text = body?["signedTransactionInfo"]?.string else { throw .badSignature }
        return try opened(text, nil, nil, nil, signers, now)
    }

    private func opened(
        _ text: String,
        _ renewalText: String?,
        _ environment: String?,
        _ status: Int64?,
        _ signers: VerifiedSignerCache,
        _ now: UnixMillis?
    ) throws(VerificationFailure) -> AppStoreReading {
        let document = try submission(
            transaction: text,
            renewalInfo: renewalText,
            cache: signers,
            now: now ?? UnixMillis(0)
        )
        guard let members = document[Self.submissionName], let transaction = members["transaction"],
            let signedFor = members["environment"]?.string, environment == nil || signedFor == environment
        else { throw .badSignature }
        return AppStoreReading(
            environment: signedFor,
            status: status,
            transaction: transaction,
            renewalInfo: members["renewalInfo"]
        )
    }
}

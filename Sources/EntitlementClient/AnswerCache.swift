internal import Foundation

/// The last answer, kept over restarts so that an app opens without a network.
///
/// It counts for the account that it was given to, until the earlier of the end of access and `daysMax` after it was given:
/// a purchase "for life" may be refunded, and a device that never asks again would not hear of it.
struct AnswerCache: Sendable {
    static let daysMax = 14.0
    /// Clocks are a little apart; more than this is a clock that was turned back.
    private static let clockSeconds = 86_400.0

    private struct Entry: Codable {
        var account: String
        var gateway: String
        var asked: String
        var answer: EntitlementAnswer
        var givenAt: Date
    }

    private let file: PrivateFile
    private let gateway: String
    /// Entitlement and environment that were asked for.
    private let asked: String

    init(_ url: URL, gateway: URL, asked: String) {
        file = PrivateFile(url)
        self.gateway = gateway.absoluteString
        self.asked = asked
    }

    /// What was told to `account` and still holds.
    func answer(for account: String, now: Date) -> EntitlementAnswer? {
        guard let entry = file.read(Entry.self), entry.account == account, entry.gateway == gateway,
            entry.asked == asked
        else { return nil }
        let age = now.timeIntervalSince(entry.givenAt)
        guard age > -Self.clockSeconds, age < Self.daysMax * 86_400, entry.answer.isEntitled(at: now) else {
            return nil
        }
        return entry.answer
    }

    /// A no is not kept: it is cheaper to ask than to lock out somebody who has just paid.
    func keep(_ answer: EntitlementAnswer, for account: String, now: Date) {
        guard answer.isEntitled(at: now) else { return file.remove() }
        // Without the cache the app asks at its next start, and that is all.
        try? file.write(Entry(account: account, gateway: gateway, asked: asked, answer: answer, givenAt: now))
    }

    func forget() {
        file.remove()
    }
}

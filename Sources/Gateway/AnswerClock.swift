internal import Entitlements
internal import ProviderKit

/// Keeps answers of one API in the order in which they came: a provider tells its time in whole seconds, and of two answers
/// in one second the later one is newer.
struct AnswerClock {
    private var second: UnixMillis?
    private var count: Int64 = 0

    /// The last millisecond that is still within what the provider told.
    private static let countMax: Int64 = 999

    mutating func dated(_ answer: APIAnswer) -> APIAnswer {
        guard let at = answer.at else { return answer }
        if at == second {
            count = min(count + 1, Self.countMax)
        } else {
            (second, count) = (at, 0)
        }
        var answer = answer
        answer.at = at.adding(millis: count)
        return answer
    }
}

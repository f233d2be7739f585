internal import Platform
internal import Testing

@testable internal import Gateway

/// How fast a provider is asked, and when not at all.
@Suite struct RequestPaceTests {
    private static let start = MonotonicNanos(value: 1_000_000_000_000)

    @Test func aPauseThatWasAskedForIsKeptWhateverElseIsAnswered() {
        var pace = RequestPace(perMinute: 600)
        #expect(!pace.isResting(Self.start))
        pace.rest(until: Self.start.adding(seconds: 120))
        pace.succeeded()
        #expect(pace.isResting(Self.start.adding(seconds: 119)))
        pace.rest(until: Self.start.adding(seconds: 60))
        #expect(pace.isResting(Self.start.adding(seconds: 119)), "a shorter one does not end it")
        #expect(!pace.isResting(Self.start.adding(seconds: 121)))
    }

    @Test func severalFailuresInARowAreAReasonToRest() {
        var pace = RequestPace(perMinute: 600)
        for _ in 1..<RequestPace.failuresMax { pace.failed(Self.start) }
        #expect(!pace.isResting(Self.start))
        pace.failed(Self.start)
        #expect(pace.isResting(Self.start))
        pace.succeeded()
        #expect(!pace.isResting(Self.start))
    }
}

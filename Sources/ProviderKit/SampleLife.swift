public import Entitlements

/// Which samples of a provider, one after the other, are the whole life of a subscription (`life.json`).
public struct SampleLife: Sendable {
    /// The stages of every life, in order.
    public static let stages = ["checkout", "active", "renewed", "past_due", "recovered", "cancelled", "expired"]

    public struct Step: Sendable {
        public var name: String
        public var events: [Event]
    }

    public struct Event: Sendable {
        public var sample: String
        /// The sample was written for an earlier period: everything in it happens so many days later.
        public var laterDays: Int64
    }

    public var steps: [Step]

    /// - Throws: `ManifestError` with the place of the first thing that cannot be read.
    public init(json bytes: [UInt8], file: String) throws(ManifestError) {
        let reader = ManifestReader(file: file)
        if let mistake = JSONSyntax.mistake(in: bytes) { throw reader.fail("", "JSON", mistake.description) }
        var root = try reader.node(JSON(bytes), "")
        var steps: [Step] = []
        for name in Self.stages {
            guard let list = try reader.list(&root, name, of: "samples") else {
                throw reader.fail(
                    root.place(name),
                    "a list of samples",
                    "the stages are \(Self.stages.joined(separator: ", "))"
                )
            }
            var events: [Event] = []
            for (index, element) in list.enumerated() {
                events.append(try Self.event(element, "\(root.place(name))/\(index)", reader))
            }
            steps.append(Step(name: name, events: events))
        }
        try reader.done(root)
        self.steps = steps
    }

    private static func event(
        _ json: JSON,
        _ place: String,
        _ reader: ManifestReader
    ) throws(ManifestError) -> Event {
        if let sample = json.string { return Event(sample: sample, laterDays: 0) }
        var node = try reader.node(json, place)
        let sample = try reader.requiredText(&node, "sample", "the name of a sample")
        guard let days = node.take("later_days")?.wholeNumber, days > 0, days < 3650 else {
            throw reader.fail(node.place("later_days"), "a number of days")
        }
        try reader.done(node)
        return Event(sample: sample, laterDays: days)
    }
}

/// Tells a life whose months lie within the last seconds: what has happened is moved close together, in its order; what is still
/// to come keeps its distance. So a gateway with a real clock answers at every step as it would in a real life.
public struct SampleLifeTeller: Sendable {
    private let adapter: any ProviderAdapter
    private let samples: [String: [UInt8]]
    /// The story's moments told so far, and when they were told.
    private var told: [(story: Int64, real: Int64)] = []

    /// Moments this near to an event's belong to it: a period begins with the event that tells of it.
    private static let nearMillis = UnixMillis.millisPerDay
    /// Times of a story lie within this of its events; other numbers are no times.
    private static let spanMillis = 20 * 365 * UnixMillis.millisPerDay

    public init(adapter: any ProviderAdapter, samples: [String: [UInt8]]) {
        self.adapter = adapter
        self.samples = samples
    }

    /// The event's body, made out to a person, happening at `moment`; nil for a sample that is not there or has no time.
    ///
    /// - Parameter moment: Later than every moment told before.
    public mutating func body(
        of event: SampleLife.Event,
        to recipient: SampleRecipient,
        at moment: UnixMillis
    ) -> [UInt8]? {
        guard let sample = samples[event.sample], let document = JSON(sample),
            let happened = adapter.normalize(.sample(sample)).occurredAt
        else { return nil }
        let shift = event.laterDays * UnixMillis.millisPerDay
        told.append((story: happened.value + shift, real: moment.value))
        let moved = document.movingTimes { time in
            guard abs(time.value - happened.value) < Self.spanMillis else { return nil }
            if time == happened { return moment }
            return UnixMillis(real(time.value + shift))
        }
        return adapter.readdress(moved, to: recipient).bytes
    }

    private func real(_ story: Int64) -> Int64 {
        if let near = told.first(where: { abs($0.story - story) <= Self.nearMillis }) { return near.real }
        guard let first = told.first, let last = told.last else { return story }
        if story > last.story { return last.real + (story - last.story) }
        if story < first.story { return first.real - (first.story - story) }
        // Between two that were told: in the same proportion between their times.
        for (before, after) in zip(told, told.dropFirst()) where story <= after.story && story >= before.story {
            let share = Double(story - before.story) / Double(max(1, after.story - before.story))
            return before.real + Int64(share * Double(after.real - before.real))
        }
        return last.real
    }
}

import TestSupport

/// One step of a case, as written: placeholders are still in it.
struct CaseStep: Sendable {
    indirect enum Action: Sendable {
        case deliver(DeliverStep)
        case permute([DeliverStep], reads: [ReadStep])
        case read(ReadStep)
        case request(RequestStep)
        case restart(HowToStop)
        case setEnvironment(JSONObject)
        case together([CaseStep])
        case command(CommandStep)
        case lockDatabase(Bool)
        case wait(seconds: Double)
        case verifyToken(VerifyTokenStep)
        /// Other answers of the fake services, and how often they must have been asked.
        case answers(google: JSONObject, apis: JSONObject, calls: JSONObject)
    }

    enum HowToStop: String, Sendable {
        case term
        case kill
    }

    let action: Action
    /// The step must have ended after this many seconds.
    let withinSeconds: Double?

    init(_ document: JSONValue, at place: String) throws(ConformanceError) {
        var reader = try ObjectReader(document, at: place)
        withinSeconds = try reader.number("within")
        action = try Self.action(&reader)
        try reader.finish()
    }

    /// A read may have a key `wait` too, so the order of the questions matters.
    private static func action(_ reader: inout ObjectReader) throws(ConformanceError) -> Action {
        if reader.has("deliver") || reader.has("raw") { return .deliver(try DeliverStep(&reader)) }
        if reader.has("read") { return .read(try ReadStep(&reader)) }
        if let documents = try reader.array("permute") { return try permute(documents, &reader) }
        if reader.has("request") { return .request(try RequestStep(&reader)) }
        if reader.has("restart") { return .restart(try howToStop(&reader)) }
        if let changes = try reader.object("set_env") { return .setEnvironment(changes) }
        if let documents = try reader.array("together") { return try together(documents, &reader) }
        if reader.has("command") { return .command(try CommandStep(&reader)) }
        if let lock = try reader.bool("lock_database") { return .lockDatabase(lock) }
        if let seconds = try reader.number("wait") { return .wait(seconds: seconds) }
        if reader.has("verify_token") { return .verifyToken(try VerifyTokenStep(&reader)) }
        if reader.has("google") || reader.has("apis") { return try answers(&reader) }
        throw .wrongCase("\(reader.place): no known kind of step")
    }

    private static func permute(
        _ documents: [JSONValue],
        _ reader: inout ObjectReader
    ) throws(ConformanceError) -> Action {
        // Five deliveries have 120 orders, each with a gateway of its own; six would have 720.
        guard (2...5).contains(documents.count) else {
            throw .wrongCase("\(reader.place): permute takes 2 to 5 deliveries")
        }
        var deliveries: [DeliverStep] = []
        for step in try CaseStep.list(documents, at: "\(reader.place), delivery") {
            guard case .deliver(let delivery) = step.action, step.withinSeconds == nil else {
                throw .wrongCase("\(reader.place): permute takes deliveries only")
            }
            deliveries.append(delivery)
        }
        var reads: [ReadStep] = []
        for step in try CaseStep.list(try reader.array("reads") ?? [], at: "\(reader.place), read") {
            guard case .read(let read) = step.action, step.withinSeconds == nil else {
                throw .wrongCase("\(reader.place): reads takes reads only")
            }
            reads.append(read)
        }
        return .permute(deliveries, reads: reads)
    }

    private static func together(
        _ documents: [JSONValue],
        _ reader: inout ObjectReader
    ) throws(ConformanceError) -> Action {
        let steps = try CaseStep.list(documents, at: "\(reader.place), part")
        for step in steps {
            switch step.action {
            case .deliver(let delivery) where delivery.again == 0: continue
            case .read, .request: continue
            default: throw .wrongCase("\(reader.place): together takes deliver, read and request steps only")
            }
        }
        return .together(steps)
    }

    private static func howToStop(_ reader: inout ObjectReader) throws(ConformanceError) -> HowToStop {
        let named = reader.value("restart")?.string
        let text = try reader.string("how") ?? named ?? "term"
        guard let how = HowToStop(rawValue: text) else {
            throw .wrongCase("\(reader.place): how is term or kill, not \(text)")
        }
        return how
    }

    private static func answers(_ reader: inout ObjectReader) throws(ConformanceError) -> Action {
        let google = try reader.object("google") ?? JSONObject()
        let apis = try reader.object("apis") ?? JSONObject()
        var calls = JSONObject()
        if case .object(let wanted)? = try reader.object("expect")?["calls"] { calls = wanted }
        return .answers(google: google, apis: apis, calls: calls)
    }
}

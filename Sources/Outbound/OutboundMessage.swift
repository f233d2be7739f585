/// A request to somebody else's server.
public struct OutboundRequest: Sendable {
    public var method: String
    /// The whole address; `https`, or `http` for tests and for services on the same machine.
    public var url: String
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]?
    /// From the first byte sent to the last byte read, in milliseconds.
    public var deadlineMillis: Int
    /// A longer answer is given up.
    public var answerBytesMax: Int
    /// Only the status and the headers count: what happens to the body after them does not matter.
    public var ignoresBody: Bool

    public init(
        _ method: String,
        _ url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        deadlineMillis: Int = 10_000,
        answerBytesMax: Int = OutboundClient.answerBytesMax,
        ignoresBody: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.deadlineMillis = deadlineMillis
        self.answerBytesMax = answerBytesMax
        self.ignoresBody = ignoresBody
    }
}

/// What the other server answered, whole.
public struct OutboundAnswer: Sendable {
    public var status: Int
    private var fields: [String: String]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        fields = [:]
        for header in headers { fields[header.name.lowercased()] = header.value }
        self.body = body
    }

    /// The value of a header, by its name in any case.
    public func header(_ name: String) -> String? {
        fields[name.lowercased()]
    }
}

/// Why there is no answer. A status of 500 is an answer; this is not.
public enum OutboundFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case notAnAddress
    /// The time for the whole exchange is over.
    case tooLate
    /// More bytes than anyone has a reason to send.
    case tooLong
    /// The body ended before its stated length, the connection broke, the name is not known, the certificate is not good.
    case interrupted(String)
    /// The client was stopped.
    case stopped

    public var description: String {
        switch self {
        case .notAnAddress: "the address cannot be used"
        case .tooLate: "no whole answer within the time allowed"
        case .tooLong: "the answer is too long"
        case .interrupted(let reason): reason
        case .stopped: "stopped"
        }
    }
}

/// A request as it is to stand on the wire: nothing is added but `Host` and, for a body, `Content-Length`.
public struct HTTPRequest: Sendable {
    public var method: String
    /// Sent as it is: no encoding, no check.
    public var target: String
    /// Sent in this order with these names.
    public var headers: [HTTPHeader]
    public var body: [UInt8]?

    public init(method: String = "GET", target: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// Sets a header in the place of those of the same name; nil takes them away.
    public mutating func set(_ name: String, _ value: String?) {
        headers.removeAll { $0.isNamed(name) }
        if let value { headers.append(HTTPHeader(name, value)) }
    }
}

public struct HTTPHeader: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Names of headers are the same in any case (RFC 9110, section 5.1).
    public func isNamed(_ other: String) -> Bool {
        name.lowercased() == other.lowercased()
    }
}

public struct HTTPAnswer: Sendable {
    public let status: Int
    public let headers: [HTTPHeader]
    public let body: [UInt8]

    public init(status: Int, headers: [HTTPHeader], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The header's value; several of one name are joined by commas (RFC 9110, section 5.3).
    public func header(_ name: String) -> String? {
        let values = headers.filter { $0.isNamed(name) }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    public var text: String {
        String(decoding: body, as: UTF8.self)
    }

    public func json() throws(JSONSyntaxError) -> JSONValue {
        try JSONValue(parsing: body)
    }
}

public import Crypto
public import Entitlements

/// Something that may be asked of a provider's API, with the id the provider knows it by.
public enum APIQuestion: Hashable, Sendable {
    /// Everything a customer, or a user the provider knows by our id, has bought.
    case customer(String)
    case purchase(ExternalID)
    /// What an authentic delivery says has changed: the event's id, and the body.
    case delivery(id: String, body: [UInt8])
    /// No question: something that is to be sent, and whether it was taken.
    case send(APIRequest)
    /// One page of a list of what has happened.
    case page(APIListPage)
}

/// One request of a reading; a GET unless it has a body.
public struct APIRequest: Hashable, Sendable {
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    public var method: Method
    /// Below the API's base address, with what must be percent-encoded encoded.
    public var path: String
    /// The project's own settings (products, names): they change seldom, and their answer may be used again for minutes.
    public var isSettings: Bool
    /// The body; nil for a GET.
    public var json: String?
    /// For a provider that keeps test purchases at an address of their own: it goes there.
    public var isSandbox: Bool

    /// - Parameter method: Nil: a POST when there is a body, else a GET.
    public init(
        _ path: String,
        isSettings: Bool = false,
        json: String? = nil,
        method: Method? = nil,
        isSandbox: Bool = false
    ) {
        self.path = path
        self.isSettings = isSettings
        self.json = json
        self.method = method ?? (json == nil ? .get : .post)
        self.isSandbox = isSandbox
    }

    private static let sandboxWord = "sandbox"

    /// What a request that is kept to be sent is known by: its path, and before it what is not as usual.
    public var key: String {
        ((isSandbox ? [Self.sandboxWord] : []) + (method == .post ? [] : [method.rawValue]) + [path])
            .joined(separator: " ")
    }

    /// A request that was kept.
    public init(key: String, json: String) {
        // A path has no spaces.
        let words = key.split(separator: " ").map(String.init)
        self.init(
            words.last ?? "",
            json: json,
            method: words.lazy.compactMap(Method.init(rawValue:)).first ?? .post,
            isSandbox: words.count > 1 && words[0] == Self.sandboxWord
        )
    }

    /// A piece of a path or query in which nothing has a meaning of its own (RFC 3986 section 2.3).
    public static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return encoded
    }
}

/// A request for an access token that is good for a while (RFC 6749 section 4.5, RFC 7523).
public struct APICredentialExchange: Sendable {
    public var url: String
    /// The body, as forms are sent.
    public var form: String

    public init(url: String, form: String) {
        self.url = url
        self.form = form
    }
}

/// An access token that credentials sign themselves.
public struct APIToken: Sendable {
    public var value: String
    /// How long it is good for.
    public var seconds: Int64

    public init(value: String, seconds: Int64) {
        self.value = value
        self.seconds = seconds
    }
}

/// What the API answered to one request.
public struct APIAnswer: Sendable {
    public var status: Int
    public var body: JSON?
    /// The moment of the answer by the provider's own clock, rounded down to what it tells (RFC 9110 section 6.6.1); nil
    /// when it tells none.
    public var at: UnixMillis?
    /// `Retry-After` where it is a number: seconds (RFC 9110 section 10.2.3), unless the provider means something else.
    public var retryAfterSeconds: Int64?

    public init(status: Int, body: JSON?, at: UnixMillis?, retryAfterSeconds: Int64? = nil) {
        self.status = status
        self.body = body
        self.at = at
        self.retryAfterSeconds = retryAfterSeconds
    }
}

/// Where a reading has come to.
public enum APIStep: Sendable {
    /// These must be answered, too.
    case ask([APIRequest])
    /// All was read, and this is what it says.
    case done(APIReading)
    /// Nothing may be concluded.
    case failed(APIFailure)
}

/// What a finished reading came to.
public struct APIReading: Sendable {
    /// None: the provider knows nothing.
    public var events: [APIEvent]
    /// What is to be done once the events are on the disk.
    public var followUps: [APIFollowUp]
    /// Of a list: where the next page begins; nil after the last one.
    public var nextPage: String?

    public init(_ events: [APIEvent] = [], followUps: [APIFollowUp] = [], nextPage: String? = nil) {
        self.events = events
        self.followUps = followUps
        self.nextPage = nextPage
    }

    /// Events of which there is nothing to read again.
    public init(events: [NormalizedEvent]) {
        self.init(events.map { APIEvent($0) })
    }
}

/// One event that a reading came to.
public struct APIEvent: Sendable {
    public var event: NormalizedEvent
    /// Its body without personal data, where it can be read again.
    public var payload: [UInt8]?

    public init(_ event: NormalizedEvent, payload: [UInt8]? = nil) {
        self.event = event
        self.payload = payload
    }
}

/// What follows from a reading, and must not be forgotten.
public enum APIFollowUp: Hashable, Sendable {
    /// A purchase that somebody loses if it is never sent.
    case acknowledge(APIRequest)
    /// Something the provider is told; nobody loses anything without it.
    case tell(APIRequest)
    /// Something has changed, as a delivery would say it.
    case read(id: String, body: [UInt8])
}

/// Why a reading came to nothing. Never a reason to take anything away from anybody.
public enum APIFailure: Error, Hashable, Sendable {
    /// Busy, down or unreachable: the same question may be asked again, after this many milliseconds where it is told.
    case passing(String, retryAfterMillis: Int64?)
    /// The credentials are not accepted; asking again is of no use until somebody changes them.
    case refused(String)
    /// An answer that cannot be understood.
    case notUnderstood(String)
}

/// A provider's API, for reading what webhooks have not told. Knows no network and reads no clock: it says what to ask,
/// and what the answers come to.
public protocol ProviderAPI: Sendable {
    var provider: ProviderID { get }
    /// The base address without a slash at its end.
    var base: String { get }
    /// The headers that every request carries, credentials among them.
    var headers: [(name: String, value: String)] { get }
    /// How many requests a minute the gateway allows itself: below what the provider publishes.
    var requestsPerMinute: Int { get }
    /// Lists of what has happened, each read from where it was read last.
    var lists: [APIList] { get }

    /// How an access token is got, for an API that wants one beside `headers`; nil for others.
    ///
    /// - Throws: When the credentials cannot sign.
    func exchange(at now: UnixMillis) throws(KeyError) -> APICredentialExchange?

    /// The access token, for an API that believes what the credentials sign; nil for others.
    ///
    /// - Throws: When the credentials cannot sign.
    func token(at now: UnixMillis) throws(KeyError) -> APIToken?

    /// Whether this is where the question is asked: a provider may have an address for each environment.
    func takes(_ question: APIQuestion) -> Bool

    func questions(about person: KnownPerson) -> [APIQuestion]

    /// What is to be done next, from everything that was answered so far.
    func next(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) -> APIStep

    /// Why an answer is of no use; nil for one that says something.
    func failure(of answer: APIAnswer) -> APIFailure?
}

extension ProviderAPI {
    public var lists: [APIList] { [] }

    public func exchange(at now: UnixMillis) throws(KeyError) -> APICredentialExchange? { nil }

    public func token(at now: UnixMillis) throws(KeyError) -> APIToken? { nil }

    public func takes(_ question: APIQuestion) -> Bool { true }

    public func failure(of answer: APIAnswer) -> APIFailure? { failure(of: answer, retryAfterMillis: nil) }

    /// A state read from an API is as old as the answer, and within five seconds a delivery is believed before it (rule 8).
    public static var deliveryWinsMillis: Int64 { 5000 }

    /// The failure that a status other than the expected one stands for; nil for 2xx and for 404, which is an answer.
    public func failure(of answer: APIAnswer, retryAfterMillis: Int64?) -> APIFailure? {
        switch answer.status {
        case 200..<300, 404: nil
        case 401, 403: .refused("\(provider.name) does not accept the API key (\(answer.status))")
        case 423, 429:
            .passing(
                "\(provider.name) is busy (\(answer.status))",
                retryAfterMillis: retryAfterMillis ?? answer.retryAfterSeconds.map { min($0, Int64.max / 1000) * 1000 }
            )
        case 408, 500...: .passing("\(provider.name) answered \(answer.status)", retryAfterMillis: retryAfterMillis)
        default: .notUnderstood("\(provider.name) answered \(answer.status)")
        }
    }
}

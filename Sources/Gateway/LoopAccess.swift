internal import Entitlements
internal import HTTPServer
internal import Licensing
internal import Platform

/// What one loop keeps about those who ask without a key of the seller.
struct LoopAccess {
    var tokens: UserTokenVerifier
    /// Tokens of those who push notifications.
    var pushTokens = UserTokenVerifier([])
    var parkedPushes: [ParkedPush] = []
    var signing: SigningKeyFile
    /// Wrong licence keys, by client address.
    var wrongKeys = GuessLimiter()
    /// Devices without a seat, by licence: a key that was published is asked for by the whole world.
    var strangers = GuessLimiter(atOnce: 120)
    /// People who had the providers looked at for themselves: an API's pace is everybody's.
    var ownSyncs = GuessLimiter(atOnce: 5)
    /// The same for purchases that they handed in…
    var ownPurchases = GuessLimiter()
    /// …and for offers that were signed for them.
    var ownOffers = GuessLimiter()
    var sightings = SeatSightings()
    /// Requests whose token waits for its issuer's keys.
    var parked: [ParkedCall] = []
    /// The web page that the present request comes from, when it may read the answer.
    var origin: [UInt8]?
    /// The same for requests that wait.
    var origins: [ReplyTicket: [UInt8]] = [:]
}

/// A request of a signed-in person, copied to be taken up again.
struct ParkedCall {
    var ticket: ReplyTicket
    var issuer: Int
    var token: [UInt8]
    var action: UserAction
    var query: [UInt8]
    var ifNoneMatch: [UInt8]?
    var body: [UInt8]
    var rest: [UInt8]
}

/// Who asks for something that a key of the seller may ask for anybody, and a signed-in person for nobody but themselves.
struct Asker {
    /// The one whose token it is; nil for a key.
    var bearer: UserID?
    /// As the audit names it.
    var actorID: String
}

/// What a signed-in person asks for.
enum UserAction: Sendable {
    case entitlement
    case gate
    case sync
    case devices
    case addDevice
    case removeDevice
    case submitPurchase
    case submitTransaction
    case promotionalOffer
    case offerJWS

    /// Whether it changes nothing: only then a cookie is enough, because a foreign page can make a browser send cookies.
    var isReading: Bool {
        switch self {
        case .entitlement, .gate, .devices: true
        case .sync, .addDevice, .removeDevice, .submitPurchase, .submitTransaction, .promotionalOffer, .offerJWS: false
        }
    }

    /// The longest body it is taken with.
    var bodyBytesMax: Int {
        // Two signed texts, each with three certificates in it.
        if case .submitTransaction = self { return 64 * 1024 }
        // Far more than a device has to say.
        return 16 * 1024
    }
}

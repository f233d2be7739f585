public import Entitlements

/// A list of what has happened at a provider: what it has sent, or what it has taken back.
public struct APIList: Hashable, Sendable {
    /// The provider's word for it, without spaces.
    public var name: String
    /// How many days back it reaches.
    public var days: Int

    public init(name: String, days: Int) {
        self.name = name
        self.days = days
    }
}

/// One page of such a list.
public struct APIListPage: Hashable, Sendable {
    /// The list's name.
    public var list: String
    /// What has happened from here…
    public var from: UnixMillis
    /// …to here.
    public var until: UnixMillis
    /// The provider's word for where the page begins; nil for the first one.
    public var token: String?

    public init(list: String, from: UnixMillis, until: UnixMillis, token: String?) {
        self.list = list
        self.from = from
        self.until = until
        self.token = token
    }
}

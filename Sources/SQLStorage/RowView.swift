package import Entitlements

/// A row where it lies, for the length of one call.
package struct RowView: ~Escapable {
    package let version: Int64
    package let updatedAt: UnixMillis
    package let body: Span<UInt8>

    @_lifetime(copy body)
    package init(version: Int64, updatedAt: UnixMillis, body: Span<UInt8>) {
        self.version = version
        self.updatedAt = updatedAt
        self.body = body
    }
}

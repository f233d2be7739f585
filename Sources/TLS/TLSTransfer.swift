/// What became of an attempt to read or write without waiting.
public enum TLSTransfer: Equatable, Sendable {
    /// So many bytes, at least one.
    case bytes(Int)
    /// Nothing now: the socket must become readable or writable first, whichever the protocol waits for.
    case wouldBlock
    /// The peer said that it sends no more (close_notify). An end that was only cut off is `failed`.
    case ended
    /// The connection is of no further use.
    case failed
    /// The peer does not speak TLS as it is spoken here. Nothing was encrypted; what is sent from now on goes out in the
    /// clear, and what is received is thrown away.
    case refused(isPlainText: Bool)
}

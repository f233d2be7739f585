/// What one client may ask of the server before it is refused. Every number is a default; each can be set.
public struct ServerLimits: Sendable, Equatable {
    /// Request line and header fields together, in bytes; past it 431, or 414 when the request line alone is too long.
    ///
    /// 16 KiB holds a bearer token of 8 KiB and a browser's cookies. At most 65,535: positions in a head are 16 bits
    /// wide.
    public var headBytesMax: Int
    /// The request target, in bytes; past it 414. RFC 9112 §3 asks for 8,000 octets at least for the whole line.
    public var targetBytesMax: Int
    /// Header fields of a request, and trailer fields; past it 431. Proxies add some ten to a browser's twenty.
    public var headersMax: Int
    /// A request's content without its framing, in bytes; past it 413. Webhooks are some KiB; 1 MiB is generous.
    public var bodyBytesMax: Int
    /// Answers waiting for one client, in bytes, before its further requests have to wait. One answer may be larger.
    ///
    /// A quarter of what the kernel itself buffers for a connection that keeps up.
    public var outputBytesMax: Int
    /// What is read and thrown away after a refused request, so that the client sees the answer instead of a reset.
    ///
    /// A client that sends eight times the permitted content is not one that reads answers.
    public var lingerBytesMax: Int
    /// Memory for requests larger than 8 KiB that are still coming in, of the whole server, in bytes; past it 503.
    ///
    /// Without it, connections that each send most of the largest content would take their number times that. 256 MiB
    /// let 128 clients send the largest content at once (a buffer doubles as it grows).
    public var bufferedBytesMax: Int

    /// Seconds from a request's first byte to the end of its head; past it 408. Also how long a new connection may be
    /// silent.
    public var headSeconds: Double
    /// Seconds from the end of the head to the end of the content; past it 408. 1 MiB takes 28 s at 300 kbit/s.
    public var bodySeconds: Double
    /// Seconds between two requests of a connection; then it is closed. Longer than the 60 s of common proxies,
    /// so that the proxy closes first and no request crosses the close.
    public var idleSeconds: Double
    /// Seconds in which a client takes none of what it was sent; then it is closed.
    public var writeSeconds: Double
    /// Seconds given to a client to read the answer to a refused request.
    public var lingerSeconds: Double
    /// Seconds `stop` waits for what is in flight. Service managers kill after 10 s (containers) to 90 s.
    public var stopSeconds: Double

    /// Open connections of the whole server; a further one is told 503 and closed.
    ///
    /// An idle connection costs about 300 bytes here and some KiB in the kernel; when the process may open fewer
    /// descriptors than this, further clients wait in the kernel's queue.
    public var connectionsMax: Int

    /// Limits for a server on the open Internet.
    public init(
        headBytesMax: Int = 16 << 10,
        targetBytesMax: Int = 8 << 10,
        headersMax: Int = 100,
        bodyBytesMax: Int = 1 << 20,
        outputBytesMax: Int = 64 << 10,
        lingerBytesMax: Int = 8 << 20,
        bufferedBytesMax: Int = 256 << 20,
        headSeconds: Double = 10,
        bodySeconds: Double = 30,
        idleSeconds: Double = 75,
        writeSeconds: Double = 30,
        lingerSeconds: Double = 5,
        stopSeconds: Double = 10,
        connectionsMax: Int = 16_384
    ) {
        precondition(headBytesMax > 0 && headBytesMax <= 65_535, "positions in a head are 16 bits wide")
        self.headBytesMax = headBytesMax
        self.targetBytesMax = targetBytesMax
        self.headersMax = headersMax
        self.bodyBytesMax = bodyBytesMax
        self.outputBytesMax = outputBytesMax
        self.lingerBytesMax = lingerBytesMax
        self.bufferedBytesMax = bufferedBytesMax
        self.headSeconds = headSeconds
        self.bodySeconds = bodySeconds
        self.idleSeconds = idleSeconds
        self.writeSeconds = writeSeconds
        self.lingerSeconds = lingerSeconds
        self.stopSeconds = stopSeconds
        self.connectionsMax = connectionsMax
    }
}

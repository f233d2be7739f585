internal import CSystem

/// One request, whole: its head is parsed and its content has come.
///
/// Valid only during the call that got it: one object serves a whole loop, and every pointer it gives points into the
/// connection's input. What must live longer has to be copied.
@safe
public final class Request {
    var head = RequestHead()
    private var bytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var bodyRange = 0..<0
    private var peer = csystem_address()
    /// Which of the server's listen addresses the connection came by: an index into `HTTPServer.addresses`.
    public private(set) var listener = 0

    init() {}

    func attach(_ bytes: UnsafeRawBufferPointer, body: Range<Int>, listener: Int, peer: csystem_address) {
        unsafe self.bytes = bytes
        bodyRange = body
        self.listener = listener
        self.peer = peer
    }

    /// From here on every use traps or finds nothing.
    func detach() {
        unsafe bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        bodyRange = 0..<0
        head.reset()
    }

    /// The method.
    public var method: Method { head.method }

    /// The method's bytes, for `Method.other`.
    public var methodName: UnsafeRawBufferPointer { unsafe slice(head.methodName) }

    /// The target's bytes before "?", not decoded. They begin with "/", save for `OPTIONS *`, where they are "*".
    ///
    /// Every byte is one RFC 3986 permits in a path, and every "%" is followed by two hexadecimal digits.
    public var path: UnsafeRawBufferPointer {
        if head.path.isEmpty {
            let root: StaticString = "/"
            return unsafe UnsafeRawBufferPointer(start: root.utf8Start, count: 1)
        }
        return unsafe slice(head.path)
    }

    /// The target's bytes after the first "?", not decoded; empty when there are none.
    public var query: UnsafeRawBufferPointer { unsafe slice(head.query) }

    /// The value of the first field of that name, without the white space round it; nil when there is none.
    ///
    /// Names are compared without regard to case (RFC 9110 §5.1). The value holds no control byte but HTAB.
    public func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
        for field in head.fields where matches(field, name) { return unsafe slice(field.value) }
        return nil
    }

    /// Calls `body` with the value of each field of that name, in their order.
    public func forEachHeader(_ name: StaticString, _ body: (UnsafeRawBufferPointer) -> Void) {
        for field in head.fields where matches(field, name) { unsafe body(slice(field.value)) }
    }

    /// As ``header(_:)``, for a name known only when the gateway runs.
    public func header(named name: String) -> UnsafeRawBufferPointer? {
        for field in head.fields where Int(field.nameCount) == name.utf8.count {
            var index = Int(field.nameStart)
            let isEqual = name.utf8.allSatisfy { byte in
                defer { index += 1 }
                return unsafe ASCII.lowercased(bytes[index]) == ASCII.lowercased(byte)
            }
            if isEqual { return unsafe slice(field.value) }
        }
        return nil
    }

    /// How many fields have that name.
    public func headerCount(_ name: StaticString) -> Int {
        var count = 0
        for field in head.fields where matches(field, name) { count += 1 }
        return count
    }

    /// The content, without its transfer coding; empty when there is none.
    public var body: UnsafeRawBufferPointer { unsafe slice(bodyRange) }

    /// The client's numeric IP address, without its port. The text is made when asked for.
    public var peerAddress: String { ListenAddress.text(of: peer) }

    private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
    }

    private func matches(_ field: FieldSlot, _ name: StaticString) -> Bool {
        let count = name.utf8CodeUnitCount
        guard Int(field.nameCount) == count else { return false }
        let start = Int(field.nameStart)
        var index = 0
        while index < count {
            let left = unsafe ASCII.lowercased(bytes[start &+ index])
            if unsafe left != ASCII.lowercased(name.utf8Start[index]) { return false }
            index &+= 1
        }
        return true
    }
}

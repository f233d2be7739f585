/// Bytes written at one end and read at the other, in one block of memory that moves only when it must grow.
///
/// Belongs to one loop. The pointers it hands out are good until the next call that writes to it.
@safe
final class ByteBuffer {
    private var base: UnsafeMutableRawPointer
    private(set) var capacity: Int
    private var start = 0
    private var end = 0

    init(capacity: Int) {
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit {
        unsafe base.deallocate()
    }

    var count: Int { end &- start }
    var isEmpty: Bool { end == start }

    /// The bytes not yet consumed.
    var readable: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base + start, count: end &- start)
    }

    /// The same bytes, for decoding in place.
    var readableInPlace: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: base + start, count: end &- start)
    }

    /// The room after the readable bytes.
    var writable: UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: base + end, count: capacity &- end)
    }

    /// Takes `count` bytes off the front.
    func consume(_ count: Int) {
        precondition(count <= self.count)
        start &+= count
        if start == end { removeAll() }
    }

    /// Declares `count` bytes of `writable` to be filled.
    func produced(_ count: Int) {
        precondition(count <= capacity &- end)
        end &+= count
    }

    /// Keeps the first `count` readable bytes only.
    func truncate(to count: Int) {
        precondition(count <= self.count)
        end = start &+ count
    }

    func removeAll() {
        start = 0
        end = 0
    }

    /// Makes `writable` at least `count` bytes large.
    @inline(__always)
    func reserve(_ count: Int) {
        if capacity &- end < count { makeRoom(count) }
    }

    /// The slow path of `reserve`: first moves the bytes to the front, and doubles the block when that is not enough.
    @inline(never)
    private func makeRoom(_ count: Int) {
        let kept = self.count
        if kept + count <= capacity {
            unsafe base.copyMemory(from: base + start, byteCount: kept)
        } else {
            let capacity = max(self.capacity * 2, kept + count)
            let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
            unsafe larger.copyMemory(from: base + start, byteCount: kept)
            unsafe base.deallocate()
            unsafe base = larger
            self.capacity = capacity
        }
        start = 0
        end = kept
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        unsafe (base + end).copyMemory(from: source, byteCount: bytes.count)
        end &+= bytes.count
    }

    func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func append(_ byte: UInt8) {
        reserve(1)
        unsafe (base + end).storeBytes(of: byte, as: UInt8.self)
        end &+= 1
    }

    func append(decimal value: Int) {
        // 20 bytes hold the longest 64-bit number and its sign.
        reserve(20)
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digits = 1
        var power: UInt = 10
        while digits < 19 && rest >= power {
            digits &+= 1
            power &*= 10
        }
        var position = end &+ digits
        end = position
        repeat {
            position &-= 1
            unsafe (base + position).storeBytes(of: UInt8(truncatingIfNeeded: 0x30 &+ rest % 10), as: UInt8.self)
            rest /= 10
        } while rest > 0
    }
}

/// The spare buffers of one loop.
///
/// The last one given back is the next one taken: while requests come one by one, all connections share one warm block.
final class BufferPool {
    /// A usual request and its headers; a usual answer with its headers.
    static let bufferBytes = 8 << 10
    /// 64 buffers of 8 KiB: what a loop with a burst of pipelining or slow clients gets without asking the allocator.
    private static let spareMax = 64

    private var spare: ContiguousArray<ByteBuffer> = []

    func take() -> ByteBuffer {
        spare.popLast() ?? ByteBuffer(capacity: Self.bufferBytes)
    }

    /// Keeps the buffer for later, unless it has grown or enough are kept.
    func give(_ buffer: ByteBuffer) {
        guard buffer.capacity == Self.bufferBytes && spare.count < Self.spareMax else { return }
        buffer.removeAll()
        spare.append(buffer)
    }
}

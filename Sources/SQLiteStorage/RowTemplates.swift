internal import Platform
internal import Synchronization

/// The templates that kept rows share, each once, numbered. Grows to a limit and never forgets.
@safe
final class RowTemplates: @unchecked Sendable {
    // Bytes are written once, by whoever holds `isGrowing`, and read only after the number that leads to them was stored
    // with release and loaded with acquire; numbers are atomics. The memory lives as long as the object.
    static let countMax = 4096
    private static let bytesMax = 512 << 10
    /// More places than twice the numbers, so that a search ends soon.
    private static let places = 16_384

    private let bytes: UnsafeMutableRawPointer
    /// Of each number its template's place and length, 32 bits each.
    private let lengths: UnsafeMutablePointer<Atomic<UInt64>>
    /// By hash: number plus one, zero for none.
    private let numbers: UnsafeMutablePointer<Atomic<UInt64>>
    private let isGrowing = Atomic<Bool>(false)
    // Only for the holder of `isGrowing`.
    private var count = 0
    private var used = 0

    init?() {
        guard let lengths = unsafe makeSharedWords(Self.countMax) else { return nil }
        guard let numbers = unsafe makeSharedWords(Self.places) else {
            unsafe freeSharedWords(lengths)
            return nil
        }
        unsafe self.lengths = lengths
        unsafe self.numbers = numbers
        unsafe bytes = .allocate(byteCount: Self.bytesMax, alignment: 16)
    }

    deinit {
        unsafe freeSharedWords(lengths)
        unsafe freeSharedWords(numbers)
        unsafe bytes.deallocate()
    }

    /// The template of a number that `number(of:)` gave.
    subscript(number: Int) -> UnsafeRawBufferPointer {
        precondition(number >= 0 && number < Self.countMax)
        let length = unsafe lengths[number].load(ordering: .acquiring)
        return unsafe UnsafeRawBufferPointer(start: bytes + Int(length >> 32), count: Int(length & 0xFFFF_FFFF))
    }

    /// The number of a template, a new one when it is not known; nil when there is no room, or somebody else adds one now.
    ///
    /// - Parameter isRare: Whether rows with this template may be few: such take half of the room at most.
    func number(of template: UnsafeRawBufferPointer, isRare: Bool) -> Int? {
        let hash = unsafe Self.hash(template)
        if let known = unsafe find(template, hash) { return known }
        guard isGrowing.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
            return nil
        }
        defer { isGrowing.store(false, ordering: .releasing) }
        if let known = unsafe find(template, hash) { return known }
        let share = isRare ? 2 : 1
        guard count < Self.countMax / share, used + template.count <= Self.bytesMax / share,
            let source = template.baseAddress
        else { return nil }
        unsafe (bytes + used).copyMemory(from: source, byteCount: template.count)
        unsafe lengths[count].store(UInt64(used) << 32 | UInt64(template.count), ordering: .releasing)
        var place = hash
        while unsafe numbers[place].load(ordering: .relaxed) != 0 { place = (place + 1) % Self.places }
        unsafe numbers[place].store(UInt64(count) + 1, ordering: .releasing)
        used += template.count
        count += 1
        return count - 1
    }

    private func find(_ template: UnsafeRawBufferPointer, _ hash: Int) -> Int? {
        var place = hash
        while true {
            let number = unsafe numbers[place].load(ordering: .acquiring)
            if number == 0 { return nil }
            let known = unsafe self[Int(number) - 1]
            if known.count == template.count, unsafe known.elementsEqual(template) { return Int(number) - 1 }
            place = (place + 1) % Self.places
        }
    }

    private static func hash(_ template: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in 0..<template.count { hash = unsafe (hash ^ UInt64(template[index])) &* 0x0000_0100_0000_01b3 }
        return Int(hash >> 40) % places
    }
}

internal import CSystem
internal import Platform

/// The descriptors a loop waits for (epoll), each with a slot and a generation that come back with its events.
@safe
final class Poller {
    /// Enough for one system call to serve a busy turn; the rest comes with the next.
    private static let eventsMax = 256

    struct Event {
        let slot: UInt32
        let generation: UInt32
        private let bits: UInt32

        fileprivate init(_ event: csystem_event) {
            slot = event.slot
            generation = event.generation
            bits = event.events
        }

        var isReadable: Bool { bits & CSYSTEM_READABLE != 0 }
        var isWritable: Bool { bits & CSYSTEM_WRITABLE != 0 }
        /// The peer has ended its sending side.
        var isPeerEnded: Bool { bits & (CSYSTEM_PEER_ENDED | CSYSTEM_HANGUP) != 0 }
        /// The connection is dead in both directions.
        var isDead: Bool { bits & (CSYSTEM_HANGUP | CSYSTEM_ERROR) != 0 }
    }

    enum Interest {
        /// Readable, told as long as it is so.
        case readableLevel
        /// Readable, told once for each change.
        case readableEdge
        /// Readable and writable, told once for each change.
        case bothEdge

        fileprivate var bits: UInt32 {
            switch self {
            case .readableLevel: CSYSTEM_READABLE
            case .readableEdge: CSYSTEM_READABLE | CSYSTEM_PEER_ENDED | CSYSTEM_EDGE
            case .bothEdge: CSYSTEM_READABLE | CSYSTEM_WRITABLE | CSYSTEM_PEER_ENDED | CSYSTEM_EDGE
            }
        }
    }

    private let epoll: Int32
    private let events: UnsafeMutablePointer<csystem_event>

    init() throws(SystemError) {
        epoll = try checked(csystem_epoll_create(), "epoll_create1")
        unsafe events = .allocate(capacity: Self.eventsMax)
        unsafe events.initialize(repeating: csystem_event(), count: Self.eventsMax)
    }

    deinit {
        unsafe events.deallocate()
        csystem_close(epoll)
    }

    func add(_ descriptor: Int32, _ interest: Interest, slot: UInt32, generation: UInt32) throws(SystemError) {
        let event = Self.event(interest, slot, generation)
        _ = try checked(csystem_epoll_add(epoll, descriptor, event), "epoll_ctl")
    }

    func modify(_ descriptor: Int32, _ interest: Interest, slot: UInt32, generation: UInt32) throws(SystemError) {
        let event = Self.event(interest, slot, generation)
        _ = try checked(csystem_epoll_modify(epoll, descriptor, event), "epoll_ctl")
    }

    func remove(_ descriptor: Int32) {
        _ = csystem_epoll_remove(epoll, descriptor)
    }

    /// How many events came within `milliseconds` (-1: for ever); they are read with `subscript` until the next call.
    func wait(milliseconds: Int32) -> Int {
        let count = unsafe csystem_epoll_wait(epoll, events, Int32(Self.eventsMax), milliseconds)
        precondition(count >= 0, "epoll_wait fails only for a mistake of the program")
        return Int(count)
    }

    subscript(index: Int) -> Event {
        precondition(index < Self.eventsMax)
        return unsafe Event(events[index])
    }

    private static func event(_ interest: Interest, _ slot: UInt32, _ generation: UInt32) -> csystem_event {
        var event = csystem_event()
        event.events = interest.bits
        event.slot = slot
        event.generation = generation
        return event
    }
}

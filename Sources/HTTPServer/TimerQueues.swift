internal import Platform

/// What a connection is given time for.
enum TimeLimit: Int, CaseIterable {
    case head, body, idle, write, linger
}

/// At most one time limit for each connection of a loop.
///
/// Everyone in a queue waits equally long, so each queue is in order of its deadlines by itself: setting, moving and
/// clearing a limit are a few stores, and the next deadline is the first of five fronts. A value without a clock.
struct TimerQueues {
    private struct Node {
        var previous: Int32 = -1
        var next: Int32 = -1
        var limit: TimeLimit?
        var deadline = MonotonicNanos(value: 0)
    }

    private var nodes: ContiguousArray<Node> = []
    private var fronts = ContiguousArray<Int32>(repeating: -1, count: TimeLimit.allCases.count)
    private var backs = ContiguousArray<Int32>(repeating: -1, count: TimeLimit.allCases.count)
    private let nanoseconds: ContiguousArray<Int>

    init(_ limits: ServerLimits) {
        nanoseconds = ContiguousArray(
            TimeLimit.allCases.map { limit in
                let seconds =
                    switch limit {
                    case .head: limits.headSeconds
                    case .body: limits.bodySeconds
                    case .idle: limits.idleSeconds
                    case .write: limits.writeSeconds
                    case .linger: limits.lingerSeconds
                    }
                return nanosecondsIn(seconds)
            }
        )
    }

    /// The limit set for a slot.
    func limit(of slot: UInt32) -> TimeLimit? {
        slot < nodes.count ? nodes[Int(slot)].limit : nil
    }

    /// Gives `slot` this limit, counted from `now`, in place of the one it had.
    mutating func set(_ limit: TimeLimit, for slot: UInt32, now: MonotonicNanos) {
        clear(slot)
        while nodes.count <= slot { nodes.append(Node()) }
        let back = backs[limit.rawValue]
        nodes[Int(slot)] = Node(
            previous: back,
            next: -1,
            limit: limit,
            deadline: now.adding(nanoseconds: nanoseconds[limit.rawValue])
        )
        if back >= 0 {
            nodes[Int(back)].next = Int32(slot)
        } else {
            fronts[limit.rawValue] = Int32(slot)
        }
        backs[limit.rawValue] = Int32(slot)
    }

    /// Takes the limit from `slot`, if it has one.
    mutating func clear(_ slot: UInt32) {
        guard slot < nodes.count, let limit = nodes[Int(slot)].limit else { return }
        let node = nodes[Int(slot)]
        if node.previous >= 0 {
            nodes[Int(node.previous)].next = node.next
        } else {
            fronts[limit.rawValue] = node.next
        }
        if node.next >= 0 {
            nodes[Int(node.next)].previous = node.previous
        } else {
            backs[limit.rawValue] = node.previous
        }
        nodes[Int(slot)].limit = nil
    }

    /// The earliest deadline of all.
    var nextDeadline: MonotonicNanos? {
        var earliest: MonotonicNanos?
        for front in fronts where front >= 0 {
            let deadline = nodes[Int(front)].deadline
            if earliest.map({ deadline < $0 }) ?? true { earliest = deadline }
        }
        return earliest
    }

    /// Takes out one slot whose time is over at `now`, with the limit it had.
    mutating func popExpired(now: MonotonicNanos) -> (slot: UInt32, limit: TimeLimit)? {
        for limit in TimeLimit.allCases {
            let front = fronts[limit.rawValue]
            if front >= 0 && nodes[Int(front)].deadline <= now {
                clear(UInt32(front))
                return (UInt32(front), limit)
            }
        }
        return nil
    }
}

/// Nanoseconds in `seconds`, which count at least 0 and at most ten years.
func nanosecondsIn(_ seconds: Double) -> Int {
    Int(max(0, min(seconds, 315_360_000)) * 1_000_000_000)
}

internal import CSystem
internal import Glibc
internal import Synchronization

/// A bounded queue from any number of threads to one.
///
/// The only type through which threads speak to each other: a message is a value, and after `post` it belongs to the
/// reader. Order is kept for each sender. The reader either waits here, or has `descriptor` watched by its event loop.
///
/// `post` may be called by any thread; `drain` and `wait` by one thread only, the reader.
public final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: ContiguousArray<Message> = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// An event descriptor, readable while messages wait (now and then once more, after the reader already took them).
    ///
    /// Written only when the first message comes into an empty mailbox, so a busy reader costs its senders no system
    /// call.
    public let descriptor: Int32

    /// An empty mailbox for at most `capacity` waiting messages.
    ///
    /// - Throws: `SystemError` when the process has no descriptor left.
    public init(capacity: Int = 1 << 20) throws(SystemError) {
        precondition(capacity > 0)
        self.capacity = capacity
        descriptor = try checked(csystem_eventfd(), "eventfd")
    }

    deinit {
        csystem_close(descriptor)
    }

    /// Gives a message to the reader; false when the mailbox is full or closed, and then the message is gone.
    @discardableResult
    public func post(_ message: consuming sending Message) -> Bool {
        let message = message
        let (isTaken, wasEmpty) = withState { state in
            if state.isClosed || state.messages.count >= capacity { return (false, false) }
            state.messages.append(message)
            return (true, state.messages.count == 1)
        }
        // Outside the lock, so that the woken reader does not at once wait for this thread. The reader resets the
        // descriptor before it takes messages, so this signal can only come once too often, never be lost.
        if wasEmpty { raise() }
        return isTaken
    }

    /// Takes every waiting message, in order, in place of what `messages` held.
    ///
    /// The two arrays change places and keep their storage: a reader that passes the same array each time causes no
    /// allocation.
    ///
    /// - Returns: Whether these are the last: the mailbox was closed before they were taken.
    @discardableResult
    public func drain(into messages: inout ContiguousArray<Message>) -> Bool {
        messages.removeAll(keepingCapacity: true)
        _ = csystem_eventfd_reset(descriptor)
        return withState { state in
            swap(&state.messages, &messages)
            return state.isClosed
        }
    }

    /// Blocks the calling thread until a message waits; nil waits for ever.
    ///
    /// True when a message waits. False when the time is over, and at once when the mailbox is closed and empty.
    public func wait(milliseconds: Int?) -> Bool {
        let deadline = milliseconds.map { MonotonicNanos.now().adding(milliseconds: $0) }
        while true {
            let (isEmpty, isClosed) = withState { ($0.messages.isEmpty, $0.isClosed) }
            if !isEmpty { return true }
            if isClosed { return false }
            var remaining: Int32 = -1
            if let deadline {
                let nanoseconds = deadline.nanoseconds(since: .now())
                if nanoseconds == 0 { return false }
                remaining = Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
            }
            if csystem_poll_readable(descriptor, remaining) > 0, count == 0 {
                // A signal that came after its message was taken. A message posted from here on raises it again.
                _ = csystem_eventfd_reset(descriptor)
            }
        }
    }

    /// Messages that wait now.
    public var count: Int {
        withState { $0.messages.count }
    }

    /// Whether `close` was called.
    public var isClosed: Bool {
        withState { $0.isClosed }
    }

    /// Refuses every later message and wakes the reader. What already waits can still be drained.
    public func close() {
        withState { $0.isClosed = true }
        raise()
    }

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            unsafe csystem_lock_taken(Unmanaged.passUnretained(self).toOpaque())
            defer { unsafe csystem_lock_given_up(Unmanaged.passUnretained(self).toOpaque()) }
            return body(&state)
        }
    }

    private func raise() {
        // Fails only when the counter stands at its maximum, and then the descriptor is readable already.
        _ = csystem_eventfd_raise(descriptor)
    }
}

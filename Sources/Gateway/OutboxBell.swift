internal import Platform
internal import Synchronization

/// Wakes the threads of the receivers when there is something to tell; silent until they run.
final class OutboxBell: Sendable {
    private let mailboxes = Mutex<[Mailbox<NotificationMessage>]>([])

    func set(_ receivers: [Mailbox<NotificationMessage>]) {
        mailboxes.withLock { $0 = receivers }
    }

    func ring() {
        for mailbox in mailboxes.withLock({ $0 }) { mailbox.post(.wake) }
    }
}

internal import Platform
internal import SQLStorage
internal import Storage

/// The threads that tell the seller's own systems of changed answers, one for each receiver.
final class Notifier: Sendable {
    private let mailboxes: [Mailbox<NotificationMessage>]
    private let threads: [WorkerThread]

    /// - Throws: When the system has no room for a thread, or the database cannot be read.
    init(_ receivers: [NotifyReceiver], _ store: any Store, _ bell: OutboxBell) throws {
        var mailboxes: [Mailbox<NotificationMessage>] = []
        var threads: [WorkerThread] = []
        do {
            for receiver in receivers {
                let mailbox = try Mailbox<NotificationMessage>()
                let thread = try WorkerThread.start(name: "notify") {
                    do throws(StorageError) {
                        try NotificationWorker(receiver, store, mailbox).run()
                    } catch {
                        Log.error(
                            "a receiver is told nothing",
                            ("receiver", .string(receiver.place)),
                            ("reason", .string(error.description))
                        )
                    }
                }
                mailboxes.append(mailbox)
                threads.append(thread)
                mailbox.post(.wake)
            }
        } catch {
            for mailbox in mailboxes { mailbox.post(.stop) }
            for thread in threads { thread.join() }
            throw error
        }
        self.mailboxes = mailboxes
        self.threads = threads
        bell.set(mailboxes)
    }

    /// Ends the threads; what is not sent yet waits in the database.
    func stop() {
        for mailbox in mailboxes { mailbox.post(.stop) }
        for thread in threads { thread.join() }
    }
}

internal import Platform
package import Storage

/// The thread of a writer, and what waits for it.
package final class WriterThread: Sendable {
    /// Writes that may wait; more are refused at once, so that memory stays bounded and senders try again later.
    package static let queueMax = 4096
    /// What the bodies of waiting events may take together, in bytes. Usual ones are 1 to 10 KB; 64 of the largest fit.
    package static let queueBytesMax = 64 << 20

    private let mailbox: Mailbox<WriterMessage>
    private let thread: WorkerThread
    private let waitingWrites: WaitingWrites

    private init(_ mailbox: Mailbox<WriterMessage>, _ thread: WorkerThread) {
        self.mailbox = mailbox
        self.thread = thread
        waitingWrites = WaitingWrites(writesMax: Self.queueMax, bytesMax: Self.queueBytesMax)
    }

    /// - Parameter make: Called on the new thread, to which the writer belongs.
    /// - Throws: Why it could not be made.
    package static func start(
        _ make: @escaping @Sendable () throws(StorageError) -> SQLWriter
    ) throws(StorageError) -> WriterThread {
        var failure: StorageError?
        do throws(SystemError) {
            let mailbox = try Mailbox<WriterMessage>(capacity: queueMax)
            let started = try Mailbox<StorageError?>(capacity: 1)
            let thread = try WorkerThread.start(name: "writer") {
                do throws(StorageError) {
                    let writer = try make()
                    _ = started.post(nil)
                    writer.run(mailbox)
                } catch {
                    _ = started.post(error)
                }
            }
            var answers = ContiguousArray<StorageError?>()
            while answers.isEmpty {
                _ = started.wait(milliseconds: nil)
                started.drain(into: &answers)
            }
            if let answer = answers.first { failure = answer }
            if failure == nil { return WriterThread(mailbox, thread) }
            thread.join()
        } catch {
            failure = .unavailable("\(error)")
        }
        throw failure ?? .unavailable("the writer did not start")
    }

    package func submit(_ command: StoreCommand, bytes: Int, _ reply: @escaping StoreReply) -> Bool {
        guard waitingWrites.enter(bytes: bytes) else { return false }
        let waitingWrites = waitingWrites
        let isTaken = mailbox.post(
            WriterMessage(command: command) { result in
                waitingWrites.leave(bytes: bytes)
                reply(result)
            }
        )
        if !isTaken { waitingWrites.leave(bytes: bytes) }
        return isTaken
    }

    package var waiting: Int { waitingWrites.count }

    /// Finishes what waits, and ends the writer.
    package func close() {
        mailbox.close()
        thread.join()
    }
}

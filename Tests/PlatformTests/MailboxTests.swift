import Glibc
import Platform
import Testing

@Suite struct MailboxTests {
    private struct Message: Sendable, Equatable {
        let sender: Int
        let number: Int
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    @Test func keepsEachSendersOrderAndLosesNothing() throws {
        let senders = 4
        let each = 20_000
        let mailbox = try Mailbox<Message>()
        let threads = try (0..<senders).map { sender in
            try WorkerThread.start(name: "sender") {
                for number in 0..<each { mailbox.post(Message(sender: sender, number: number)) }
            }
        }
        var next = Array(repeating: 0, count: senders)
        var taken = 0
        var batch: ContiguousArray<Message> = []
        while taken < senders * each {
            try #require(mailbox.wait(milliseconds: 10_000))
            mailbox.drain(into: &batch)
            for message in batch {
                #expect(message.number == next[message.sender])
                next[message.sender] += 1
            }
            taken += batch.count
        }
        for thread in threads { thread.join() }
        #expect(next == Array(repeating: each, count: senders))
        #expect(mailbox.count == 0)
    }

    @Test func refusesWhenFullAndTakesAgainWhenDrained() throws {
        let mailbox = try Mailbox<Int>(capacity: 2)
        #expect(mailbox.post(1))
        #expect(mailbox.post(2))
        #expect(!mailbox.post(3))
        #expect(mailbox.count == 2)
        var batch: ContiguousArray<Int> = [9]
        mailbox.drain(into: &batch)
        #expect(batch == [1, 2])
        #expect(mailbox.post(4))
    }

    @Test func descriptorIsReadableWhileMessagesWait() throws {
        let mailbox = try Mailbox<Int>()
        #expect(!isReadable(mailbox.descriptor))
        mailbox.post(1)
        mailbox.post(2)
        #expect(isReadable(mailbox.descriptor))
        // Only the first message cost its sender a system call.
        var signals: UInt64 = 0
        #expect(read(mailbox.descriptor, &signals, 8) == 8)
        #expect(signals == 1)
        mailbox.post(3)
        #expect(!isReadable(mailbox.descriptor))
        var batch: ContiguousArray<Int> = []
        mailbox.drain(into: &batch)
        #expect(!isReadable(mailbox.descriptor))
    }

    @Test func waitEndsWithTheTime() throws {
        let mailbox = try Mailbox<Int>()
        let start = MonotonicNanos.now()
        #expect(!mailbox.wait(milliseconds: 30))
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 30))
        #expect(!mailbox.wait(milliseconds: 0))
    }

    @Test func closeWakesTheReaderAndKeepsWhatWaits() throws {
        let mailbox = try Mailbox<Int>()
        let closer = try WorkerThread.start(name: "closer") {
            usleep(20_000)
            mailbox.close()
        }
        #expect(!mailbox.wait(milliseconds: nil))
        closer.join()
        #expect(mailbox.isClosed)
        #expect(!mailbox.post(1))

        let other = try Mailbox<Int>()
        other.post(7)
        other.close()
        #expect(other.wait(milliseconds: nil))
        var batch: ContiguousArray<Int> = []
        other.drain(into: &batch)
        #expect(batch == [7])
        #expect(!other.wait(milliseconds: nil))
    }

    @Test func drainKeepsStorage() throws {
        let mailbox = try Mailbox<Int>()
        var batch: ContiguousArray<Int> = []
        for round in 0..<3 {
            for number in 0..<100 { mailbox.post(number) }
            mailbox.drain(into: &batch)
            #expect(batch.count == 100)
            if round > 1 { #expect(batch.capacity >= 100) }
        }
        mailbox.drain(into: &batch)
        #expect(batch.isEmpty && batch.capacity >= 100)
    }
}

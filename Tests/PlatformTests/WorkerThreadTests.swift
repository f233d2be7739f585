import Glibc
import Platform
import Testing

@Suite struct WorkerThreadTests {
    @Test func runsOnAnotherThreadAndIsJoined() throws {
        let mailbox = try Mailbox<UInt>()
        let thread = try WorkerThread.start(name: "worker") { mailbox.post(pthread_self()) }
        thread.join()
        var batch: ContiguousArray<UInt> = []
        mailbox.drain(into: &batch)
        #expect(batch.count == 1)
        #expect(batch.first != pthread_self())
    }

    @Test func keepsTheFirstFifteenBytesOfItsName() throws {
        let mailbox = try Mailbox<String>()
        let started = try Mailbox<Int>()
        let thread = try WorkerThread.start(name: "a-name-longer-than-15") {
            // The starter sets the name when the thread already exists.
            _ = started.wait(milliseconds: 10_000)
            var name = [UInt8](repeating: 0, count: 32)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            let count = read(file, &name, name.count)
            close(file)
            mailbox.post(String(decoding: name[..<max(0, count)], as: UTF8.self))
        }
        started.post(1)
        thread.join()
        var batch: ContiguousArray<String> = []
        mailbox.drain(into: &batch)
        #expect(batch == ["a-name-longer-t\n"])
    }

    @Test func blocksSignalsButNotFaults() throws {
        let mailbox = try Mailbox<[Bool]>()
        let thread = try WorkerThread.start(name: "worker") {
            var set = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &set)
            mailbox.post([SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGSEGV].map { sigismember(&set, $0) == 1 })
        }
        thread.join()
        var batch: ContiguousArray<[Bool]> = []
        mailbox.drain(into: &batch)
        #expect(batch == [[true, true, true, true, true, false]])
    }

    @Test func releasesWhatItsBodyHeld() throws {
        final class Token: Sendable {
            let mailbox: Mailbox<Int>
            init(_ mailbox: Mailbox<Int>) { self.mailbox = mailbox }
            deinit { mailbox.post(1) }
        }
        let mailbox = try Mailbox<Int>()
        do {
            let token = Token(mailbox)
            try WorkerThread.start(name: "worker") { _ = token.mailbox }.join()
        }
        #expect(mailbox.count == 1)
    }

    /// Runs in a thread of its own, where every signal is blocked, so that nothing else in the process can take it.
    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func waitsForASignal(signal: Int32) throws {
        let mailbox = try Mailbox<Int32>()
        let thread = try WorkerThread.start(name: "signal") {
            Signals.block()
            pthread_kill(pthread_self(), signal)
            mailbox.post(Signals.waitForSignal())
        }
        thread.join()
        var batch: ContiguousArray<Int32> = []
        mailbox.drain(into: &batch)
        #expect(batch == [signal])
    }
}

internal import CSystem
public import Platform
internal import Synchronization
public import TLS

/// A running HTTP/1.1 server (RFC 9110, RFC 9112): a number of loops, each a thread with its own handler.
///
/// It ends by `stop`, or when the last reference to it goes, which is the same.
public final class HTTPServer<Handler: RequestHandler>: Sendable {
    /// The addresses listened on, in the order given; a port 0 has become the port the system chose.
    public let addresses: [ListenAddress]
    /// One for each loop. A message wakes its loop and reaches `RequestHandler.receive`; a stopped server takes none.
    public let mailboxes: [Mailbox<Handler.Message>]

    private let controls: [Mailbox<LoopCommand>]
    private let counter: ConnectionCounter
    private let threads: [WorkerThread]
    private let isStopped = Atomic(false)

    private init(
        addresses: [ListenAddress],
        mailboxes: [Mailbox<Handler.Message>],
        controls: [Mailbox<LoopCommand>],
        counter: ConnectionCounter,
        threads: [WorkerThread]
    ) {
        self.addresses = addresses
        self.mailboxes = mailboxes
        self.controls = controls
        self.counter = counter
        self.threads = threads
    }

    deinit {
        stop()
    }

    /// Listens on every address, starts the loops, and returns when all of them serve.
    ///
    /// - Parameters:
    ///   - loops: threads that serve, at least 1; one for each core is a good number.
    ///   - tls: what to speak TLS with on every address; nil for plain HTTP.
    ///   - makeHandler: runs once on each loop's thread, with the loop's index and mailbox. The handler stays on that
    ///     thread, and its `deinit` runs there.
    /// - Throws: `ServerError`, or what `makeHandler` threw. Whatever was already started is then undone.
    public static func start(
        listen: [ListenAddress],
        loops: Int,
        limits: ServerLimits = ServerLimits(),
        tls: TLSContext? = nil,
        makeHandler: @escaping @Sendable (_ loop: Int, _ mailbox: Mailbox<Handler.Message>) throws -> Handler
    ) throws -> HTTPServer {
        precondition(loops > 0 && !listen.isEmpty)
        let counter = ConnectionCounter()
        let reports: Mailbox<LoopReport>
        var mailboxes: [Mailbox<Handler.Message>] = []
        var controls: [Mailbox<LoopCommand>] = []
        do throws(SystemError) {
            reports = try Mailbox()
            for _ in 0..<loops {
                mailboxes.append(try Mailbox())
                controls.append(try Mailbox())
            }
        } catch {
            throw ServerError.system(error)
        }
        let listeners = try Listeners(listen, loops: loops)

        var threads: [WorkerThread] = []
        var failure: (any Error)?
        for loop in 0..<loops {
            let setup = LoopSetup(
                index: loop,
                loops: loops,
                listeners: listeners.sockets[loop],
                limits: limits,
                tls: tls,
                counter: counter,
                control: controls[loop],
                mailbox: mailboxes[loop],
                reports: reports
            )
            do throws(SystemError) {
                threads.append(try WorkerThread.start(name: "http") { setup.run(makeHandler) })
            } catch {
                failure = ServerError.system(error)
                for descriptor in listeners.sockets[loop...].joined() { csystem_close(descriptor) }
                break
            }
        }
        failure = firstFailure(in: reports, of: threads.count) ?? failure
        let server = HTTPServer(
            addresses: listeners.addresses,
            mailboxes: mailboxes,
            controls: controls,
            counter: counter,
            threads: threads
        )
        if let failure {
            server.stop()
            throw failure
        }
        return server
    }

    /// Stops accepting, closes idle connections, lets requests in flight be answered (deferred ones too) for at most
    /// `ServerLimits.stopSeconds`, and returns when every loop has ended. A second call waits for nothing.
    ///
    /// Not to be called by a handler: a loop cannot wait for itself.
    public func stop() {
        if isStopped.exchange(true, ordering: .relaxed) { return }
        for control in controls { control.post(.stop) }
        for thread in threads { thread.join() }
        for mailbox in mailboxes { mailbox.close() }
    }

    /// Speaks TLS with another certificate to those who connect from now on; connections that are open keep theirs.
    ///
    /// For a server that was started with TLS.
    public func useTLS(_ context: TLSContext) {
        for control in controls { control.post(.tls(context)) }
    }

    /// Connections open now, in all loops.
    public var connectionCount: Int { counter.count }

    /// Waits until `count` loops have reported.
    private static func firstFailure(in reports: Mailbox<LoopReport>, of count: Int) -> (any Error)? {
        var failure: (any Error)?
        var reported = 0
        var batch: ContiguousArray<LoopReport> = []
        while reported < count, reports.wait(milliseconds: nil) {
            reports.drain(into: &batch)
            reported += batch.count
            for case .failed(let error) in batch where failure == nil { failure = error }
        }
        return failure
    }

    /// All a loop's thread gets from the starting thread.
    private struct LoopSetup: Sendable {
        let index: Int
        let loops: Int
        let listeners: [Int32]
        let limits: ServerLimits
        let tls: TLSContext?
        let counter: ConnectionCounter
        let control: Mailbox<LoopCommand>
        let mailbox: Mailbox<Handler.Message>
        let reports: Mailbox<LoopReport>

        func run(_ makeHandler: (Int, Mailbox<Handler.Message>) throws -> Handler) {
            do {
                let loop = try EventLoop(
                    listeners: listeners,
                    limits: limits,
                    counter: counter,
                    control: control,
                    mailboxDescriptor: mailbox.descriptor,
                    grownBytesMax: limits.bufferedBytesMax / loops,
                    tls: tls
                )
                let handler = try makeHandler(index, mailbox)
                reports.post(.ready)
                loop.run(handler, mailbox: mailbox)
            } catch {
                for descriptor in listeners { csystem_close(descriptor) }
                reports.post(.failed(error))
            }
        }
    }
}

/// How a loop's thread began.
private enum LoopReport: Sendable {
    case ready
    case failed(any Error)
}

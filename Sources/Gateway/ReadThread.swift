internal import Platform
internal import SQLStorage
internal import Storage

/// Reads for one loop where a read is a matter of a network. Everything that waits is asked for together: the rows of one
/// turn of the loop cost one round trip.
final class ReadThread: Sendable {
    struct Read: Sendable {
        var number: Int
        var work: Work
    }

    enum Work: Sendable {
        /// - Parameter isNewest: As the last commit has left them; else a copy of the database may answer.
        case rows([RowKey], isNewest: Bool)
        case view(@Sendable (Views) throws(StorageError) -> any Sendable)
    }

    /// More reads than this do not wait: memory stays bounded when the database does not answer.
    private static let waitingMax = 8192
    /// Rows asked for in one round trip.
    private static let rowsMax = 2048

    private let mailbox: Mailbox<Read>
    private let thread: WorkerThread

    init(_ store: any Store, _ loop: Mailbox<LoopMessage>) throws {
        let mailbox = try Mailbox<Read>(capacity: Self.waitingMax)
        self.mailbox = mailbox
        thread = try WorkerThread.start(name: "reads") { Self.run(store, mailbox, loop) }
    }

    /// False when too many wait.
    func ask(_ read: Read) -> Bool { mailbox.post(read) }

    deinit {
        mailbox.close()
        thread.join()
    }

    private static func run(_ store: any Store, _ mailbox: Mailbox<Read>, _ loop: Mailbox<LoopMessage>) {
        var views: Views?
        var reads = ContiguousArray<Read>()
        func open() throws(StorageError) -> Views {
            if let views { return views }
            let made = try Views(try store.makeReader())
            views = made
            return made
        }
        while mailbox.wait(milliseconds: nil) {
            mailbox.drain(into: &reads)
            var rows: [(number: Int, keys: [RowKey], isNewest: Bool)] = []
            var count = 0
            func readRows() {
                guard !rows.isEmpty else { return }
                defer { (rows, count) = ([], 0) }
                do throws(StorageError) {
                    let questions = rows.flatMap { _, keys, isNewest in
                        keys.map { RowQuestion(user: $0.user, environment: $0.environment, isNewest: isNewest) }
                    }
                    let found = try open().reader.rows(questions)
                    var place = 0
                    for (number, keys, _) in rows {
                        var copies: [RowKey: FoundRow] = [:]
                        for key in keys {
                            copies[key] = found[place]
                            place += 1
                        }
                        _ = loop.post(.read(number, .success(.rows(copies))))
                    }
                } catch {
                    for (number, _, _) in rows { _ = loop.post(.read(number, .failure(error))) }
                }
            }
            for read in reads {
                guard case .rows(let keys, let isNewest) = read.work else { continue }
                rows.append((read.number, keys, isNewest))
                count += keys.count
                if count >= rowsMax { readRows() }
            }
            readRows()
            for read in reads {
                guard case .view(let work) = read.work else { continue }
                do throws(StorageError) {
                    _ = loop.post(.read(read.number, .success(.view(try work(try open())))))
                } catch {
                    _ = loop.post(.read(read.number, .failure(error)))
                }
            }
            reads.removeAll(keepingCapacity: true)
        }
    }
}

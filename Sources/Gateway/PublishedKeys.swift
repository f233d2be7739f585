internal import Crypto
internal import Foundation
internal import Outbound
internal import Platform

/// Fetches the keys that issuers publish, on a thread of its own, and tells every loop.
///
/// Each set is fetched at the start, again every few minutes, and at once when a token names a key that is not in it; the
/// last so often and no more, because anybody can make up a name. Keys that were fetched stay while their issuer does not
/// answer: its bad hour is not the seller's.
final class PublishedKeys: Sendable {
    /// What the thread is told.
    enum Message: Sendable {
        /// The loops run and can be told.
        case begin
        /// A token names a key that a loop does not know.
        case want(Int)
        case fetched(Int, Data?, String)
    }

    /// What came of a look.
    enum Finding: Sendable {
        case keys([JWK])
        /// There are no other keys than those that were told before.
        case nothingNew
        /// There were never any, and there are none now.
        case unavailable
    }

    static let refreshSeconds = 600
    static let retrySeconds = 30
    private static let timeoutSeconds = 5
    private static let bytesMax = 1 << 20
    /// Looks for unknown names: so many at once, then one for each pause.
    private static let wantsAtOnce = 5
    private static let wantEachSeconds = 12

    private let mailbox: Mailbox<Message>
    private let thread: WorkerThread

    /// - Parameter tell: Called on the thread for every issuer by its place in the list.
    static func start(
        _ issuers: [TokenIssuer],
        tell: @escaping @Sendable (Int, Finding) -> Void
    ) throws(SystemError) -> PublishedKeys {
        let mailbox = try Mailbox<Message>(capacity: 4096)
        let thread = try WorkerThread.start(name: "keys") {
            Fetcher(issuers, mailbox, tell).run()
        }
        return PublishedKeys(mailbox, thread)
    }

    private init(_ mailbox: Mailbox<Message>, _ thread: WorkerThread) {
        self.mailbox = mailbox
        self.thread = thread
    }

    func begin() { mailbox.post(.begin) }

    /// False when too many want keys already.
    func want(_ issuer: Int) -> Bool { mailbox.post(.want(issuer)) }

    func stop() {
        mailbox.close()
        thread.join()
    }

    /// The thread's own state.
    private final class Fetcher {
        private struct State {
            var source: TokenIssuer.KeySource
            var due: MonotonicNanos
            var isFetching = false
            var hasKeys = false
            var isWanted = false
            var wants = GuessLimiter(atOnce: PublishedKeys.wantsAtOnce, secondsEach: PublishedKeys.wantEachSeconds)
        }

        private let issuers: [TokenIssuer]
        private let mailbox: Mailbox<Message>
        private let tell: (Int, Finding) -> Void
        private var states: [Int: State] = [:]
        private let client = OutboundClient()
        private var hasBegun = false

        init(_ issuers: [TokenIssuer], _ mailbox: Mailbox<Message>, _ tell: @escaping (Int, Finding) -> Void) {
            self.issuers = issuers
            self.mailbox = mailbox
            self.tell = tell
            for (index, issuer) in issuers.enumerated() {
                if let source = issuer.keys { states[index] = State(source: source, due: .now()) }
            }
        }

        func run() {
            var messages = ContiguousArray<Message>()
            while true {
                if hasBegun { for issuer in states.keys.sorted() { look(issuer) } }
                _ = mailbox.wait(milliseconds: 250 * (states.values.contains(where: \.isFetching) ? 1 : 8))
                let isLast = mailbox.drain(into: &messages)
                if messages.isEmpty, isLast { break }
                for message in messages {
                    switch message {
                    case .begin: hasBegun = true
                    case .want(let issuer): want(issuer)
                    case .fetched(let issuer, let data, let reason): finish(issuer, data, reason)
                    }
                }
            }
            client.stop()
        }

        private func want(_ issuer: Int) {
            guard var state = states[issuer] else { return tell(issuer, .unavailable) }
            let now = MonotonicNanos.now()
            // One fetch answers everybody who waits for it.
            if state.isFetching || state.isWanted {
                state.isWanted = true
            } else if state.wants.wait([], now: now) != nil {
                return tell(issuer, state.hasKeys ? .nothingNew : .unavailable)
            } else {
                state.wants.count([], now: now)
                state.isWanted = true
                state.due = now
            }
            states[issuer] = state
        }

        /// Starts a fetch that is due.
        private func look(_ issuer: Int) {
            guard var state = states[issuer], !state.isFetching else { return }
            let now = MonotonicNanos.now()
            guard now >= state.due else { return }
            state.due = now.adding(seconds: PublishedKeys.refreshSeconds)
            switch state.source {
            case .file(let path):
                states[issuer] = state
                finish(issuer, FileManager.default.contents(atPath: path), "\(path) cannot be read")
            case .url(let text):
                state.isFetching = true
                states[issuer] = state
                let mailbox = mailbox
                let request = OutboundRequest(
                    "GET",
                    text,
                    deadlineMillis: PublishedKeys.timeoutSeconds * 1000,
                    answerBytesMax: PublishedKeys.bytesMax
                )
                client.send(request) { result in
                    switch result {
                    case .success(let answer) where answer.status == 200:
                        mailbox.post(.fetched(issuer, Data(answer.body), ""))
                    case .success(let answer): mailbox.post(.fetched(issuer, nil, "status \(answer.status)"))
                    case .failure(let failure): mailbox.post(.fetched(issuer, nil, failure.description))
                    }
                }
            }
        }

        private func finish(_ issuer: Int, _ data: Data?, _ reason: String) {
            guard var state = states[issuer] else { return }
            state.isFetching = false
            let isWanted = state.isWanted
            state.isWanted = false
            if let data, let keys = JWK.keys(ofSet: [UInt8](data)), !keys.isEmpty {
                state.hasKeys = true
                states[issuer] = state
                return tell(issuer, .keys(keys))
            }
            state.due = .now().adding(seconds: PublishedKeys.retrySeconds)
            states[issuer] = state
            Log.warning(
                "the keys of an issuer cannot be fetched",
                ("issuer", .string(issuers[issuer].issuer)),
                ("reason", .string(data == nil ? reason : "it is no key set"))
            )
            if isWanted || !state.hasKeys { tell(issuer, state.hasKeys ? .nothingNew : .unavailable) }
        }
    }
}

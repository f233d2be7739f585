internal import Entitlements
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// A look at everyone whose purchases a provider may have changed without anybody hearing of it.
///
/// Belongs to the thread that made it. Page after page it asks for everyone of the page and waits for all of them; then the
/// place is kept, so that a look that was cut off goes on there. A provider that cannot be read takes nothing away from
/// anybody and does not hold up the others: whom it could not be asked about is told in the end.
final class Reconciliation {
    enum Message: Sendable {
        case looked(place: Int, SyncReport)
        case remembered
    }

    /// People who are looked at together.
    private static let pageMax = 16
    /// Owners that are passed over at once in search of them.
    private static let searchMax = 256
    /// What ended earlier is over: no store goes on trying to collect a payment for longer.
    static let lapsedDays = 60
    /// How long a place is of use.
    private static let placeDays = 1
    private static let pauseMillisMin = 500
    private static let pauseMillisMax = 30_000
    /// How soon a stop is noticed.
    private static let noticeMillis = 100

    let sync: ProviderSync
    private let store: any Store
    let reader: any SQLReading
    let options: ReconcileOptions
    let mailbox: Mailbox<Message>
    let isStopped: () -> Bool
    private var place = SweepPlace()
    var report = ReconcileReport()
    /// What a trial has told already: nothing is kept of it, so it is found again.
    private var told: Set<AnswerDifference.Place> = []
    /// How much longer providers that fail are asked again; nil when they have used it up and none has been read since.
    private var patienceMillis: Int?

    /// - Parameter isStopped: Asked ten times a second while something is waited for.
    /// - Throws: When the process has no descriptor left, or the database cannot be read.
    init(
        _ sync: ProviderSync,
        _ store: any Store,
        _ options: ReconcileOptions,
        isStopped: @escaping () -> Bool
    ) throws {
        self.sync = sync
        self.store = store
        self.options = options
        self.isStopped = isStopped
        reader = try store.makeReader()
        mailbox = try Mailbox<Message>()
        patienceMillis = options.patienceSeconds * 1000
    }

    /// Looks at everyone.
    ///
    /// - Parameters:
    ///   - progress: Called after every page.
    ///   - found: Called with every difference.
    func run(
        progress: (ReconcileProgress) -> Void,
        found: (AnswerDifference) -> Void
    ) throws(StorageError) -> ReconcileReport {
        report.isDryRun = options.isDryRun
        let now = UnixMillis(wallClockMillis())
        place.began = now
        if !options.isDryRun, !options.beginsAnew, let text = try reader.remembered(.reconcilePlace),
            let known = SweepPlace(text), known.began <= now, now < known.began.adding(days: Self.placeDays)
        {
            place = known
            report.wasResumed = known.passed > 0
        }
        try keepPlace()
        var state = ReconcileProgress(passed: place.passed, total: try reader.sweepSize())
        // First what was sent and got lost: it may tell of purchases that nobody here knows.
        try readLists(&state, progress: progress, found: found)
        while !isStopped(), let page = try nextPage(now) {
            var left = page
            while !left.isEmpty, !isStopped() { left = try look(at: left, found) }
            guard !isStopped() else { break }
            try keepPlace()
            state.passed = place.passed
            state.differences = report.differenceCount
            state.unread = report.unreadCount
            progress(state)
        }
        guard !isStopped() else { return report }
        report.isComplete = true
        if !options.isDryRun {
            try remember(.reconcilePlace, nil)
            try remember(.reconciledAt, String(wallClockMillis()))
        }
        return report
    }

    // MARK: - Places

    /// The next subjects to look at, and the place behind them; nil at the end.
    private func nextPage(_ now: UnixMillis) throws(StorageError) -> [SweepSubject]? {
        let since = now.adding(days: -Self.lapsedDays)
        var page: [SweepSubject] = []
        while page.isEmpty {
            switch place.last {
            case .user(let user):
                let found = try reader.sweptUsers(
                    after: user.value,
                    limit: Self.searchMax,
                    since: since,
                    includesLifetime: options.includesLifetime
                )
                // No further than the page reaches: who comes after it is found again.
                let chosen = found.chosen.prefix(Self.pageMax)
                let end = chosen.count < found.chosen.count ? chosen.last : found.passed.last
                place.passed += end.flatMap { found.passed.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
                page = chosen.map { .user($0) }
                place.last = end.map { .user($0) } ?? .parked(0)
            case .parked(let key):
                let found = try reader.sweptParked(after: key, limit: Self.searchMax, since: since)
                guard let last = found.passed.last else { return nil }
                let chosen = found.chosen.prefix(Self.pageMax)
                let end = chosen.count < found.chosen.count ? chosen.last ?? last : last
                place.passed += found.passed.count { $0 <= end }
                page = chosen.map { .parked($0) }
                place.last = .parked(end)
            }
        }
        return page
    }

    private func keepPlace() throws(StorageError) {
        guard !options.isDryRun else { return }
        try remember(.reconcilePlace, place.text)
    }

    func remember(_ memory: StoreMemory, _ value: String?) throws(StorageError) {
        let mailbox = mailbox
        let isTaken = store.submit(.remember(memory, value)) { _ in _ = mailbox.post(.remembered) }
        guard isTaken else { throw .overloaded }
        var messages = ContiguousArray<Message>()
        _ = mailbox.wait(milliseconds: nil)
        mailbox.drain(into: &messages)
    }

    // MARK: - A page

    /// Looks at these; gives those that are to be looked at once more, after a pause.
    private func look(
        at page: [SweepSubject],
        _ found: (AnswerDifference) -> Void
    ) throws(StorageError) -> [SweepSubject] {
        var waiting: Set<Int> = []
        var unread: [(subject: SweepSubject, report: SyncReport)] = []
        let mailbox = mailbox
        for (number, subject) in page.enumerated() {
            let manner = SyncManner(isTrial: options.isDryRun, isPatient: options.isPatient)
            let isTaken = sync.sync(subject, manner) { report in
                _ = mailbox.post(.looked(place: number, report))
            }
            if isTaken {
                waiting.insert(number)
            } else {
                unread.append((subject, SyncReport(failure: "more people are being looked at than the gateway takes")))
            }
        }
        var messages = ContiguousArray<Message>()
        while !waiting.isEmpty {
            _ = mailbox.wait(milliseconds: Self.noticeMillis)
            mailbox.drain(into: &messages)
            // Who ends takes what was read with it: nothing waits for a provider then.
            if isStopped() { return [] }
            for message in messages {
                guard case .looked(let number, let seen) = message, waiting.remove(number) != nil else { continue }
                take(seen, found)
                if seen.isWhole { readOne(seen) } else { unread.append((page[number], seen)) }
            }
        }
        return again(unread)
    }

    func take(_ seen: SyncReport, _ found: (AnswerDifference) -> Void) {
        for difference in seen.differences {
            if options.isDryRun, !told.insert(difference.place).inserted { continue }
            report.add(difference)
            found(difference)
        }
    }

    private func readOne(_ seen: SyncReport) {
        if seen.questions == 0 { report.withoutAPI += 1 } else { report.looked += 1 }
        if seen.questions > 0, patienceMillis == nil { patienceMillis = options.patienceSeconds * 1000 }
    }

    /// Those of the unread that asking again may help, after the pause that is due; the others are told in the end.
    private func again(_ unread: [(subject: SweepSubject, report: SyncReport)]) -> [SweepSubject] {
        guard !unread.isEmpty else { return [] }
        let passing = unread.filter { $0.report.mayPass }
        guard let patience = patienceMillis, patience > 0, !passing.isEmpty else {
            if !passing.isEmpty { patienceMillis = nil }
            for entry in unread { report.add(entry.report, of: entry.subject) }
            return []
        }
        let hopeless = unread.filter { !$0.report.mayPass }
        for entry in hopeless { report.add(entry.report, of: entry.subject) }
        pause(patience)
        return passing.map(\.subject)
    }

    /// Waits before something is asked again: the longer the more of the patience is gone.
    private func pause(_ patience: Int) {
        let spent = options.patienceSeconds * 1000 - patience
        let pause = min(max(Self.pauseMillisMin, spent), Self.pauseMillisMax, patience)
        patienceMillis = patience - pause
        let end = MonotonicNanos.now().adding(milliseconds: pause)
        while MonotonicNanos.now() < end, !isStopped() {
            let left = Int(end.nanoseconds(since: .now()) / 1_000_000) + 1
            _ = mailbox.wait(milliseconds: min(left, Self.noticeMillis))
        }
    }

    /// True after a pause, when there is patience left for asking again about what has failed.
    func mayAskAgain(_ seen: SyncReport) -> Bool {
        guard seen.mayPass, let patience = patienceMillis, patience > 0 else { return false }
        pause(patience)
        return !isStopped()
    }

    /// One report that is waited for; nil when the look is stopped.
    func next() -> SyncReport? {
        var messages = ContiguousArray<Message>()
        while !isStopped() {
            _ = mailbox.wait(milliseconds: Self.noticeMillis)
            mailbox.drain(into: &messages)
            for case .looked(_, let seen) in messages { return seen }
        }
        return nil
    }
}

extension SyncReport {
    /// Whether everything was read and stored.
    var isWhole: Bool { unreachable.isEmpty && pending.isEmpty && failure == nil }

    /// Whether asking again may help.
    fileprivate var mayPass: Bool {
        failure != nil || !pending.isEmpty || !Set(unreachable.keys).subtracting(refused).isEmpty
    }
}

/// How far a look at everyone has come.
private struct SweepPlace {
    /// When it began.
    var began = UnixMillis(0)
    /// The last who were looked at: people by their ids, then purchases without an owner.
    var last = SweepSubject.user(UserID(unchecked: ""))
    /// How many lie behind it.
    var passed = 0

    init() {}

    /// Nil for what no version of this program has written.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let began = Int64(parts[0]), let passed = Int(parts[1]) else { return nil }
        (self.began, self.passed) = (UnixMillis(began), passed)
        switch parts[2] {
        case "user": last = .user(UserID(unchecked: parts[3]))
        case "parked":
            guard let key = Int64(parts[3]) else { return nil }
            last = .parked(key)
        default: return nil
        }
    }

    var text: String {
        switch last {
        case .user(let user): "\(began.value) \(passed) user \(user.value)"
        case .parked(let key): "\(began.value) \(passed) parked \(key)"
        }
    }
}

internal import Entitlements
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// What providers list by themselves: the notifications they have sent, the purchases they have taken back. Each list is read
/// from where it was read last, page after page; the place is kept after every page.
extension Reconciliation {
    /// What happened shortly before the end of the last reading may not have been listed yet; it is read twice.
    private static let overlapMillis: Int64 = 3_600_000
    /// The end of a reading lies so far back that no provider's clock takes it for the future.
    private static let behindMillis: Int64 = 60_000
    /// The oldest that is asked for is a little younger than what a provider still keeps.
    private static let marginMillis: Int64 = 3_600_000
    /// Pages of one list in one look; more than that is a list that goes round in a circle.
    private static let pagesMax = 100_000
    /// How long a provider knows the token of a page, at the least that is hoped for.
    private static let tokenDays = 1

    func readLists(
        _ state: inout ReconcileProgress,
        progress: (ReconcileProgress) -> Void,
        found: (AnswerDifference) -> Void
    ) throws(StorageError) {
        for list in sync.lists where !isStopped() { try read(list, &state, progress: progress, found: found) }
    }

    private func read(
        _ list: ProviderSync.List,
        _ state: inout ReconcileProgress,
        progress: (ReconcileProgress) -> Void,
        found: (AnswerDifference) -> Void
    ) throws(StorageError) {
        let memory = StoreMemory.listPlace(list.provider, list.list.name)
        var page = try firstPage(of: list, memory)
        var isResumed = page.token != nil
        // A page that could not be written stays the place, so that the next look reads it again; the others are read.
        var keepsPlace = !options.isDryRun
        var pages = 0
        while !isStopped() {
            guard let seen = look(at: page, of: list) else { return }
            take(seen, found)
            guard seen.unreachable.isEmpty, seen.pending.isEmpty else {
                if isResumed, !seen.notUnderstood.isEmpty {
                    // The provider does not know the place any more: from the beginning of what is missing.
                    (page.token, isResumed) = (nil, false)
                    continue
                }
                if mayAskAgain(seen) { continue }
                return report.add(seen, of: "\(list.provider.name) \(list.list.name)")
            }
            if seen.failure != nil, keepsPlace || options.isDryRun {
                if mayAskAgain(seen) { continue }
                report.add(seen, of: "\(list.provider.name) \(list.list.name)")
                keepsPlace = false
            }
            isResumed = false
            report.pages += 1
            state.pages = report.pages
            state.differences = report.differenceCount
            state.unread = report.unreadCount
            page.token = seen.nextPage
            if keepsPlace { try remember(memory, ListPlace(page).text) }
            progress(state)
            if page.token == nil { return }
            pages += 1
            guard pages < Self.pagesMax else {
                return report.add(
                    SyncReport(unreachable: [list.provider: "its list has no end"]),
                    of: "\(list.provider.name) \(list.list.name)"
                )
            }
        }
    }

    private func firstPage(
        of list: ProviderSync.List,
        _ memory: StoreMemory
    ) throws(StorageError) -> APIListPage {
        let now = UnixMillis(wallClockMillis())
        let known = options.beginsAnew ? nil : try reader.remembered(memory).flatMap(ListPlace.init)
        if let known, let token = known.token, known.until <= now, now < known.until.adding(days: Self.tokenDays),
            !options.isDryRun
        {
            return APIListPage(list: list.list.name, from: known.from, until: known.until, token: token)
        }
        let oldest = now.adding(days: -list.list.days).adding(millis: Self.marginMillis)
        // Where the last reading came to its end, there the next one begins.
        let from = known.map { $0.token == nil ? $0.until.adding(millis: -Self.overlapMillis) : $0.from } ?? oldest
        let until = now.adding(millis: -Self.behindMillis)
        return APIListPage(list: list.list.name, from: min(max(from, oldest), until), until: until, token: nil)
    }

    private func look(at page: APIListPage, of list: ProviderSync.List) -> SyncReport? {
        let manner = SyncManner(isTrial: options.isDryRun, isPatient: options.isPatient)
        let mailbox = mailbox
        let isTaken = sync.read(page, of: list, manner) { report in _ = mailbox.post(.looked(place: 0, report)) }
        return isTaken ? next() : SyncReport(failure: "more is being looked at than the gateway takes")
    }
}

/// How far a list has been read.
private struct ListPlace {
    var from: UnixMillis
    var until: UnixMillis
    /// Where the next page begins; nil when all was read.
    var token: String?

    init(_ page: APIListPage) {
        (from, until, token) = (page.from, page.until, page.token)
    }

    /// Nil for what no version of this program has written.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1, let from = Int64(parts[0]), let until = Int64(parts[1]) else { return nil }
        (self.from, self.until) = (UnixMillis(from), UnixMillis(until))
        token = parts.count > 2 ? parts[2] : nil
    }

    var text: String {
        ["\(from.value)", "\(until.value)"].appending(token).joined(separator: " ")
    }
}

extension [String] {
    fileprivate func appending(_ element: String?) -> [String] { self + [element].compactMap(\.self) }
}

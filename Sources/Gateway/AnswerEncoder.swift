internal import Entitlements
internal import SQLStorage
internal import Storage

/// What a question about a user asks for.
struct AnswerQuestion {
    /// The id as it was asked for, percent-decoded.
    var user: [UInt8] = []
    /// Name of the entitlement, as bytes.
    var entitlement: [UInt8] = []
    var environment = StoreEnvironment.production
    /// The moment the row is judged at.
    var moment = UnixMillis(0)
}

/// What an answer says besides its bytes: enough for its tag, for the gate and for a waiting reader.
struct AnswerSummary: Equatable {
    var version: Int64 = 0
    var isEntitled = false
    var status = Status.none
    /// The next moment at which the clock alone changes the answer.
    var changesAt: UnixMillis?
    /// When access ended by the clock although the purchase was to renew and no event said that it did not.
    var lapsedAt: UnixMillis?
}

/// Writes the answer of contract section 5 straight from the row's bytes.
enum AnswerEncoder {
    /// Writes the answer as an object without its closing brace, so that more can follow.
    static func encode(
        _ question: borrowing AnswerQuestion,
        _ row: borrowing RowView?,
        into json: inout JSONWriter
    ) -> AnswerSummary {
        var summary = AnswerSummary()
        var winner: RowEntry?
        switch row {
        case .some(let row):
            summary.version = row.version
            winner = find(question.entitlement, in: row.body)
            let settled = judge(winner, at: question.moment)
            (summary.isEntitled, summary.status, summary.changesAt) = settled
            if !summary.isEntitled, summary.status == .expired, let winner, winner.willRenew {
                summary.lapsedAt = winner.end
            }
        case .none: break
        }
        head(question, summary, winner, into: &json)
        switch row {
        case .some(let row):
            texts(winner, row.body, into: &json)
            environment(question, into: &json)
            entitlements(row.body, winner, into: &json)
            tail(version: row.version, updatedAt: row.updatedAt, into: &json)
        case .none:
            json.part(
                ",\"provider\":null,\"store\":null,\"product_id\":null,\"purchase_id\":null,\"management_url\":null"
            )
            environment(question, into: &json)
            json.part(",\"entitlements\":{}")
            tail(version: 0, updatedAt: nil, into: &json)
        }
        return summary
    }

    /// The same from a copy of the row.
    static func encode(
        _ question: borrowing AnswerQuestion,
        copy: RowCopy,
        into json: inout JSONWriter
    ) -> AnswerSummary {
        switch copy {
        case .row(let version, let updatedAt, let body):
            encode(question, RowView(version: version, updatedAt: updatedAt, body: body.span), into: &json)
        case .erased(let version, let updatedAt):
            encodeErased(question, version: version, updatedAt: updatedAt, into: &json)
        case .none: encode(question, nil, into: &json)
        }
    }

    /// The answer for someone whose row was erased: as if there had never been one, but the version.
    static func encodeErased(
        _ question: borrowing AnswerQuestion,
        version: Int64,
        updatedAt: UnixMillis,
        into json: inout JSONWriter
    ) -> AnswerSummary {
        let summary = AnswerSummary(version: version)
        head(question, summary, nil, into: &json)
        json.part(",\"provider\":null,\"store\":null,\"product_id\":null,\"purchase_id\":null,\"management_url\":null")
        environment(question, into: &json)
        json.part(",\"entitlements\":{}")
        tail(version: version, updatedAt: updatedAt, into: &json)
        return summary
    }

    private static func find(_ name: [UInt8], in body: Span<UInt8>) -> RowEntry? {
        guard body.count >= 2 else { return nil }
        var offset = 2
        for _ in 0..<body[1] {
            guard let entry = RowEntry(body, at: offset) else { return nil }
            if entry.name.count == name.count {
                var isEqual = true
                for index in 0..<name.count where body[entry.name.start + index] != name[index] { isEqual = false }
                if isEqual { return entry }
            }
            offset += entry.size
        }
        return nil
    }

    private static func judge(_ entry: RowEntry?, at moment: UnixMillis) -> (Bool, Status, UnixMillis?) {
        guard let entry else { return (false, .none, nil) }
        let status = Gate.status(
            end: entry.end,
            graceFrom: entry.graceFrom,
            live: entry.live,
            ended: entry.ended,
            at: moment
        )
        var next: UnixMillis?
        if let end = entry.end, moment < end { next = end }
        if let grace = entry.graceFrom, moment < grace, grace < next ?? .latest { next = grace }
        return (Gate.isEntitled(end: entry.end, at: moment), status, next)
    }

    private static func head(
        _ question: borrowing AnswerQuestion,
        _ summary: AnswerSummary,
        _ winner: RowEntry?,
        into json: inout JSONWriter
    ) {
        json.part("{\"user_id\":")
        json.string(question.user)
        json.part(",\"entitlement\":")
        json.string(question.entitlement)
        json.part(summary.isEntitled ? ",\"entitled\":true,\"status\":\"" : ",\"entitled\":false,\"status\":\"")
        json.raw(summary.status.name)
        json.part("\",\"access_until\":")
        json.time(winner?.end)
        json.part(",\"period_end\":")
        json.time(winner?.periodEnd)
        let isLifetime = winner.map { $0.end == nil } ?? false
        json.part(isLifetime ? ",\"lifetime\":true,\"will_renew\":" : ",\"lifetime\":false,\"will_renew\":")
        json.part(winner?.willRenew ?? false ? "true" : "false")
    }

    private static func texts(_ winner: RowEntry?, _ body: Span<UInt8>, into json: inout JSONWriter) {
        func text(_ place: RowEntry.Text?, _ json: inout JSONWriter) {
            guard let place else { return json.null() }
            json.string(body.extracting(place.start..<place.start + place.count))
        }
        json.part(",\"provider\":")
        text(winner?.provider, &json)
        json.part(",\"store\":")
        text(winner?.store, &json)
        json.part(",\"product_id\":")
        text(winner?.product, &json)
        json.part(",\"purchase_id\":")
        text(winner?.purchaseID, &json)
        json.part(",\"management_url\":")
        text(winner?.managementURL, &json)
    }

    private static func environment(_ question: borrowing AnswerQuestion, into json: inout JSONWriter) {
        json.part(
            question.environment == .production ? ",\"environment\":\"production\"" : ",\"environment\":\"sandbox\""
        )
    }

    private static func entitlements(_ body: Span<UInt8>, _ winner: RowEntry?, into json: inout JSONWriter) {
        json.part(",\"entitlements\":{")
        var offset = 2
        let count = body.count > 1 ? body[1] : 0
        for index in 0..<count {
            // Most rows have one entry, and it was read already.
            let known = count == 1 ? winner : nil
            guard let entry = known ?? RowEntry(body, at: offset) else { break }
            if index > 0 { json.part(",") }
            json.string(body.extracting(entry.name.start..<entry.name.start + entry.name.count))
            json.part(":")
            json.time(entry.end)
            offset += entry.size
        }
        json.part("}")
    }

    private static func tail(version: Int64, updatedAt: UnixMillis?, into json: inout JSONWriter) {
        json.part(",\"version\":")
        json.integer(version)
        json.part(",\"updated_at\":")
        json.time(updatedAt)
    }
}

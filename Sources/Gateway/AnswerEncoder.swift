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
            json.raw(
                ",\"provider\":null,\"store\":null,\"product_id\":null,\"purchase_id\":null,\"management_url\":null"
            )
            environment(question, into: &json)
            json.raw(",\"entitlements\":{}")
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
        json.raw(",\"provider\":null,\"store\":null,\"product_id\":null,\"purchase_id\":null,\"management_url\":null")
        environment(question, into: &json)
        json.raw(",\"entitlements\":{}")
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
        json.raw("{\"user_id\":")
        json.string(question.user)
        json.raw(",\"entitlement\":")
        json.string(question.entitlement)
        json.raw(",\"entitled\":")
        json.bool(summary.isEntitled)
        json.raw(",\"status\":")
        json.string(summary.status.name)
        json.raw(",\"access_until\":")
        json.time(winner?.end)
        json.raw(",\"period_end\":")
        json.time(winner?.periodEnd)
        json.raw(",\"lifetime\":")
        json.bool(winner.map { $0.end == nil } ?? false)
        json.raw(",\"will_renew\":")
        json.bool(winner?.willRenew ?? false)
    }

    private static func texts(_ winner: RowEntry?, _ body: Span<UInt8>, into json: inout JSONWriter) {
        func text(_ place: RowEntry.Text?, _ json: inout JSONWriter) {
            guard let place else { return json.null() }
            json.string(body.extracting(place.start..<place.start + place.count))
        }
        json.raw(",\"provider\":")
        text(winner?.provider, &json)
        json.raw(",\"store\":")
        text(winner?.store, &json)
        json.raw(",\"product_id\":")
        text(winner?.product, &json)
        json.raw(",\"purchase_id\":")
        text(winner?.purchaseID, &json)
        json.raw(",\"management_url\":")
        text(winner?.managementURL, &json)
    }

    private static func environment(_ question: borrowing AnswerQuestion, into json: inout JSONWriter) {
        json.raw(
            question.environment == .production ? ",\"environment\":\"production\"" : ",\"environment\":\"sandbox\""
        )
    }

    private static func entitlements(_ body: Span<UInt8>, _ winner: RowEntry?, into json: inout JSONWriter) {
        json.raw(",\"entitlements\":{")
        var offset = 2
        let count = body.count > 1 ? body[1] : 0
        for index in 0..<count {
            // Most rows have one entry, and it was read already.
            let known = count == 1 ? winner : nil
            guard let entry = known ?? RowEntry(body, at: offset) else { break }
            if index > 0 { json.raw(",") }
            json.string(body.extracting(entry.name.start..<entry.name.start + entry.name.count))
            json.raw(":")
            json.time(entry.end)
            offset += entry.size
        }
        json.raw("}")
    }

    private static func tail(version: Int64, updatedAt: UnixMillis?, into json: inout JSONWriter) {
        json.raw(",\"version\":")
        json.integer(version)
        json.raw(",\"updated_at\":")
        json.time(updatedAt)
    }
}

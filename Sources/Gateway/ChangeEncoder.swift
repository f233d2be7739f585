internal import Entitlements
internal import SQLStorage
internal import Storage

/// Writes a changed answer as the seller's systems get it, as a notification and as an event of a stream.
enum ChangeEncoder {
    static let type: StaticString = "entitlement.changed"

    /// `{"type", "timestamp", "data": {…the answer…, "previous": {…}}}`.
    static func encode(_ change: AnswerChange, into json: inout JSONWriter) {
        open(change.after, change.user, change.environment, change.entitlement, into: &json)
        json.raw(",\"previous\":")
        answer(change.before, change.user, change.environment, change.entitlement, into: &json)
        json.raw("}}}")
    }

    /// The same where the answer before is not known any more.
    static func encode(
        _ row: JudgedRow,
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ entitlement: String,
        into json: inout JSONWriter
    ) {
        open(row, user, environment, entitlement, into: &json)
        json.raw(",\"previous\":null}}")
    }

    private static func open(
        _ row: JudgedRow,
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ entitlement: String,
        into json: inout JSONWriter
    ) {
        json.raw("{\"type\":")
        json.string(type)
        json.raw(",\"timestamp\":")
        json.time(row.moment)
        json.raw(",\"data\":")
        answer(row, user, environment, entitlement, into: &json)
    }

    /// An answer without its closing brace.
    private static func answer(
        _ row: JudgedRow,
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ entitlement: String,
        into json: inout JSONWriter
    ) {
        let question = AnswerQuestion(
            user: Array(user.value.utf8),
            entitlement: Array(entitlement.utf8),
            environment: environment,
            moment: row.moment
        )
        guard let updatedAt = row.updatedAt else {
            _ = AnswerEncoder.encode(question, nil, into: &json)
            return
        }
        _ = AnswerEncoder.encode(
            question,
            RowView(version: row.version, updatedAt: updatedAt, body: row.body.span),
            into: &json
        )
    }
}

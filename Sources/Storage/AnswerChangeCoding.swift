package import Entitlements

/// A change of an answer as bytes, as it waits in the outbox; the user stands beside it.
package enum AnswerChangeCoding {
    private static let version: UInt8 = 1

    package static func encode(_ change: AnswerChange) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(version)
        writer.signed(change.sequence)
        writer.byte(change.environment.rawValue)
        writer.text(change.entitlement)
        for row in [change.before, change.after] {
            writer.signed(row.version)
            writer.optional(row.updatedAt) { $0.signed($1.value) }
            writer.signed(row.moment.value)
            writer.blob(row.body)
        }
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8], user: UserID) throws(StorageError) -> AnswerChange {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw .damaged("a message of an unknown form") }
        let sequence = try reader.signed()
        guard let environment = StoreEnvironment(rawValue: try reader.byte()) else {
            throw .damaged("a message of no environment")
        }
        let entitlement = try reader.text()
        let before = try row(&reader)
        let after = try row(&reader)
        return AnswerChange(
            sequence: sequence,
            user: user,
            environment: environment,
            entitlement: entitlement,
            before: before,
            after: after
        )
    }

    private static func row(_ reader: inout ByteReader) throws(StorageError) -> JudgedRow {
        let version = try reader.signed()
        let updatedAt = try reader.flag() ? UnixMillis(try reader.signed()) : nil
        let moment = UnixMillis(try reader.signed())
        return JudgedRow(version: version, updatedAt: updatedAt, body: try reader.blob(), moment: moment)
    }
}

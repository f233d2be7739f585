internal import Entitlements
internal import Foundation
internal import Platform
internal import SQLStorage
internal import Storage

/// Everything that is kept about a person, as one JSON document.
enum PersonExport {
    static func encode(
        _ user: UserID,
        _ reader: any SQLReading,
        _ entitlement: String,
        maxDevices: Int
    ) throws(StorageError) -> [UInt8] {
        var json = JSONWriter()
        json.raw("{")
        json.key("user_id")
        json.string(user.value)
        json.key("exported_at")
        json.time(UnixMillis(wallClockMillis()))
        reader.letGo()
        let ids = try reader.person(of: user)
        json.list("ids", ids) { $0.string($1.value) }
        json.key("answers")
        json.raw("[")
        for id in ids {
            for environment in StoreEnvironment.allCases { try answer(id, environment, entitlement, reader, &json) }
        }
        json.raw("]")
        var records = KeptRecords()
        for id in ids {
            let kept = try reader.kept(of: id)
            records.purchases += kept.purchases
            let known = Set(records.events.map(\.view.sequence))
            records.events += kept.events.filter { !known.contains($0.view.sequence) }
            records.identities += kept.identities
            records.grants += kept.grants
            records.transfers += kept.transfers.filter { !records.transfers.contains($0) }
            records.audit += kept.audit
            records.messages += kept.messages
        }
        write(records, &json)
        json.list("licenses", try LicenseReader(reader).licenses(of: user)) { json, view in
            json.raw("{")
            json.members(of: view.license, devices: view.license.maxDevices ?? maxDevices)
            json.seats(view.seats)
            json.raw("}")
        }
        json.raw("}")
        return json.bytes
    }

    private static func answer(
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ entitlement: String,
        _ reader: any SQLReading,
        _ json: inout JSONWriter
    ) throws(StorageError) {
        let question = AnswerQuestion(
            user: Array(user.value.utf8),
            entitlement: Array(entitlement.utf8),
            environment: environment,
            moment: UnixMillis(wallClockMillis())
        )
        json.separate()
        var text = JSONWriter()
        switch try reader.rowCopy(of: user, in: environment) {
        case .row(let version, let updatedAt, let body):
            _ = AnswerEncoder.encode(
                question,
                RowView(version: version, updatedAt: updatedAt, body: body.span),
                into: &text
            )
        case .erased, .none: _ = AnswerEncoder.encode(question, nil, into: &text)
        }
        json.raw(text.bytes)
        json.raw("}")
    }

    private static func write(_ records: KeptRecords, _ json: inout JSONWriter) {
        json.list("purchases", records.purchases) { json, purchase in
            json.raw("{")
            json.key("purchase_id")
            json.string(purchase.purchaseID)
            json.key("provider")
            json.string(purchase.provider.name)
            json.key("environment")
            json.string(purchase.environment.name)
            json.key("owner")
            json.optional(purchase.owner.flatMap { $0.isErased ? nil : $0.value })
            json.list("external_ids", purchase.ids) { json, id in
                json.raw("{")
                json.key("namespace")
                json.string(id.namespace)
                json.key("value")
                json.string(id.value)
                json.raw("}")
            }
            json.list("facts", purchase.facts) { $0.fact($1) }
            json.raw("}")
        }
        json.list("events", records.events) { $0.event($1) }
        json.list("identities", records.identities) { $0.identity($1) }
        json.list("grants", records.grants) { $0.grant($1) }
        json.list("transfers", records.transfers) { json, transfer in
            json.raw("{")
            json.key("at")
            json.time(transfer.at)
            json.key("event_id")
            json.string(transfer.eventID)
            for (name, holder) in [("from", transfer.from), ("to", transfer.to)] {
                let users = holder.users.filter { !$0.isErased }.map(\.value)
                json.list(name, users + holder.anonymous.map(\.value)) { $0.string($1) }
            }
            json.raw("}")
        }
        json.list("audit", records.audit) { json, entry in
            json.raw("{")
            json.members(of: entry)
            json.raw("}")
        }
        json.list("notifications", records.messages) { json, message in
            json.raw("{")
            json.key("message_id")
            json.string(message.messageID)
            json.key("created_at")
            json.time(message.createdAt)
            json.key("dead_at")
            json.time(message.deadAt)
            json.key("message")
            if let change = try? AnswerChangeCoding.decode(message.body, user: message.user) {
                ChangeEncoder.encode(change, into: &json)
            } else {
                json.null()
            }
            json.raw("}")
        }
    }
}

extension JSONWriter {
    fileprivate mutating func event(_ kept: KeptEvent) {
        raw("{")
        members(of: kept.view)
        key("payload")
        // What is kept of a body that was no JSON is a text.
        if let payload = kept.payload {
            let isJSON = (try? JSONSerialization.jsonObject(with: Data(payload), options: .fragmentsAllowed)) != nil
            if isJSON { raw(payload) } else { string(payload) }
        } else {
            null()
        }
        raw("}")
    }
}

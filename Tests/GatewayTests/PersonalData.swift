internal import Foundation
internal import TestSupport

/// Values that stand for a person's data; each can be searched for in the bytes of a file.
enum PersonalData {
    /// In every one of them, so that nothing else is taken for one.
    static let mark = "zqx"
    /// Something that may be kept: where it is found, a payload was kept, and the search finds what is there.
    static let harmless: JSONObject.Member = (key: "campaign", value: "zkept-control")

    private static let address: JSONValue = [
        "line1": "zqx-street 1", "line2": "zqx-floor", "city": "zqx-city", "postal_code": "zqx-postal",
        "state": "zqx-state",
        "country": "zqx-country",
    ]

    /// Fields that say by their name what they hold, as the providers name them.
    static let fields: [JSONObject.Member] = [
        (key: "email", value: "zqx.person@example.org"), (key: "customer_email", value: "zqx.customer@example.org"),
        (key: "name", value: "zqx-name"), (key: "first_name", value: "zqx-first"), (key: "lastName", value: "zqx-last"),
        (key: "phone", value: "+49 151 zqx-phone"), (key: "phone_number", value: .string("zqx-number")),
        (key: "address", value: address), (key: "billing_address", value: address), (key: "shipping", value: address),
        (key: "billing_details", value: ["name": "zqx-billing", "address": address]),
        (
            key: "subscriber_attributes",
            value: [
                "$email": ["value": "zqx.attribute@example.org", "updated_at_ms": 1],
                "$displayName": ["value": "zqx-display", "updated_at_ms": 1],
                "hobby": ["value": "zqx-hobby", "updated_at_ms": 1],
            ]
        ),
        (key: "card", value: ["brand": "zqx-brand", "last4": "zqx-4", "cardholder_name": "zqx-holder"]),
        (key: "ip_address", value: "zqx-ip"),
    ]

    /// What sellers put where no schema expects it, and what its value gives away.
    static let oddFields: [JSONObject.Member] = [
        (key: "E-Mail", value: "zqx-email-without-sign"), (key: "Customer Email", value: "zqx-customer email"),
        (key: "kunde", value: "zqx.kunde@example.org"), (key: "zqx.key@example.org", value: "yes"),
        (key: "comment", value: "please write to zqx.comment@example.org, thanks"),
        (key: "list", value: ["a", ["zqx.list@example.org"]]),
        (key: "mailto", value: "mailto:zqx.mailto@example.org?subject=x"), (key: "Full Name", value: "zqx-full"),
        (key: "first-name", value: "zqx-first-name"), (key: "shippingAddress", value: "zqx-shipping"),
    ]

    /// An event with personal data at every place: where it had some, and beside the other members of every object.
    static func planted(in value: JSONValue, odd: Bool = true) -> JSONValue {
        switch value {
        case .object(let object):
            var planted = JSONObject(
                object.members.map { member in
                    let isPersonal = fields.contains { $0.key == member.key }
                    return (
                        key: member.key, value: isPersonal ? .null : PersonalData.planted(in: member.value, odd: false)
                    )
                }
            )
            if ["metadata", "custom_data", "customer"].contains(where: { object[$0] != nil }) || odd {
                for member in fields + [harmless] { planted[member.key] = member.value }
            }
            if odd { for member in oddFields { planted[member.key] = member.value } }
            for name in ["metadata", "custom_data"] {
                guard case .object(var metadata)? = planted[name] else { continue }
                for member in fields + oddFields { metadata[member.key] = member.value }
                planted[name] = .object(metadata)
            }
            return .object(planted)
        case .array(let elements): return .array(elements.map { PersonalData.planted(in: $0, odd: false) })
        case .null, .bool, .number, .string: return value
        }
    }

    /// Texts around every place where a planted value is found.
    static func finds(of text: String = mark, in data: Data) -> [String] {
        var found: [String] = []
        var start = data.startIndex
        while let range = data.range(of: Data(text.utf8), in: start..<data.endIndex) {
            let from = max(data.startIndex, range.lowerBound - 30)
            let until = min(data.endIndex, range.upperBound + 30)
            found.append(String(decoding: data[from..<until], as: UTF8.self))
            start = range.upperBound
        }
        return found
    }
}

extension JSONValue {
    /// The same with another value at a path of member names; members on the way must be there.
    func setting(_ path: [String], to value: JSONValue?) -> JSONValue {
        guard let name = path.first, case .object(var object) = self else { return self }
        if path.count == 1 {
            object[name] = value
        } else if let inner = object[name] {
            object[name] = inner.setting(Array(path.dropFirst()), to: value)
        }
        return .object(object)
    }

    /// The same with other values for every member of one of these names, wherever it stands.
    func replacing(_ names: [String: JSONValue]) -> JSONValue {
        switch self {
        case .object(let object):
            .object(JSONObject(object.members.map { ($0.key, names[$0.key] ?? $0.value.replacing(names)) }))
        case .array(let elements): .array(elements.map { $0.replacing(names) })
        case .null, .bool, .number, .string: self
        }
    }
}

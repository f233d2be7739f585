internal import Entitlements

extension ManifestAdapter {
    public func readdress(_ sample: JSON, to recipient: SampleRecipient) -> JSON {
        let reading = ManifestReading(document: sample, numberFormat: .seconds)
        var table: [JSON: JSON] = [:]
        for value in identifyingValues {
            for found in reading.all(value) { table[found] = marked(found, recipient.mark) }
        }
        var document = sample.replacing(table)
        if case .value(let value) = manifest.event.id {
            document = set(.string(recipient.eventID), at: value, in: document, creating: true)
        }
        document = address(document, recipient)
        if let production = manifest.event.production {
            document = choose(recipient.environment, production, in: document)
        }
        return document
    }

    /// Everything that names a purchase, a payment or a customer.
    private var identifyingValues: [ManifestValue] {
        var values = manifest.customers
        for rule in manifest.rules {
            values.append(rule.purchase.id.value)
            values += rule.purchase.also.map(\.value)
            values += rule.customers ?? []
            switch rule.meaning {
            case .payment(let shape): values += shape.ids
            case .adjustment(_, let shape): values += shape.payments + [shape.id]
            case .state, .link: continue
            }
        }
        return values
    }

    private func marked(_ value: JSON, _ mark: UInt32) -> JSON {
        switch value {
        case .string(let text):
            // One id may stand in one place as a number and in another as its text; both must stay the same id.
            guard let number = Int64(text), String(number) == text else { return .string("\(text)_\(mark)") }
            return .string(String(marked(number, mark)))
        case .integer(let number): return .integer(marked(number, mark))
        case .object(var members):
            if let id = members["id"] { members["id"] = marked(id, mark) }
            return .object(members)
        case .null, .bool, .number, .array: return value
        }
    }

    /// Numbers stay numbers of a plausible size.
    private func marked(_ number: Int64, _ mark: UInt32) -> Int64 {
        number &* 1_000_000 &+ Int64(mark % 1_000_000)
    }

    private func address(_ document: JSON, _ recipient: SampleRecipient) -> JSON {
        var document = document
        for (index, value) in manifest.user.metadata.enumerated() {
            for place in value.places where !place.text.contains("*") {
                let isThere = !place.values(in: document, element: nil).isEmpty
                guard isThere || index == 0 else { continue }
                document = document.setting(.object(["user_id": .string(recipient.user)]), at: place.path)
            }
        }
        for value in manifest.user.references {
            document = set(.string(recipient.user), at: value, in: document, creating: false)
        }
        return document
    }

    private func set(_ new: JSON, at value: ManifestValue, in document: JSON, creating: Bool) -> JSON {
        var document = document
        for place in value.places where !place.text.contains("*") {
            if creating || !place.values(in: document, element: nil).isEmpty {
                document = document.setting(new, at: place.path)
            }
        }
        return document
    }

    /// Makes the question "is this about real money" come out as wanted.
    private func choose(_ environment: StoreEnvironment, _ condition: ManifestCondition, in document: JSON) -> JSON {
        guard case .equals(let value, let wanted) = condition, let production = wanted.first?.json else {
            return document
        }
        if environment == .production { return set(production, at: value, in: document, creating: false) }
        let sandbox: JSON
        switch production {
        case .bool(let flag): sandbox = .bool(!flag)
        case .string: sandbox = .string("test")
        default: return document
        }
        return set(sandbox, at: value, in: document, creating: false)
    }
}

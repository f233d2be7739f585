extension Manifest {
    /// Every place that the manifest reads.
    var pointers: [JSONPointer] {
        var values: [ManifestValue?] = [event.type, event.time]
        var conditions: [ManifestCondition?] = [event.production]
        if case .value(let id) = event.id { values.append(id) }
        values += user.metadata + user.references + customers
        var found: [JSONPointer] = []
        for rule in rules {
            values += [rule.purchase.id.value] + rule.purchase.also.map(\.value)
            values += (rule.user.map { $0.metadata + $0.references } ?? []) + (rule.customers ?? [])
            conditions.append(rule.condition)
            switch rule.meaning {
            case .state(let shape):
                values += [
                    shape.status.value, shape.periodStart, shape.periodEnd, shape.version, shape.endsAt, shape.limit,
                ]
                values += [shape.failingSince, shape.purchasedAt, shape.managementURL, shape.items?.start]
                values.append(shape.items?.end)
                values += shape.products + (shape.items?.products ?? [])
                conditions += [shape.renews, shape.collectionPaused, shape.isFirstPeriod]
                if let each = shape.items?.each { found.append(each) }
            case .payment(let shape):
                values += shape.ids + shape.products
                values += [shape.paidAt, shape.periodStart, shape.periodEnd, shape.amount]
            case .adjustment(_, let shape):
                values += shape.payments
                values += [shape.id, shape.standing, shape.at, shape.periodStart, shape.periodEnd, shape.total]
                switch shape.size {
                case .full: break
                case .part(let value), .soFar(let value): values.append(value)
                }
                conditions.append(shape.isFull)
            case .link: break
            }
        }
        for value in values.compactMap(\.self) { found += value.pointers }
        for condition in conditions.compactMap(\.self) { found += condition.pointers }
        return found
    }
}

extension ManifestValue {
    fileprivate var pointers: [JSONPointer] {
        places + (each.map { [$0] } ?? []) + (condition?.pointers ?? [])
    }
}

extension ManifestCondition {
    fileprivate var pointers: [JSONPointer] {
        switch self {
        case .equals(let value, _), .isNull(let value): value.pointers
        case .sameAs(let left, let right), .lessThan(let left, let right): left.pointers + right.pointers
        case .not(let inner): inner.pointers
        case .all(let inner), .any(let inner): inner.flatMap(\.pointers)
        }
    }
}

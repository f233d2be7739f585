package import Entitlements

/// Facts as bytes. The first byte names the kind, so that a later version can add kinds; a kind is never changed.
package enum FactCoding {
    private enum Kind: UInt8 {
        case state = 1
        case payment = 2
        case adjustment = 3
        case owner = 4
        case customer = 5
        case superseded = 6
        /// A state whose items have starts of their own.
        case stateOfItems = 7
        /// Several facts, one after the other, after their number.
        case several = 8
    }

    /// What one event says of a purchase with one set of ids: a record of its own.
    package static func encode(_ facts: [RecordedFact]) -> [UInt8] {
        var writer = ByteWriter()
        if facts.count != 1 {
            writer.byte(Kind.several.rawValue)
            writer.unsigned(UInt64(facts.count))
        }
        for fact in facts { write(fact, &writer) }
        return writer.bytes
    }

    package static func decode(
        _ bytes: [UInt8],
        provider: ProviderID,
        eventID: String
    ) throws(StorageError) -> [RecordedFact] {
        var reader = ByteReader(bytes)
        var facts: [RecordedFact] = []
        var left: UInt64 = 1
        if bytes.first == Kind.several.rawValue {
            _ = try reader.byte()
            left = try reader.unsigned()
        }
        while left > 0 {
            facts.append(try fact(&reader, provider: provider, eventID: eventID))
            left -= 1
        }
        return facts
    }

    private static func write(_ recorded: RecordedFact, _ writer: inout ByteWriter) {
        switch recorded.fact {
        case .state(let state): write(state, &writer)
        case .payment(let payment): write(payment, &writer)
        case .adjustment(let adjustment): write(adjustment, &writer)
        case .owner(let owner):
            writer.byte(Kind.owner.rawValue)
            writer.byte(owner.source.rawValue)
            writer.signed(owner.at.value)
            writer.texts(owner.users.map(\.value))
            writer.unsigned(UInt64(owner.anonymous.count))
            for customer in owner.anonymous { write(customer, &writer) }
        case .customer(let customer):
            writer.byte(Kind.customer.rawValue)
            write(customer, &writer)
        case .superseded(let at):
            writer.byte(Kind.superseded.rawValue)
            writer.signed(at.value)
        }
        writer.byte(recorded.isSecondHand ? 1 : 0)
    }

    private static func fact(
        _ reader: inout ByteReader,
        provider: ProviderID,
        eventID: String
    ) throws(StorageError) -> RecordedFact {
        let fact: Fact
        switch Kind(rawValue: try reader.byte()) {
        case .state: fact = .state(try state(&reader, itemsHaveStarts: false))
        case .stateOfItems: fact = .state(try state(&reader, itemsHaveStarts: true))
        case .payment: fact = .payment(try payment(&reader))
        case .adjustment: fact = .adjustment(try adjustment(&reader))
        case .owner: fact = .owner(try owner(&reader))
        case .customer: fact = .customer(try customer(&reader))
        case .superseded: fact = .superseded(at: UnixMillis(try reader.signed()))
        case .several, nil: throw .damaged("a fact of an unknown kind")
        }
        let isSecondHand = try reader.flag()
        return RecordedFact(provider: provider, eventID: eventID, isSecondHand: isSecondHand, fact: fact)
    }

    // MARK: - Parts

    private static func write(_ time: UnixMillis?, _ writer: inout ByteWriter) {
        writer.optional(time) { $0.signed($1.value) }
    }

    private static func time(_ reader: inout ByteReader) throws(StorageError) -> UnixMillis? {
        try reader.flag() ? UnixMillis(try reader.signed()) : nil
    }

    private static func text(_ reader: inout ByteReader) throws(StorageError) -> String? {
        try reader.flag() ? try reader.text() : nil
    }

    private static func write(_ customer: CustomerID, _ writer: inout ByteWriter) {
        writer.text(customer.provider.name)
        writer.text(customer.value)
    }

    private static func customer(_ reader: inout ByteReader) throws(StorageError) -> CustomerID {
        let provider = ProviderID(try reader.text())
        return CustomerID(provider: provider, value: try reader.text())
    }

    private static func owner(_ reader: inout ByteReader) throws(StorageError) -> OwnerStatement {
        guard let source = OwnerStatement.Source(rawValue: try reader.byte()) else { throw .damaged("an owner") }
        let at = UnixMillis(try reader.signed())
        let users = try reader.texts().map { UserID(unchecked: $0) }
        var anonymous: [CustomerID] = []
        for _ in 0..<(try reader.unsigned()) { anonymous.append(try customer(&reader)) }
        return OwnerStatement(source: source, at: at, users: users, anonymous: anonymous)
    }

    // MARK: - States

    private static func write(_ state: PurchaseState, _ writer: inout ByteWriter) {
        let itemsHaveStarts = state.items.contains { $0.start != nil }
        writer.byte((itemsHaveStarts ? Kind.stateOfItems : .state).rawValue)
        write(state.periodStart, &writer)
        writer.signed(state.version.value)
        write(state.arrival, &writer)
        write(state.condition, &writer)
        writer.unsigned(UInt64(state.items.count))
        for item in state.items {
            writer.texts(item.products)
            write(item.end, &writer)
            if itemsHaveStarts { write(item.start, &writer) }
        }
        writer.byte(state.willRenew.map { $0 ? 2 : 1 } ?? 0)
        writer.byte((state.isOneTime ? 1 : 0) | (state.isFirstPeriod ? 2 : 0) | (state.tellsOfPayment ? 0 : 4))
        write(state.limit, &writer)
        write(state.purchasedAt, &writer)
        writer.optional(state.entitlements) { $0.texts($1) }
        writer.optional(state.store) { $0.text($1) }
        writer.optional(state.managementURL) { $0.text($1) }
    }

    private static func state(
        _ reader: inout ByteReader,
        itemsHaveStarts: Bool
    ) throws(StorageError) -> PurchaseState {
        let periodStart = try time(&reader)
        let version = UnixMillis(try reader.signed())
        let arrival = try time(&reader)
        let condition = try condition(&reader)
        var items: [PurchaseState.Item] = []
        for _ in 0..<(try reader.unsigned()) {
            let products = try reader.texts()
            let end = try time(&reader)
            let start = itemsHaveStarts ? try time(&reader) : nil
            items.append(PurchaseState.Item(products: products, end: end, start: start))
        }
        let willRenew = try reader.byte()
        let flags = try reader.byte()
        var state = PurchaseState(periodStart: periodStart, version: version, condition: condition, items: items)
        state.arrival = arrival
        state.willRenew = willRenew == 0 ? nil : willRenew == 2
        state.isOneTime = flags & 1 != 0
        state.isFirstPeriod = flags & 2 != 0
        state.tellsOfPayment = flags & 4 == 0
        state.limit = try time(&reader)
        state.purchasedAt = try time(&reader)
        state.entitlements = try reader.flag() ? try reader.texts() : nil
        state.store = try text(&reader)
        state.managementURL = try text(&reader)
        return state
    }

    private static func write(_ condition: PurchaseState.Condition, _ writer: inout ByteWriter) {
        switch condition {
        case .incomplete: writer.byte(0)
        case .trialing: writer.byte(1)
        case .active: writer.byte(2)
        case .collectionPaused: writer.byte(3)
        case .failing(let failure):
            writer.byte(4)
            write(failure, &writer)
        case .unpaid(let failure):
            writer.byte(5)
            write(failure, &writer)
        case .paused(let at):
            writer.byte(6)
            writer.signed(at.value)
        case .ended(let at):
            writer.byte(7)
            writer.signed(at.value)
        }
    }

    private static func condition(_ reader: inout ByteReader) throws(StorageError) -> PurchaseState.Condition {
        switch try reader.byte() {
        case 0: return .incomplete
        case 1: return .trialing
        case 2: return .active
        case 3: return .collectionPaused
        case 4: return .failing(try failure(&reader))
        case 5: return .unpaid(try failure(&reader))
        case 6: return .paused(at: UnixMillis(try reader.signed()))
        case 7: return .ended(at: UnixMillis(try reader.signed()))
        default: throw .damaged("a state of an unknown condition")
        }
    }

    private static func write(_ failure: PurchaseState.Failure, _ writer: inout ByteWriter) {
        write(failure.since, &writer)
        writer.byte(failure.periodIsUnpaid ? 1 : 0)
        switch failure.grace {
        case .configured: writer.byte(0)
        case .store(let until):
            writer.byte(1)
            write(until, &writer)
        }
    }

    private static func failure(_ reader: inout ByteReader) throws(StorageError) -> PurchaseState.Failure {
        let since = try time(&reader)
        let isUnpaid = try reader.flag()
        let grace: PurchaseState.Grace = try reader.flag() ? .store(until: try time(&reader)) : .configured
        return PurchaseState.Failure(since: since, grace: grace, periodIsUnpaid: isUnpaid)
    }

    // MARK: - Money

    private static func write(_ payment: Payment, _ writer: inout ByteWriter) {
        writer.byte(Kind.payment.rawValue)
        writer.texts(payment.ids)
        write(payment.paidAt, &writer)
        write(payment.periodStart, &writer)
        write(payment.periodEnd, &writer)
        writer.optional(payment.amount) { $0.signed($1) }
        writer.texts(payment.products)
    }

    private static func payment(_ reader: inout ByteReader) throws(StorageError) -> Payment {
        var payment = Payment(ids: try reader.texts())
        payment.paidAt = try time(&reader)
        payment.periodStart = try time(&reader)
        payment.periodEnd = try time(&reader)
        payment.amount = try reader.flag() ? try reader.signed() : nil
        payment.products = try reader.texts()
        return payment
    }

    private static func write(_ adjustment: Adjustment, _ writer: inout ByteWriter) {
        writer.byte(Kind.adjustment.rawValue)
        writer.text(adjustment.id)
        writer.byte(adjustment.kind.rawValue)
        writer.byte(adjustment.standing.rawValue)
        switch adjustment.size {
        case .full: writer.byte(0)
        case .part(let amount):
            writer.byte(1)
            writer.signed(amount)
        case .soFar(let amount):
            writer.byte(2)
            writer.signed(amount)
        }
        writer.signed(adjustment.version.value)
        writer.signed(adjustment.at.value)
        writer.texts(adjustment.payments)
        write(adjustment.periodStart, &writer)
        write(adjustment.periodEnd, &writer)
        writer.optional(adjustment.total) { $0.signed($1) }
    }

    private static func adjustment(_ reader: inout ByteReader) throws(StorageError) -> Adjustment {
        let id = try reader.text()
        guard let kind = Adjustment.Kind(rawValue: try reader.byte()),
            let standing = Adjustment.Standing(rawValue: try reader.byte())
        else { throw .damaged("an adjustment of an unknown kind") }
        let size: Adjustment.Size
        switch try reader.byte() {
        case 0: size = .full
        case 1: size = .part(try reader.signed())
        case 2: size = .soFar(try reader.signed())
        default: throw .damaged("an adjustment of an unknown size")
        }
        var adjustment = Adjustment(
            id: id,
            kind: kind,
            standing: standing,
            size: size,
            version: UnixMillis(try reader.signed()),
            at: UnixMillis(try reader.signed()),
            payments: try reader.texts()
        )
        adjustment.periodStart = try time(&reader)
        adjustment.periodEnd = try time(&reader)
        adjustment.total = try reader.flag() ? try reader.signed() : nil
        return adjustment
    }
}

internal import Crypto
public import Entitlements

/// The engine of the manifest language: one provider's manifest and its secrets.
public struct ManifestAdapter: ProviderAdapter {
    public let manifest: Manifest
    private let check: ReadyCheck
    private let rulesByType: [String: [Manifest.Rule]]
    private let redaction: Redaction

    /// - Parameter secrets: Every signing secret that is valid now; white space around them is taken away, because it
    ///   comes from copying.
    public init(manifest: Manifest, secrets: [String]) {
        self.manifest = manifest
        check = ReadyCheck(
            manifest.check,
            secrets: secrets.map { secret in
                let kept = secret.unicodeScalars.drop { $0.properties.isWhitespace }
                return String(String(kept).reversed().drop { $0.isWhitespace }.reversed())
            }
        )
        var rulesByType: [String: [Manifest.Rule]] = [:]
        for rule in manifest.rules {
            for type in rule.types { rulesByType[type, default: []].append(rule) }
        }
        self.rulesByType = rulesByType
        let references = (manifest.user.references + manifest.rules.flatMap { $0.user?.references ?? [] })
            .flatMap(\.places).compactMap { $0.text.split(separator: "/").last.map(String.init) }
        let containers = (manifest.user.metadata + manifest.rules.flatMap { $0.user?.metadata ?? [] })
            .flatMap(\.places).compactMap { $0.path.last }
        redaction = Redaction(
            userFields: Set(Manifest.UserPlace.names).union(references),
            sellersContainers: containers,
            reading: manifest.pointers.map { Array($0.path) }
        )
    }

    public var provider: ProviderID { manifest.provider }

    public func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery {
        try check.verify(delivery, now: now)
    }

    public func sign(_ body: [UInt8], now: UnixMillis) -> [(name: String, value: String)] {
        let id = "msg_" + Hex.encode(Array(Digest.sha256(body).prefix(12)))
        return check.sign(body, now: now, id: id)
    }

    public func redact(_ delivery: VerifiedDelivery) -> [UInt8]? {
        JSON(delivery.body).map { redaction.redact($0).bytes }
    }

    public func normalize(_ delivery: VerifiedDelivery) -> NormalizedEvent {
        normalize(delivery, trace: nil)
    }

    /// The same, told step by step when there is a trace.
    func normalize(_ delivery: VerifiedDelivery, trace: ManifestTrace?) -> NormalizedEvent {
        var event = NormalizedEvent(eventID: "", type: "", occurredAt: nil, environment: nil, effects: [])
        if let document = JSONText(delivery.body)?.root {
            let reading = ManifestReading(
                document: document,
                numberFormat: manifest.event.time.format ?? .seconds
            )
            do throws(ReadingFailure) {
                try normalize(reading, delivery, trace, into: &event)
            } catch {
                event.effects = []
                event.verdict = .quarantined(error.reason)
            }
        } else {
            event.verdict = .quarantined("the body is no JSON (\(delivery.body.count) bytes)")
        }
        // What has no id of its own is told apart by its body.
        if event.eventID.isEmpty { event.eventID = delivery.digestID }
        return event
    }

    private func normalize(
        _ reading: ManifestReading<JSONPart>,
        _ delivery: VerifiedDelivery,
        _ trace: ManifestTrace?,
        into event: inout NormalizedEvent
    ) throws(ReadingFailure) {
        switch manifest.event.id {
        case .value(let value):
            trace?.note(.id, reading.found(value))
            event.eventID = try reading.plain(value)
        case .signedHeader:
            guard let id = delivery.eventID else { throw ReadingFailure(reason: "the event's id is missing") }
            event.eventID = id
            trace?.note(.id, "\(id), from the signed header")
        case .bodyDigest: trace?.note(.id, "\(delivery.digestID), the digest of the body")
        }
        trace?.note(.type, reading.found(manifest.event.type))
        event.type = try reading.word(manifest.event.type) { rulesByType[$0] != nil }
        if event.type.isEmpty { throw ReadingFailure(reason: "the event's type is missing") }
        if let production = manifest.event.production {
            event.environment = reading.holds(production) ? .production : .sandbox
        } else {
            event.environment = .production
        }
        trace?.note(.environment, event.environment?.name ?? "")
        guard let rules = rulesByType[event.type] else {
            event.occurredAt = try? reading.time(manifest.event.time)
            event.verdict = .observed("no rule for this type")
            return
        }
        guard let time = try reading.time(manifest.event.time) else {
            throw ReadingFailure(reason: "the event's time is missing")
        }
        event.occurredAt = time
        trace?.note(.time, "\(reading.found(manifest.event.time)): \(time.rfc3339)")
        let engine = RuleEngine(
            provider: manifest.provider,
            user: manifest.user,
            customers: manifest.customers,
            reading: reading,
            time: time,
            environment: event.environment ?? .production,
            trace: trace
        )
        for rule in rules {
            if let condition = rule.condition, !reading.holds(condition) {
                trace?.note(.rule, "\(rule.place): its condition does not hold")
                continue
            }
            trace?.note(.rule, "\(rule.place) speaks of this event")
            event.effects += try engine.effects(of: rule)
        }
        if event.effects.isEmpty { event.verdict = .observed("nothing in it concerns access") }
    }
}

/// Carries out the rules of a manifest on one event.
private struct RuleEngine {
    let provider: ProviderID
    /// Where the user and the customers stand unless a rule says otherwise.
    let user: Manifest.UserPlace
    let customers: [ManifestValue]
    let reading: ManifestReading<JSONPart>
    let time: UnixMillis
    let environment: StoreEnvironment
    let trace: ManifestTrace?

    typealias Failure = ReadingFailure

    func effects(of rule: Manifest.Rule) throws(Failure) -> [Effect] {
        var facts: [Fact] = []
        switch rule.meaning {
        case .state(let shape):
            guard let state = try state(shape) else { return [] }
            facts.append(.state(state))
        case .payment(let shape): facts.append(.payment(try payment(shape)))
        case .adjustment(let kind, let shape):
            guard let adjustment = try adjustment(kind, shape) else { return [] }
            facts.append(.adjustment(adjustment))
        case .link: break
        }
        var effects: [Effect] = []
        let user = named(in: rule.user ?? user)
        if let user { facts.append(.owner(OwnerStatement(source: rule.owner, at: time, users: [user]))) }
        for text in try reading.texts(rule.customers ?? customers) {
            let customer = CustomerID(provider: provider, value: text)
            facts.append(.customer(customer))
            trace?.note(.customer, text)
            if let user { effects.append(.link(customer, user)) }
        }
        let reference = PurchaseReference(environment: environment, ids: try identifiers(rule.purchase))
        trace?.note(.purchase, reference.ids.map { "\($0.id.value) (\($0.rank))" }.joined(separator: ", "))
        return [.facts(reference, facts)] + effects
    }

    private func identifiers(_ place: Manifest.PurchasePlace) throws(Failure) -> [PurchaseReference.Identifier] {
        func identifier(_ text: String, _ place: Manifest.PurchasePlace.Place) -> PurchaseReference.Identifier {
            let namespace = place.kind.map { provider.name + ":" + $0 } ?? provider.name
            return .init(id: ExternalID(namespace: namespace, value: text), rank: place.rank)
        }
        var found = [identifier(try reading.required(place.id.value), place.id)]
        for other in place.also {
            for text in try reading.texts([other.value]) {
                let next = identifier(text, other)
                if !found.contains(where: { $0.id == next.id }) { found.append(next) }
            }
        }
        return found
    }

    /// The first name that is present decides, whatever stands there: an empty text or a word that stands for nobody names no
    /// user, and nothing after it is tried, because the seller has spoken and a guess could give to somebody else.
    private func named(in place: Manifest.UserPlace) -> UserID? {
        for container in place.metadata {
            for metadata in reading.all(container) {
                for name in Self.userNames {
                    guard let value = metadata.member(name), !value.isNull else { continue }
                    return named(value, { "\(container.places.first?.text ?? "")/\(name.text)" })
                }
            }
        }
        for reference in place.references {
            if let value = reading.first(reference) { return named(value, { reference.places.first?.text ?? "" }) }
        }
        trace?.note(.user, "nobody is named: it is parked until a link of its customer or purchase is known")
        return nil
    }

    private static let userNames = Manifest.UserPlace.names.map { JSONName($0) }

    private func named(_ value: JSONPart, _ place: () -> String) -> UserID? {
        let user = (value.string ?? value.wholeInteger.map { String($0) }).flatMap { UserID($0) }
        trace?.note(
            .user,
            user.map { "\($0.value), from \(place())" } ?? "\(place()) names nobody that can be a user"
        )
        return user
    }

    // MARK: - Meanings

    private func state(_ shape: Manifest.StateShape) throws(Failure) -> PurchaseState? {
        guard let word = try word(shape.status) else { return nil }
        let items = try items(shape)
        if let trace {
            let ends = items.map { item in
                "\(item.products.joined(separator: "/")) until \(item.end?.rfc3339 ?? (shape.isOneTime ? "ever" : "?"))"
            }
            trace.note(.end, ends.joined(separator: ", "))
        }
        if word.needsEnd, !shape.isOneTime, items.isEmpty || items.contains(where: { $0.end == nil }) {
            throw Failure(reason: "a subscription without the end of its period")
        }
        var state = PurchaseState(
            periodStart: shape.isOneTime ? nil : try reading.time(shape.periodStart),
            version: try reading.time(shape.version) ?? time,
            condition: try condition(word, shape),
            items: items,
            isOneTime: shape.isOneTime,
            limit: try reading.time(shape.limit),
            store: provider.name,
            managementURL: try shape.managementURL.flatMap { value throws(Failure) in try reading.text(value) }
        )
        if shape.isOneTime { state.purchasedAt = try reading.time(shape.purchasedAt) ?? time }
        if let first = shape.isFirstPeriod { state.isFirstPeriod = reading.holds(first) }
        state.willRenew = shape.renews.map { reading.holds($0) }
        // A running subscription renews unless the provider says that it will not.
        if state.willRenew == nil, word == .active || word == .trialing { state.willRenew = true }
        if word == .cancelled || shape.isOneTime { state.willRenew = false }
        return state
    }

    private func word(_ place: Manifest.StatusPlace) throws(Failure) -> Manifest.StatusWord? {
        if let constant = place.constant {
            trace?.note(.status, "\(constant.rawValue), always in this rule")
            return constant
        }
        guard let value = place.value, reading.first(value) != nil else {
            throw Failure(reason: "the status is missing")
        }
        let text = try reading.word(value) { place.map[$0] != nil }
        let word = place.map[text]
        trace?.note(.status, "\(reading.found(value)): \(word?.rawValue ?? "not in the map, so nothing is said of it")")
        return word
    }

    private func condition(
        _ word: Manifest.StatusWord,
        _ shape: Manifest.StateShape
    ) throws(Failure) -> PurchaseState.Condition {
        func failure() throws(Failure) -> PurchaseState.Failure {
            PurchaseState.Failure(
                since: try reading.time(shape.failingSince),
                grace: .configured,
                periodIsUnpaid: shape.periodIsUnpaid
            )
        }
        switch word {
        case .incomplete: return .incomplete
        case .trialing: return .trialing
        case .active, .cancelled:
            return shape.collectionPaused.map { reading.holds($0) } ?? false ? .collectionPaused : .active
        case .failing: return .failing(try failure())
        case .unpaid: return .unpaid(try failure())
        case .paused: return .paused(at: try reading.time(shape.endsAt) ?? time)
        case .ended: return .ended(at: try reading.time(shape.endsAt) ?? time)
        }
    }

    private func items(_ shape: Manifest.StateShape) throws(Failure) -> [PurchaseState.Item] {
        let periodEnd = shape.isOneTime ? nil : try reading.time(shape.periodEnd)
        var found: [PurchaseState.Item] = []
        if let items = shape.items {
            for list in items.each.all(in: reading.document, element: nil) {
                for element in list.array ?? [] {
                    var inner = reading
                    inner.element = element
                    let products = try inner.texts(items.products)
                    found.append(
                        PurchaseState.Item(
                            products: products.isEmpty ? try reading.texts(shape.products) : products,
                            end: try inner.time(items.end) ?? periodEnd,
                            start: try inner.time(items.start)
                        )
                    )
                }
            }
        }
        if found.isEmpty {
            found = [PurchaseState.Item(products: try reading.texts(shape.products), end: periodEnd)]
        }
        return found
    }

    private func payment(_ shape: Manifest.PaymentShape) throws(Failure) -> Payment {
        let ids = try reading.texts(shape.ids)
        trace?.note(.money, "a payment known as \(ids.joined(separator: ", "))")
        return Payment(
            ids: ids,
            paidAt: shape.isNameOnly ? nil : try reading.time(shape.paidAt) ?? time,
            periodStart: try reading.time(shape.periodStart),
            periodEnd: try reading.time(shape.periodEnd),
            amount: try reading.amount(shape.amount),
            products: try reading.texts(shape.products)
        )
    }

    private func adjustment(
        _ kind: Adjustment.Kind,
        _ shape: Manifest.AdjustmentShape
    ) throws(Failure) -> Adjustment? {
        var standing = Adjustment.Standing.effective
        if let place = shape.standing {
            guard reading.first(place) != nil,
                let known = shape.standings[try reading.word(place, isKnown: { shape.standings[$0] != nil })]
            else {
                trace?.note(.money, "\(reading.found(place)): not in the map, so nothing is said of it")
                return nil
            }
            standing = known
        }
        let size = try size(shape)
        trace?.note(.money, "a \(kind), \(standing), \(size)")
        return Adjustment(
            id: try reading.required(shape.id),
            kind: kind,
            standing: standing,
            size: size,
            version: time,
            at: try reading.time(shape.at) ?? time,
            payments: try reading.texts(shape.payments),
            periodStart: try reading.time(shape.periodStart),
            periodEnd: try reading.time(shape.periodEnd),
            total: try reading.amount(shape.total)
        )
    }

    /// How much of the payment went back; where another field says that all of it did, no amount is needed.
    private func size(_ shape: Manifest.AdjustmentShape) throws(Failure) -> Adjustment.Size {
        if let isFull = shape.isFull, reading.holds(isFull) { return .full }
        func amount(_ value: ManifestValue) throws(Failure) -> Int64 {
            guard let amount = try reading.amount(value) else {
                throw Failure(reason: "the refunded amount is missing")
            }
            return amount
        }
        switch shape.size {
        case .full: return .full
        case .part(let value): return .part(try amount(value))
        case .soFar(let value): return .soFar(try amount(value))
        }
    }
}

internal import Entitlements

extension Manifest {
    /// Reads a manifest.
    ///
    /// - Parameter file: Its name, for messages.
    /// - Throws: `ManifestError` with the JSON pointer of the first thing that cannot work.
    public init(json bytes: [UInt8], file: String) throws(ManifestError) {
        let reader = ManifestReader(file: file)
        if let mistake = JSONSyntax.mistake(in: bytes) { throw reader.fail("", "JSON", mistake.description) }
        guard let json = JSON(bytes) else { throw reader.fail("", "JSON", "check the file with a JSON tool") }
        self = try reader.manifest(json)
    }
}

extension ManifestReader {
    func manifest(_ json: JSON) throws(ManifestError) -> Manifest {
        var node = try node(json, "")
        _ = try text(&node, "$schema")
        let name = try requiredText(&node, "name", "the provider's name as it stands in paths")
        let isPlain = name.utf8.allSatisfy { ($0 >= 97 && $0 <= 122) || ($0 >= 48 && $0 <= 57) || $0 == 95 || $0 == 45 }
        guard isPlain, name.utf8.count <= 64 else {
            throw fail("/name", "lower-case letters, digits, _ and -", "it becomes part of a path")
        }
        guard !Manifest.reservedNames.contains(name) else {
            throw fail("/name", "a name of its own", "\(name) is a provider that is no manifest")
        }
        let title = try text(&node, "title") ?? name
        let secret = try requiredText(&node, "secret", "the environment variable of the signing secret")
        guard Self.isVariable(secret) else {
            throw fail(
                "/secret",
                "capital letters, digits and _, not beginning with GATEWAY_",
                "it names a variable of the environment"
            )
        }
        guard let signatureJSON = node.take("signature") else { throw fail("/signature", "how deliveries are signed") }
        let check = try self.check(signatureJSON, "/signature")
        guard let eventJSON = node.take("event") else { throw fail("/event", "where events keep id, type and time") }
        let event = try self.event(eventJSON, "/event")
        if case .signedHeader = event.id {
            guard case .signature(let scheme) = check, scheme.idHeader != nil else {
                throw fail("/signature/id_header", "the header of the id", "/event/id is signed_header")
            }
        }
        let user = try self.user(node.take("user"), "/user")
        let customers = try values(&node, "customer") ?? []
        guard let list = node.take("rules")?.array, !list.isEmpty else {
            throw fail("/rules", "a list of rules", "one for each kind of event that means something for access")
        }
        var rules: [Manifest.Rule] = []
        for (index, element) in list.enumerated() { rules.append(try rule(element, "/rules/\(index)")) }
        let api = try self.api(node.take("api"), "/api")
        try done(node)
        return Manifest(
            provider: ProviderID(name),
            title: title,
            secretVariable: secret,
            check: check,
            event: event,
            user: user ?? Manifest.UserPlace(metadata: [], references: []),
            customers: customers,
            rules: rules,
            api: api
        )
    }

    /// A name that the environment can have and that is not one of the gateway's own settings.
    private static func isVariable(_ text: String) -> Bool {
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let first = text.utf8.first, letters.contains(first), !text.hasPrefix("GATEWAY_") else { return false }
        return text.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_") }
    }

    private func check(_ json: JSON, _ place: String) throws(ManifestError) -> DeliveryCheck {
        var node = try node(json, place)
        switch try text(&node, "scheme") ?? "hmac_sha256" {
        case "basic":
            try done(node)
            return .basic
        case "hmac_sha256": return .signature(try signature(node))
        default: throw fail(node.place("scheme"), "hmac_sha256 or basic")
        }
    }

    /// A header's name (RFC 9110 section 5.1).
    private func headerName(_ text: String, _ place: String) throws(ManifestError) -> String {
        let isToken = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
        guard isToken else { throw fail(place, "the name of a header") }
        return text
    }

    private func signature(_ started: Node) throws(ManifestError) -> SignatureScheme {
        var node = started
        let header = try headerName(
            try requiredText(&node, "header", "the header of the signature"),
            node.place("header")
        )
        let encoding = try requiredText(&node, "encoding", "hex or base64")
        guard encoding == "hex" || encoding == "base64" else { throw fail(node.place("encoding"), "hex or base64") }
        var scheme = SignatureScheme(
            header: header,
            layout: .whole,
            encoding: encoding == "hex" ? .hex : .base64,
            signed: [],
            keys: []
        )
        if let layout = node.take("layout") { scheme.layout = try self.layout(layout, node.place("layout")) }
        let template = try requiredText(&node, "signed", "for example {timestamp}.{body}")
        scheme.signed = try parts(template, node.place("signed"))
        var keys: [SignatureScheme.KeyDerivation] = []
        for (index, element) in (try list(&node, "keys", of: "ways to make a key") ?? [.string("utf8")]).enumerated() {
            keys.append(try key(element, "\(node.place("keys"))/\(index)"))
        }
        scheme.keys = keys
        if let name = try text(&node, "timestamp_header") {
            scheme.timestampHeader = try headerName(name, node.place("timestamp_header"))
        }
        if let name = try text(&node, "id_header") {
            scheme.idHeader = try headerName(name, node.place("id_header"))
        }
        if let tolerance = node.take("tolerance") {
            var limits = try self.node(tolerance, node.place("tolerance"))
            scheme.secondsPast = try seconds(&limits, "past")
            scheme.secondsAhead = try seconds(&limits, "ahead")
            try done(limits)
            guard scheme.secondsPast != nil || scheme.secondsAhead != nil else {
                throw fail(node.place("tolerance"), "past, ahead or both", "in seconds")
            }
        }
        var hasTime = scheme.timestampHeader != nil
        if case .pairs = scheme.layout { hasTime = true }
        guard
            hasTime || (!scheme.signed.contains(.timestamp) && scheme.secondsPast == nil && scheme.secondsAhead == nil)
        else {
            throw fail(
                node.place("timestamp_header"),
                "the header of the time",
                "the time is signed or has a tolerance, and this layout holds none"
            )
        }
        if scheme.signed.contains(.id), scheme.idHeader == nil {
            throw fail(node.place("id_header"), "the header of the id", "{id} is signed")
        }
        try done(node)
        return scheme
    }

    /// A year of seconds: beyond it a tolerance is none.
    private static let toleranceMax: Int64 = 31_536_000

    private func seconds(_ node: inout Node, _ key: String) throws(ManifestError) -> Int64? {
        guard let value = node.take(key) else { return nil }
        guard let seconds = value.wholeNumber, (0...Self.toleranceMax).contains(seconds) else {
            throw fail(node.place(key), "seconds", "a whole number, at most a year")
        }
        return seconds
    }

    private func layout(_ json: JSON, _ place: String) throws(ManifestError) -> SignatureScheme.Layout {
        if json.string == "whole" { return .whole }
        var node = try node(json, place)
        func separator(_ text: String, _ key: String) throws(ManifestError) -> Character {
            guard let character = text.first, text.count == 1, let byte = character.asciiValue, byte >= 0x20,
                byte < 0x7F
            else { throw fail(node.place(key), "one character", "of ASCII") }
            return character
        }
        if let pairs = try text(&node, "pairs") {
            let layout = SignatureScheme.Layout.pairs(
                separator: try separator(pairs, "pairs"),
                timestamp: try requiredText(&node, "timestamp", "the name of the time"),
                signature: try requiredText(&node, "signature", "the name of the signatures")
            )
            try done(node)
            return layout
        }
        let list = try requiredText(&node, "list", "pairs or list: the character between items")
        let layout = SignatureScheme.Layout.list(
            separator: try separator(list, "list"),
            prefix: try text(&node, "prefix") ?? ""
        )
        try done(node)
        return layout
    }

    private func key(_ json: JSON, _ place: String) throws(ManifestError) -> SignatureScheme.KeyDerivation {
        if json.string == "utf8" { return .utf8 }
        if json.string == "base64" { return .base64 }
        if json.object != nil {
            var node = try node(json, place)
            let prefix = try requiredText(&node, "base64_after", "what stands before the base64")
            try done(node)
            return .base64AfterPrefix(prefix)
        }
        throw fail(place, "utf8, base64 or {\"base64_after\": prefix}")
    }

    /// `{timestamp}.{body}`: the words in braces are replaced, all else stands for itself.
    private func parts(_ template: String, _ place: String) throws(ManifestError) -> [SignatureScheme.Part] {
        var parts: [SignatureScheme.Part] = []
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            guard let close = rest[open...].firstIndex(of: "}") else { throw fail(place, "a closing brace") }
            switch rest[rest.index(after: open)..<close] {
            case "body": parts.append(.body)
            case "timestamp": parts.append(.timestamp)
            case "id": parts.append(.id)
            default: throw fail(place, "{body}, {timestamp} or {id}")
            }
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        for case .text(let text) in parts where text.contains("}") { throw fail(place, "an opening brace") }
        guard parts.contains(.body) else { throw fail(place, "{body} in it", "else anyone could change the body") }
        return parts
    }

    private func event(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.EventShape {
        var node = try node(json, place)
        let id: Manifest.EventShape.ID
        switch node.members["id"] {
        case .string("signed_header"): (id, _) = (.signedHeader, node.take("id"))
        case .string("body_digest"): (id, _) = (.bodyDigest, node.take("id"))
        default: id = .value(try requiredValue(&node, "id", "a pointer, signed_header or body_digest"))
        }
        let shape = Manifest.EventShape(
            id: id,
            type: try requiredValue(&node, "type", "where the event's type stands"),
            time: try requiredValue(&node, "time", "where the event's time stands"),
            production: try condition(&node, "production")
        )
        try done(node)
        return shape
    }

    private func user(_ json: JSON?, _ place: String) throws(ManifestError) -> Manifest.UserPlace? {
        guard let json else { return nil }
        var node = try node(json, place)
        let user = Manifest.UserPlace(
            metadata: try values(&node, "metadata") ?? [],
            references: try values(&node, "reference") ?? []
        )
        try done(node)
        return user
    }

    // MARK: - Rules

    private func rule(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.Rule {
        var node = try node(json, place)
        var types: [String] = []
        for (index, element) in (try list(&node, "on", of: "event types") ?? []).enumerated() {
            guard let type = element.string, !type.isEmpty else {
                throw fail("\(node.place("on"))/\(index)", "an event type")
            }
            guard !types.contains(type) else {
                throw fail("\(node.place("on"))/\(index)", "another event type", "\(type) stands here twice")
            }
            types.append(type)
        }
        guard !types.isEmpty else { throw fail(node.place("on"), "a list of event types") }
        let condition = try self.condition(&node, "when")
        guard let purchaseJSON = node.take("purchase") else {
            throw fail(node.place("purchase"), "which purchase the event is about")
        }
        let purchase = try self.purchase(purchaseJSON, node.place("purchase"))
        let owner = try text(&node, "owner")
        guard owner == nil || owner == "checkout" || owner == "own" else {
            throw fail(node.place("owner"), "own or checkout")
        }
        let user = try self.user(node.take("user"), node.place("user"))
        let customers = try values(&node, "customer")
        var meanings: [Manifest.Meaning] = []
        if let state = node.take("state") { meanings.append(.state(try self.state(state, node.place("state")))) }
        if let payment = node.take("payment") {
            meanings.append(.payment(try self.payment(payment, node.place("payment"))))
        }
        if let refund = node.take("refund") {
            meanings.append(.adjustment(.refund, try adjustment(refund, node.place("refund"))))
        }
        if let dispute = node.take("dispute") {
            meanings.append(.adjustment(.dispute, try adjustment(dispute, node.place("dispute"))))
        }
        if let link = node.take("link") {
            guard link.bool == true else {
                throw fail(node.place("link"), "true", "leave it out where it is not meant")
            }
            meanings.append(.link)
        }
        try done(node)
        guard let meaning = meanings.first, meanings.count == 1 else {
            throw fail(place, "exactly one of state, payment, refund, dispute and link", "write a rule for each")
        }
        return Manifest.Rule(
            place: place,
            types: Set(types),
            condition: condition,
            purchase: purchase,
            owner: owner == "checkout" ? .checkout : .own,
            user: user,
            customers: customers,
            meaning: meaning
        )
    }

    private func purchase(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.PurchasePlace {
        var node = try node(json, place)
        let value = try requiredValue(&node, "id", "the purchase's own id")
        let rankText = try text(&node, "rank") ?? "subscription"
        guard let rank = Self.rank(rankText) else {
            throw fail(node.place("rank"), "subscription, one_time or reference")
        }
        let kind = try self.kind(&node)
        var also: [Manifest.PurchasePlace.Place] = []
        for (index, element) in (try list(&node, "also", of: "ids") ?? []).enumerated() {
            let place = "\(node.place("also"))/\(index)"
            guard element.object?["id"] != nil else {
                also.append(
                    Manifest.PurchasePlace.Place(value: try self.value(element, place), rank: .reference, kind: kind)
                )
                continue
            }
            var other = try self.node(element, place)
            let otherValue = try requiredValue(&other, "id", "an id")
            let otherKind = try self.kind(&other)
            try done(other)
            also.append(Manifest.PurchasePlace.Place(value: otherValue, rank: .reference, kind: otherKind))
        }
        try done(node)
        return Manifest.PurchasePlace(id: .init(value: value, rank: rank, kind: kind), also: also)
    }

    private func kind(_ node: inout Node) throws(ManifestError) -> String? {
        guard let kind = try text(&node, "kind") else { return nil }
        guard kind.utf8.allSatisfy({ ($0 >= 97 && $0 <= 122) || ($0 >= 48 && $0 <= 57) || $0 == 95 }) else {
            throw fail(node.place("kind"), "lower-case letters, digits and _")
        }
        return kind
    }

    private static func rank(_ text: String) -> ExternalIDRank? {
        switch text {
        case "subscription": .subscription
        case "one_time": .oneTime
        case "reference": .reference
        default: nil
        }
    }

    private func state(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.StateShape {
        var node = try node(json, place)
        var items: Manifest.ItemsShape?
        if let itemsJSON = node.take("items") {
            var shape = try self.node(itemsJSON, node.place("items"))
            guard let each = shape.take("each") else { throw fail(shape.place("each"), "the list of items") }
            items = Manifest.ItemsShape(
                each: try pointer(each, shape.place("each")),
                products: try ofElement.values(&shape, "products") ?? [],
                start: try ofElement.value(&shape, "start"),
                end: try ofElement.value(&shape, "end")
            )
            try done(shape)
        }
        guard let statusJSON = node.take("status") else { throw fail(node.place("status"), "a status") }
        let state = Manifest.StateShape(
            status: try status(statusJSON, node.place("status")),
            isOneTime: try flag(&node, "one_time"),
            periodStart: try value(&node, "period_start"),
            periodEnd: try value(&node, "period_end"),
            items: items,
            products: try values(&node, "products") ?? [],
            version: try value(&node, "version"),
            endsAt: try value(&node, "ends_at"),
            limit: try value(&node, "limit"),
            renews: try condition(&node, "renews"),
            collectionPaused: try condition(&node, "collection_paused"),
            isFirstPeriod: try condition(&node, "first_period"),
            failingSince: try value(&node, "failing_since"),
            periodIsUnpaid: try flag(&node, "period_moves_unpaid"),
            purchasedAt: try value(&node, "purchased_at"),
            managementURL: try value(&node, "management_url")
        )
        try done(node)
        let words = state.status.constant.map { [$0] } ?? Array(state.status.map.values)
        let hasEnd = state.isOneTime || state.periodEnd != nil || state.items?.end != nil
        guard hasEnd || !words.contains(where: \.needsEnd) else {
            throw fail(
                node.place("period_end"),
                "where the end of the period stands",
                "a subscription without an end is not believed; a purchase for life is one_time"
            )
        }
        return state
    }

    private func status(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.StatusPlace {
        if let text = json.string {
            return Manifest.StatusPlace(
                value: nil,
                map: [:],
                constant: try word(text, place, Manifest.StatusWord.self)
            )
        }
        var node = try node(json, place)
        let value = try requiredValue(&node, "at", "where the status stands")
        guard let members = node.take("map")?.object, !members.isEmpty else {
            throw fail(node.place("map"), "the provider's words and ours")
        }
        var map: [String: Manifest.StatusWord] = [:]
        for (key, member) in members {
            map[key] = try word(
                member.string ?? "",
                Node(members: [:], pointer: node.place("map")).place(key),
                Manifest.StatusWord.self
            )
        }
        try done(node)
        return Manifest.StatusPlace(value: value, map: map, constant: nil)
    }

    private func payment(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.PaymentShape {
        var node = try node(json, place)
        guard let ids = try values(&node, "ids") else {
            throw fail(node.place("ids"), "where the payment's ids stand", "a refund is matched by them")
        }
        let payment = Manifest.PaymentShape(
            ids: ids,
            paidAt: try value(&node, "paid_at"),
            isNameOnly: try flag(&node, "names_only"),
            periodStart: try value(&node, "period_start"),
            periodEnd: try value(&node, "period_end"),
            amount: try value(&node, "amount"),
            products: try values(&node, "products") ?? []
        )
        try done(node)
        return payment
    }

    private func adjustment(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.AdjustmentShape {
        var node = try node(json, place)
        var size = Manifest.AdjustmentShape.Size.full
        if let part = try value(&node, "part") { size = .part(part) }
        if let soFar = try value(&node, "so_far") {
            guard case .full = size else { throw fail(node.place("so_far"), "either part or so_far") }
            size = .soFar(soFar)
        }
        var (standing, standings): (ManifestValue?, [String: Adjustment.Standing]) = (nil, [:])
        if let standingJSON = node.take("standing") {
            var shape = try self.node(standingJSON, node.place("standing"))
            standing = try requiredValue(&shape, "at", "where its status stands")
            guard let map = shape.take("map")?.object, !map.isEmpty else {
                throw fail(shape.place("map"), "the provider's words and ours")
            }
            for (key, member) in map {
                switch member.string {
                case "pending": standings[key] = .pending
                case "effective": standings[key] = .effective
                case "withdrawn": standings[key] = .withdrawn
                default: throw fail("\(shape.place("map"))/\(key)", "pending, effective or withdrawn")
                }
            }
            try done(shape)
        }
        let adjustment = Manifest.AdjustmentShape(
            id: try requiredValue(&node, "id", "the refund's or dispute's own id"),
            standing: standing,
            standings: standings,
            size: size,
            isFull: try condition(&node, "full"),
            at: try value(&node, "at"),
            payments: try values(&node, "payments") ?? [],
            periodStart: try value(&node, "period_start"),
            periodEnd: try value(&node, "period_end"),
            total: try value(&node, "total")
        )
        try done(node)
        return adjustment
    }
}

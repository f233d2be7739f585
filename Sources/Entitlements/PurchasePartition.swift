/// Which mentions speak of one purchase (rule 7).
///
/// A mention is what one event says of one purchase: a set of ids, some of them the purchase's own names, some only ids
/// by which it is referred to. Equal ids join, but two chains stay two: a purchase has one name of a kind, whatever else
/// refers to both. The result is a function of the *set* of mentions, so the order in which events arrive cannot matter:
/// where the set leaves a choice, the smaller name is taken.
public enum PurchasePartition {
    public typealias Identifier = PurchaseReference.Identifier

    /// One purchase.
    public struct Part: Hashable, Sendable {
        /// The ids that lead to it, each with its best rank; an id leads to one purchase only.
        public var ids: [Identifier] = []
        /// Places of its mentions in the list that was given; empty for a name that no mention has as its first one.
        public var mentions: [Int] = []
    }

    /// Whether ids that are all connected are one purchase without a closer look: no kind has two names among them.
    public static func isPlain(_ ids: some Sequence<Identifier>) -> Bool {
        var names: [Kind: ExternalID] = [:]
        for identifier in ids where identifier.rank != .reference {
            let kind = Kind(rank: identifier.rank, namespace: identifier.id.namespace)
            if let other = names.updateValue(identifier.id, forKey: kind), other != identifier.id { return false }
        }
        return true
    }

    /// The purchases that these mentions speak of, the one with the smallest name first, those without a name last.
    public static func parts(of mentions: [[Identifier]]) -> [Part] {
        var partition = Partition(mentions)
        partition.joinNames()
        partition.joinByReferences()
        return partition.parts()
    }

    /// Names of one kind tell purchases apart: each place that gives ids gives a purchase one of each rank.
    fileprivate struct Kind: Hashable {
        var rank: ExternalIDRank
        var namespace: String
    }
}

/// Sets of places, each known by its smallest member.
private struct DisjointSets {
    private var parents: [Int]

    init(count: Int) { parents = Array(0..<count) }

    func root(_ place: Int) -> Int {
        var place = place
        while parents[place] != place { place = parents[place] }
        return place
    }

    /// The root that is left, and the one that is gone; nil when they were one already.
    mutating func join(_ one: Int, _ other: Int) -> (kept: Int, gone: Int)? {
        let (kept, gone) = (min(root(one), root(other)), max(root(one), root(other)))
        guard kept != gone else { return nil }
        parents[gone] = kept
        return (kept, gone)
    }
}

private struct Partition {
    /// Two names that may be one purchase; sorted, so that joins come in one order.
    struct Pair: Hashable, Comparable {
        var first: Int
        var second: Int

        init(_ one: Int, _ other: Int) { (first, second) = (min(one, other), max(one, other)) }

        static func < (left: Pair, right: Pair) -> Bool {
            (left.first, left.second) < (right.first, right.second)
        }
    }

    let mentions: [[PurchasePartition.Identifier]]
    /// Every id that is a name in some mention, the best first; everything below speaks of names by their place here.
    let names: [PurchasePartition.Identifier]
    let placeOfName: [ExternalID: Int]
    /// Ids that are nobody's name, sorted.
    let references: [ExternalID]
    let placeOfReference: [ExternalID: Int]
    var purchases: DisjointSets
    var kinds: [Set<PurchasePartition.Kind>]
    /// References that mentions without a name have together.
    var groups: DisjointSets
    /// The names whose mentions have a reference, by the reference's place.
    var holders: [Set<Int>]
    /// The same for a whole group, by its root.
    var groupHolders: [Int: Set<Int>] = [:]

    init(_ mentions: [[PurchasePartition.Identifier]]) {
        self.mentions = mentions
        var ranks: [ExternalID: ExternalIDRank] = [:]
        for identifier in mentions.joined() {
            ranks[identifier.id] = min(ranks[identifier.id] ?? .reference, identifier.rank)
        }
        names = ranks.filter { $0.value != .reference }.map { .init(id: $0.key, rank: $0.value) }
            .sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
        references = ranks.filter { $0.value == .reference }.map(\.key).sorted()
        placeOfName = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1.id, $0) })
        placeOfReference = Dictionary(uniqueKeysWithValues: references.enumerated().map { ($1, $0) })
        purchases = DisjointSets(count: names.count)
        kinds = names.map { [PurchasePartition.Kind(rank: $0.rank, namespace: $0.id.namespace)] }
        groups = DisjointSets(count: references.count)
        holders = Array(repeating: [], count: references.count)
    }

    /// The places of a mention's own names, the best first.
    private func ownNames(_ mention: [PurchasePartition.Identifier]) -> [Int] {
        mention.filter { $0.rank != .reference }.compactMap { placeOfName[$0.id] }.sorted()
    }

    private mutating func join(_ pair: Pair, evenOfOneKind: Bool = false) {
        let (one, other) = (purchases.root(pair.first), purchases.root(pair.second))
        guard evenOfOneKind || kinds[one].isDisjoint(with: kinds[other]) else { return }
        guard let joined = purchases.join(one, other) else { return }
        kinds[joined.kept].formUnion(kinds[joined.gone])
    }

    /// Names that one event gives to one purchase. Two of one kind are one because the event itself says so.
    mutating func joinNames() {
        var pairs: Set<Pair> = []
        for mention in mentions {
            let own = ownNames(mention)
            for (index, one) in own.enumerated() {
                for other in own[(index + 1)...] {
                    let pair = Pair(one, other)
                    let areOfOneKind =
                        names[one].rank == names[other].rank && names[one].id.namespace == names[other].id.namespace
                    if areOfOneKind { join(pair, evenOfOneKind: true) } else { pairs.insert(pair) }
                }
            }
        }
        for pair in pairs.sorted() { join(pair) }
    }

    /// A reference to a name, then a reference that two have, then references that an event without a name has together.
    mutating func joinByReferences() {
        var pairs: Set<Pair> = []
        for mention in mentions {
            guard let name = ownNames(mention).first else { continue }
            for identifier in mention where identifier.rank == .reference {
                if let other = placeOfName[identifier.id] { pairs.insert(Pair(name, other)) }
                if let reference = placeOfReference[identifier.id] { holders[reference].insert(name) }
            }
        }
        for pair in pairs.sorted() { join(pair) }
        joinHolders(holders)

        var groupNames: [(reference: Int, name: Int)] = []
        for mention in mentions where ownNames(mention).isEmpty {
            let own = mention.compactMap { placeOfReference[$0.id] }
            for (one, other) in zip(own, own.dropFirst()) { _ = groups.join(one, other) }
            let named = mention.compactMap { placeOfName[$0.id] }
            if let first = own.first {
                groupNames += named.map { (first, $0) }
            } else {
                joinHolders([Set(named)])
            }
        }
        for place in references.indices { groupHolders[groups.root(place), default: []].formUnion(holders[place]) }
        for entry in groupNames { groupHolders[groups.root(entry.reference), default: []].insert(entry.name) }
        joinHolders(groupHolders.values)
    }

    private mutating func joinHolders(_ sets: some Sequence<Set<Int>>) {
        var pairs: Set<Pair> = []
        for set in sets {
            let sorted = set.sorted()
            for (index, one) in sorted.enumerated() {
                for other in sorted[(index + 1)...] { pairs.insert(Pair(one, other)) }
            }
        }
        for pair in pairs.sorted() { join(pair) }
    }

    // MARK: - The result

    /// A purchase with a name by its best one, else by the root of its group.
    private enum Target: Hashable, Comparable {
        case named(Int)
        case nameless(Int)
    }

    private func target(ofReference place: Int) -> Target {
        let group = groups.root(place)
        let held = smallest(holders[place]) ?? smallest(groupHolders[group] ?? [])
        return held.map { .named($0) } ?? .nameless(group)
    }

    private func smallest(_ names: Set<Int>) -> Int? {
        names.map { purchases.root($0) }.min()
    }

    private func target(of mention: [PurchasePartition.Identifier]) -> Target? {
        if let name = ownNames(mention).first { return .named(purchases.root(name)) }
        var direct: Set<Int> = []
        for identifier in mention {
            if let name = placeOfName[identifier.id] { direct.insert(name) }
            if let reference = placeOfReference[identifier.id] { direct.formUnion(holders[reference]) }
        }
        if let held = smallest(direct) { return .named(held) }
        return mention.lazy.compactMap { placeOfReference[$0.id] }.first.map(target(ofReference:))
    }

    func parts() -> [PurchasePartition.Part] {
        var found: [Target: PurchasePartition.Part] = [:]
        for (place, mention) in mentions.enumerated() {
            if let target = target(of: mention) { found[target, default: .init()].mentions.append(place) }
        }
        for (place, name) in names.enumerated() {
            found[.named(purchases.root(place)), default: .init()].ids.append(name)
        }
        for (place, reference) in references.enumerated() {
            found[target(ofReference: place), default: .init()].ids.append(.init(id: reference, rank: .reference))
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }
}

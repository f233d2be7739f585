public import Entitlements
public import ProviderKit

/// RevenueCat's REST API, version 2: reads what a customer has bought.
///
/// Version 1 is never used: its read creates the customer it asks for. Source: https://www.revenuecat.com/docs/api-v2
/// (customers, subscriptions, purchases, products, entitlements; paging by `next_page`; 480 customer requests a minute).
public struct RevenueCatAPI: ProviderAPI {
    public static let defaultBase = "https://api.revenuecat.com"

    public let base: String
    private let key: String
    private let project: String

    /// - Parameter base: The server's address; a version at its end is dropped.
    public init(base: String, key: String, project: String) {
        var base = base
        while base.hasSuffix("/") { base.removeLast() }
        if base.hasSuffix("/v2") { base.removeLast(3) }
        self.base = base
        self.key = key
        self.project = project
    }

    public var provider: ProviderID { RevenueCatAdapter.name }
    public var headers: [(name: String, value: String)] { [("Authorization", "Bearer " + key)] }
    public var requestsPerMinute: Int { 400 }

    /// Pages of one list that are read at most; more means that something is wrong.
    private static let pagesMax = 50

    public func questions(about person: KnownPerson) -> [APIQuestion] {
        let customers = person.customers.filter { $0.provider == provider }.map(\.value)
        var ids = person.users.map(\.value)
        ids += customers.filter { !ids.contains($0) }
        // Ids that RevenueCat itself refuses are nobody there.
        return ids.filter { !$0.contains("/") }.map { .customer($0) }
    }

    public func next(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) -> APIStep {
        guard case .customer(let customer) = question else { return .done(APIReading()) }
        let folder = "/v2/projects/\(APIRequest.encode(project))/customers/\(APIRequest.encode(customer))"
        do throws(Stop) {
            let subscriptions = try list(APIRequest(folder + "/subscriptions?limit=100"), answers)
            let purchases = try list(APIRequest(folder + "/purchases?limit=100"), answers)
            guard let subscriptions, let purchases else { return .done(APIReading()) }
            let names = try names(of: subscriptions.items + purchases.items, answers)
            let reading = RevenueCatReading(
                customer: customer,
                at: min(subscriptions.at, purchases.at),
                names: names
            )
            let events = reading.events(subscriptions: subscriptions.items, purchases: purchases.items)
            return .done(APIReading(events: events))
        } catch {
            switch error {
            case .ask(let requests): return .ask(requests)
            case .failure(let failure): return .failed(failure)
            }
        }
    }

    // MARK: - Lists

    private enum Stop: Error {
        case ask([APIRequest])
        case failure(APIFailure)
    }

    private struct Page {
        var items: [JSON]
        /// The oldest of the answers that the items are from.
        var at: UnixMillis
    }

    /// Every item of a list, over all its pages; nil when RevenueCat does not know the customer.
    private func list(_ first: APIRequest, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> Page? {
        var found = Page(items: [], at: .latest)
        var request = first
        for _ in 0..<Self.pagesMax {
            guard let answer = answers[request] else { throw .ask([request]) }
            let backoff = answer.body?["backoff_ms"]?.integer
            if let failure = failure(of: answer, retryAfterMillis: backoff) { throw .failure(failure) }
            if answer.status == 404 {
                // Only the provider's own word for it: a wrong project or address is no statement about a customer.
                guard answer.body?["type"]?.string == "resource_missing" else {
                    throw .failure(.notUnderstood("RevenueCat answered 404 without saying what is missing"))
                }
                return nil
            }
            guard let items = answer.body?["items"]?.array else {
                throw .failure(.notUnderstood("RevenueCat's list has no items"))
            }
            guard let at = answer.at else { throw .failure(.notUnderstood("RevenueCat's answer tells no time")) }
            found.items += items
            found.at = min(found.at, at)
            guard let next = answer.body?["next_page"]?.string, !next.isEmpty else { return found }
            guard next.hasPrefix("/v2/") else {
                throw .failure(.notUnderstood("RevenueCat's next_page is no path of the API"))
            }
            request = APIRequest(next, isSettings: first.isSettings)
        }
        throw .failure(.notUnderstood("RevenueCat's list does not end"))
    }

    /// The stores' own product ids, and the names of entitlements that are told by id only.
    private func names(
        of items: [JSON],
        _ answers: [APIRequest: APIAnswer]
    ) throws(Stop) -> RevenueCatReading.Names {
        var names = RevenueCatReading.Names()
        let settings = "/v2/projects/\(APIRequest.encode(project))"
        var missing: [APIRequest] = []
        for id in Set(items.compactMap { $0["product_id"]?.string }).sorted() {
            let request = APIRequest(settings + "/products/\(APIRequest.encode(id))", isSettings: true)
            guard let answer = answers[request] else {
                missing.append(request)
                continue
            }
            if let failure = failure(of: answer) { throw .failure(failure) }
            names.products[id] = answer.body?["store_identifier"]?.string
        }
        guard missing.isEmpty else { throw .ask(missing) }
        let entitlements = items.flatMap { $0["entitlements"]?["items"]?.array ?? [] }
        if entitlements.contains(where: { $0["lookup_key"]?.string == nil }) {
            let request = APIRequest(settings + "/entitlements?limit=100", isSettings: true)
            for entitlement in try list(request, answers)?.items ?? [] {
                guard let id = entitlement["id"]?.string else { continue }
                names.entitlements[id] = entitlement["lookup_key"]?.string
            }
        }
        return names
    }
}

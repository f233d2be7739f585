internal import HTTPServer
internal import SQLStorage
internal import Storage

/// One page of a list that is read from its newest entry on.
struct Page {
    var limit: Int
    /// Only entries before this place; nil: from the newest.
    var before: Int64?
}

/// `limit` and `after` of a query, and `next` of an answer.
extension GatewayHandler {
    private static let pageDefault = 50
    private static let pageMax = 500

    /// The page that is asked for; a bad one is answered.
    func page(_ request: Request, _ response: inout Response) -> Page? {
        var page = Page(limit: Self.pageDefault)
        if let text = parameter("limit", of: request) {
            guard let limit = Int(text), (1...Self.pageMax).contains(limit) else {
                write(.badRequest("limit: expected a number from 1 to \(Self.pageMax)"), &response)
                return nil
            }
            page.limit = limit
        }
        if let text = parameter("after", of: request) {
            guard let place = Int64(text), place > 0 else {
                write(.badRequest("after: expected the next of an earlier page"), &response)
                return nil
            }
            page.before = place
        }
        return page
    }

    /// A parameter as text; nil when it is missing or empty, and empty when it is no UTF-8.
    func parameter(_ name: StaticString, of request: Request) -> String? {
        guard let value = unsafe RequestTarget.parameter(name, in: request.query), value.count > 0 else { return nil }
        return unsafe RequestTarget.text(value, plusIsSpace: true) ?? ""
    }

    /// Answers with one page of a list: `{"name":[…],"next":…}`.
    ///
    /// - Parameter place: Where an element stands, for the `after` of the next page.
    func sendPage<Element: Sendable>(
        _ name: StaticString,
        limit: Int,
        _ ticket: ReplyTicket,
        _ response: inout Response,
        _ read: @escaping @Sendable (any SQLReading) throws(StorageError) -> [Element],
        place: @escaping (Element) -> Int64,
        write element: @escaping (GatewayHandler, Element) -> Void
    ) -> Disposition {
        view(ticket, &response) { views throws(StorageError) in
            try read(views.reader)
        } _: { handler, elements, response in
            handler.json.reset()
            handler.json.raw("{")
            handler.json.key(name)
            handler.json.raw("[")
            for each in elements { element(handler, each) }
            handler.json.raw("],\"next\":")
            if elements.count == limit, let last = elements.last {
                handler.json.string(String(place(last)))
            } else {
                handler.json.null()
            }
            handler.json.raw("}")
            handler.send(200, &response)
            return .done
        }
    }
}

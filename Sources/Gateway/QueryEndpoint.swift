internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// `POST /v1/entitlements/query`: many users in one request, answered in the order asked.
extension GatewayHandler {
    static let queryUsersMax = 1000

    func query(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard authorize(request, .read, &response) != nil else { return .done }
        guard setScope(request, &response) else { return .done }
        guard let body = JSONText(unsafe [UInt8](request.body))?.root, body.isObject else {
            write(.badRequest("the body: expected an object with user_ids"), &response)
            return .done
        }
        guard let list = body["user_ids"]?.array, list.count <= Self.queryUsersMax else {
            write(.badRequest("user_ids: expected a list of at most \(Self.queryUsersMax) user ids"), &response)
            return .done
        }
        if let entitlement = body["entitlement"], !entitlement.isNull {
            guard let text = entitlement.string, !text.isEmpty, text.utf8.count <= 255 else {
                write(.badRequest("entitlement: expected a name of 1 to 255 bytes"), &response)
                return .done
            }
            question.entitlement = Array(text.utf8)
        }
        if let name = body["environment"], !name.isNull {
            guard let environment = name.string.flatMap(StoreEnvironment.init(name:)) else {
                write(.badRequest("environment: expected production or sandbox"), &response)
                return .done
            }
            question.environment = environment
        }
        question.moment = now
        if readsElsewhere, !list.isEmpty { return queryElsewhere(list, &response, ticket) }
        json.reset()
        json.raw("{\"entitlements\":[")
        for (index, element) in list.enumerated() {
            guard takeUser(element, index, &response), encodeNext(index, &response) != nil else { return .done }
        }
        return endQuery(&response)
    }

    /// Puts a user that is asked for into the buffers of the question; else the answer is written.
    private func takeUser(_ element: JSONPart, _ index: Int, _ response: inout Response) -> Bool {
        if element.copyText(into: &question.user) {
            lookup.removeAll(keepingCapacity: true)
            lookup.append(contentsOf: question.user)
            // The gate answers for somebody who has not signed in, too; a list is of users.
            if lookup.first != UserID.anonymousPrefix.utf8.first || !lookup.starts(with: UserID.anonymousPrefix.utf8),
                UserID.normalize(&lookup)
            {
                return true
            }
        }
        var problem = Problem.invalidUserID
        problem.detail = "user_ids/\(index): " + problem.detail
        write(problem, &response)
        return false
    }

    /// Writes the answer about the user in the buffers; nil when it cannot be read, and then that is written.
    private func encodeNext(_ index: Int, _ response: inout Response) -> AnswerSummary? {
        if index > 0 { json.raw(",") }
        let summary: AnswerSummary
        do throws(StorageError) {
            summary = try encodeOpenAnswer(question.moment)
        } catch {
            Log.error("a read failed", ("reason", .string(error.description)))
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
            return nil
        }
        json.raw("}")
        return summary
    }

    private func endQuery(_ response: inout Response) -> Disposition {
        json.raw("]}")
        send(200, &response)
        return .done
    }

    private func queryElsewhere(
        _ list: [JSONPart],
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        var users: [UserID] = []
        var ids: [[UInt8]] = []
        for (index, element) in list.enumerated() {
            guard takeUser(element, index, &response) else { return .done }
            users.append(UserID(unchecked: String(decoding: lookup, as: UTF8.self)))
            ids.append(question.user)
        }
        return waitForRows(ticket, users, asked: ids, &response)
    }

    /// Answers when the rows are there.
    ///
    /// - Parameter ids: The users as they were asked for.
    func answer(
        _ users: [UserID],
        asked ids: [[UInt8]],
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        var doubtful: [UserID] = []
        json.reset()
        json.raw("{\"entitlements\":[")
        for (index, (user, id)) in zip(users, ids).enumerated() {
            question.user = id
            lookup = Array(user.value.utf8)
            guard let summary = encodeNext(index, &response) else { return .done }
            if readsElsewhere, !summary.isEntitled, reads.fetched[rowOfQuestion].map({ !$0.isNewest }) ?? false {
                doubtful.append(user)
            }
        }
        if let disposition = confirm(ticket, users, asked: ids, doubtful: doubtful, &response) { return disposition }
        return endQuery(&response)
    }
}

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
        guard let body = JSON(unsafe [UInt8](request.body)), let members = body.object else {
            write(.badRequest("the body: expected an object with user_ids"), &response)
            return .done
        }
        guard let list = members["user_ids"]?.array, list.count <= Self.queryUsersMax else {
            write(.badRequest("user_ids: expected a list of at most \(Self.queryUsersMax) user ids"), &response)
            return .done
        }
        if let entitlement = members["entitlement"], !entitlement.isNull {
            guard let text = entitlement.string, !text.isEmpty, text.utf8.count <= 255 else {
                write(.badRequest("entitlement: expected a name of 1 to 255 bytes"), &response)
                return .done
            }
            question.entitlement = Array(text.utf8)
        }
        if let name = members["environment"], !name.isNull {
            guard let environment = name.string.flatMap(StoreEnvironment.init(name:)) else {
                write(.badRequest("environment: expected production or sandbox"), &response)
                return .done
            }
            question.environment = environment
        }
        question.moment = now
        var users: [UserID] = []
        var ids: [[UInt8]] = []
        for (index, element) in list.enumerated() {
            guard let text = element.string, let user = UserID(text) else {
                var problem = Problem.invalidUserID
                problem.detail = "user_ids/\(index): " + problem.detail
                write(problem, &response)
                return .done
            }
            users.append(user)
            ids.append(Array(text.utf8))
        }
        if readsElsewhere, !users.isEmpty { return waitForRows(ticket, users, asked: ids, &response) }
        return answer(users, asked: ids, &response, ticket)
    }

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
            if index > 0 { json.raw(",") }
            do throws(StorageError) {
                let summary = try encodeOpenAnswer(question.moment)
                if readsElsewhere, !summary.isEntitled, reads.fetched[rowOfQuestion].map({ !$0.isNewest }) ?? false {
                    doubtful.append(user)
                }
            } catch {
                Log.error("a read failed", ("reason", .string(error.description)))
                write(.unavailable("the database cannot be read", retryAfter: 1), &response)
                return .done
            }
            json.raw("}")
        }
        if let disposition = confirm(ticket, users, asked: ids, doubtful: doubtful, &response) { return disposition }
        json.raw("]}")
        send(200, &response)
        return .done
    }
}

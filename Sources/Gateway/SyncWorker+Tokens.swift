internal import Crypto
internal import Entitlements
internal import Outbound
internal import Platform
internal import ProviderKit

/// An access token of one API, and the requests that wait for one.
struct AccessToken {
    var value: String?
    var until = MonotonicNanos(value: 0)
    var isAsked = false
    var waiting: [SyncWorker.Place] = []
}

/// APIs that want an access token: one is got with the credentials when it is needed, and used until shortly before its end.
extension SyncWorker {
    /// A token is not used in its last seconds.
    private static let marginSeconds: Int64 = 60
    private static let secondsMax: Int64 = 86_400
    private static let exchangeMillisMax = 5000

    /// The header for a request; empty where none is wanted, nil when the request waits for a token or has failed.
    func credential(for place: Place, of api: Int) -> [(name: String, value: String)]? {
        if let value = tokens[api].value, .now() < tokens[api].until { return [("Authorization", "Bearer " + value)] }
        guard !tokens[api].isAsked else {
            tokens[api].waiting.append(place)
            return nil
        }
        do throws(KeyError) {
            if let token = try apis[api].token(at: now) {
                tokens[api].value = token.value
                tokens[api].until = .now().adding(seconds: Int(max(token.seconds - Self.marginSeconds, 1)))
                return [("Authorization", "Bearer " + token.value)]
            }
            guard let exchange = try apis[api].exchange(at: now) else { return [] }
            tokens[api] = AccessToken(isAsked: true, waiting: [place])
            let request = OutboundRequest(
                "POST",
                exchange.url,
                headers: [
                    ("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded"),
                ],
                body: Array(exchange.form.utf8),
                deadlineMillis: Self.exchangeMillisMax
            )
            let mailbox = mailbox
            client.send(request) { result in _ = mailbox.post(.authorized(api: api, result)) }
        } catch {
            Log.error(
                "an access token, or the request for one, cannot be signed",
                ("provider", .string(apis[api].provider.name)),
                ("reason", .string(error.reason))
            )
            refuse([place], status: 401)
        }
        return nil
    }

    func authorized(_ api: Int, _ result: Result<OutboundAnswer, OutboundFailure>) {
        let waiting = tokens[api].waiting
        tokens[api] = AccessToken()
        var status = 599
        var reason: String
        switch result {
        case .success(let answer):
            let body = JSON(answer.body)
            if answer.status == 200, let token = body?["access_token"]?.string, !token.isEmpty {
                let seconds = min(max(body?["expires_in"]?.integer ?? 0, 0), Self.secondsMax)
                tokens[api].value = token
                tokens[api].until = .now().adding(seconds: Int(max(seconds - Self.marginSeconds, 1)))
                for place in waiting { send(place) }
                return
            }
            reason = "status \(answer.status)"
            if answer.status < 500, answer.status != 429 { status = 401 }
        case .failure(let failure): reason = failure.description
        }
        pace[api].failed(.now())
        Log.warning(
            "no access token was given out",
            ("provider", .string(apis[api].provider.name)),
            ("reason", .string(reason))
        )
        refuse(waiting, status: status)
    }

    /// The requests end as if the API itself had answered so.
    private func refuse(_ places: [Place], status: Int) {
        for place in places { conclude(place, APIAnswer(status: status, body: nil, at: nil)) }
    }
}

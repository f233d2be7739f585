internal import Crypto
internal import Entitlements
internal import Outbound
internal import Platform
internal import ProviderKit
internal import Providers

/// `app-store test-notification`: has Apple send a notification, and tells whether it arrived.
public enum AppStoreTrial {
    /// What became of it.
    public struct Report: Sendable {
        /// Apple's name for this test.
        public var token: String
        public var isSandbox: Bool
        /// When, and Apple's word for what came of it; empty when Apple has not tried yet.
        public var attempts: [(at: String?, result: String)]
        public var isDelivered: Bool
    }

    private static let pauseMillis = 1000
    private static let requestMillisMax = 10_000

    /// - Parameter seconds: How long to wait for the first attempt.
    /// - Throws: When Apple cannot be asked, and why.
    public static func run(
        _ configuration: GatewayConfiguration,
        isSandbox: Bool,
        seconds: Int,
        progress: (_ line: String) -> Void
    ) throws(ConfigurationError) -> Report {
        let registry = try ProviderRegistry(configuration)
        let environment: StoreEnvironment = isSandbox ? .sandbox : .production
        guard let api = registry.appStoreAPIs.first(where: { $0.environment == environment }) else {
            throw ConfigurationError(
                "app-store",
                "the App Store cannot be asked",
                hint:
                    "set \(AppStoreSettings.keyIDVariable), \(AppStoreSettings.issuerVariable) and \(AppStoreSettings.keyVariable), or name the file with --env-file"
            )
        }
        let client = OutboundClient()
        defer { client.stop() }
        let asked = try answer(to: AppStoreTestNotification.request, api, client)
        guard let token = AppStoreTestNotification.token(in: asked) else {
            throw ConfigurationError(api.base, "the answer has no token of the test")
        }
        progress("Apple was asked to send a notification (\(environment.name)); waiting for what comes of it")
        let end = MonotonicNanos.now().adding(seconds: seconds)
        var attempts: [AppStoreTestNotification.Attempt] = []
        while true {
            // An unknown token is one that is not known yet.
            attempts = AppStoreTestNotification.attempts(
                in: try answer(to: AppStoreTestNotification.status(token), api, client)
            )
            guard attempts.isEmpty, .now() < end else { break }
            pause(milliseconds: Self.pauseMillis)
        }
        return Report(
            token: token,
            isSandbox: isSandbox,
            attempts: attempts.map { ($0.at?.rfc3339, $0.result) },
            isDelivered: attempts.contains(where: \.isSuccess)
        )
    }

    private static func answer(
        to request: APIRequest,
        _ api: AppStoreAPI,
        _ client: OutboundClient
    ) throws(ConfigurationError) -> APIAnswer {
        let token: APIToken?
        do throws(KeyError) {
            token = try api.token(at: UnixMillis(wallClockMillis()))
        } catch {
            throw ConfigurationError(AppStoreSettings.keyVariable, error.reason)
        }
        let outbound = OutboundRequest(
            request.method.rawValue,
            api.base + request.path,
            headers: [("Accept", "application/json")] + (token.map { [("Authorization", "Bearer " + $0.value)] } ?? []),
            deadlineMillis: requestMillisMax
        )
        let mailbox: Mailbox<Result<OutboundAnswer, OutboundFailure>>
        do throws(SystemError) {
            mailbox = try Mailbox(capacity: 1)
        } catch {
            throw ConfigurationError("app-store", "\(error)")
        }
        client.send(outbound) { result in _ = mailbox.post(result) }
        var results = ContiguousArray<Result<OutboundAnswer, OutboundFailure>>()
        while results.isEmpty {
            _ = mailbox.wait(milliseconds: nil)
            mailbox.drain(into: &results)
        }
        switch results[0] {
        case .failure(let failure): throw ConfigurationError(api.base, failure.description)
        case .success(let outbound):
            let answer = SyncWorker.answer(outbound)
            switch api.failure(of: answer) {
            case nil: return answer
            case .passing(let reason, _)?: throw ConfigurationError(api.base, reason, hint: "try again later")
            case .notUnderstood(let reason)?: throw ConfigurationError(api.base, reason)
            case .refused(let reason)?:
                throw ConfigurationError(
                    api.base,
                    reason,
                    hint:
                        "key id, issuer id and key file must belong together, and to the app's team; an app that was never released has no production"
                )
            }
        }
    }

    private static func pause(milliseconds: Int) {
        guard let mailbox = try? Mailbox<Bool>(capacity: 1) else { return }
        _ = mailbox.wait(milliseconds: milliseconds)
    }
}

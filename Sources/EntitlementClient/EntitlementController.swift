public import Foundation
public import Observation

/// One signed-in person's entitlement, for views to watch.
///
/// ```swift
/// let pro = EntitlementController(gateway: URL(string: "https://entitlements.example.com")!)
/// pro.signIn(as: user.id) { try await auth.session.accessToken }
/// await pro.refresh()
/// ```
///
/// What it says is for showing; what must not be had without paying is decided by the server that has it.
@MainActor
@Observable
public final class EntitlementController {
    /// Gives a user token that is valid now; called before every request.
    public typealias TokenSource = @Sendable () async throws -> String

    /// Pauses between the looks that follow when waiting for a change did not work, in seconds.
    private static let pauses = [0.8, 1.6, 3.0]
    /// The longest that the gateway lets a request wait, in seconds.
    private static let waitSecondsMax = 30.0

    private struct SignedIn {
        var account: String
        var token: TokenSource
    }

    public private(set) var state: EntitlementState = .signedOut
    /// What went wrong last, while ``state`` still shows what was known before.
    public private(set) var lastError: EntitlementClientError?
    @ObservationIgnored private let connection: GatewayConnection
    @ObservationIgnored private let cache: AnswerCache
    @ObservationIgnored private let scope: [(String, String)]
    @ObservationIgnored private let clock: @Sendable () -> Date
    @ObservationIgnored private var signedIn: SignedIn?
    /// Counts sign-ins and sign-outs: an answer to somebody else's question is dropped.
    @ObservationIgnored private var generation = 0
    /// Counts the answers that were shown.
    @ObservationIgnored private var shownCount = 0
    @ObservationIgnored private var ending: Task<Void, Never>?

    /// - Parameters:
    ///   - gateway: Address of the gateway; https, or http on this machine.
    ///   - entitlement: Which one; nil is the gateway's default.
    ///   - environment: `sandbox` for builds that buy in a sandbox; nil is production.
    ///   - cache: File that keeps the last answer; nil is one in the app's support folder.
    ///   - clock: The time of now.
    public init(
        gateway: URL,
        entitlement: String? = nil,
        environment: String? = nil,
        cache: URL? = nil,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        connection = GatewayConnection(gateway)
        scope =
            (entitlement.map { [("entitlement", $0)] } ?? []) + (environment.map { [("environment", $0)] } ?? [])
        self.cache = AnswerCache(
            cache ?? PrivateFile.standard(.applicationSupportDirectory, "entitlement.json"),
            gateway: gateway,
            asked: "\(entitlement ?? "")/\(environment ?? "")"
        )
        self.clock = clock
    }

    deinit {
        ending?.cancel()
    }

    /// Whether to let the person in now. True only on an answer of the gateway that still holds by the clock.
    public var isEntitled: Bool {
        guard case .entitled(let answer) = state else { return false }
        return answer.isEntitled(at: clock())
    }

    /// Begins with what was told to this account before, if that still holds. Call ``refresh()`` next.
    ///
    /// - Parameter account: Your own id of the person; what was kept for another one is forgotten.
    public func signIn(as account: String, token: @escaping TokenSource) {
        begin(SignedIn(account: account, token: token))
        if let known = cache.answer(for: account, now: clock()) {
            show(known)
        } else {
            cache.forget()
            state = .loading
        }
    }

    /// Forgets the person, and what was kept about them.
    public func signOut() {
        begin(nil)
        cache.forget()
        state = .signedOut
    }

    /// Asks the gateway. Without a network what was known stays as long as it holds; else the state is an error.
    @discardableResult
    public func refresh() async -> EntitlementState {
        await ask("GET", "/v1/me/entitlement")
        return state
    }

    /// Has the gateway look at the providers now: for "restore purchases", and for a purchase of which nobody was told.
    @discardableResult
    public func restore() async -> EntitlementState {
        await ask("POST", "/v1/me/sync")
        return state
    }

    /// Waits for a purchase to arrive: one request that is answered when something changes, or after `seconds`. Where
    /// such a request does not come through, three looks after 0.8, 1.6 and 3.0 seconds.
    ///
    /// - Returns: The state then; not entitled means "not yet", and ``refresh()`` may show it later.
    @discardableResult
    public func pollAfterPurchase(seconds: Double = 25) async -> EntitlementState {
        let mine = generation
        let end = ContinuousClock.now + .seconds(seconds)
        // Without an answer of before nobody can say what a change is.
        if state.answer == nil {
            guard await refresh().answer != nil else { return await lookAgain(mine) }
            if isEntitled { return state }
        }
        while mine == generation, !Task.isCancelled {
            let before = state.answer
            let left = ContinuousClock.now.duration(to: end) / .seconds(1)
            guard left > 0.5 else { return state }
            let wait = Int(min(left.rounded(.up), Self.waitSecondsMax))
            let isAnswered = await ask(
                "GET",
                "/v1/me/entitlement",
                query: [("wait", "\(wait)"), ("after", "\(before?.version ?? 0)")],
                seconds: Double(wait) + 10
            )
            guard isAnswered else { return await lookAgain(mine) }
            // Whoever had it before waits for any change; the others for the one they paid for.
            if isEntitled, state.answer?.version != before?.version { return state }
        }
        return state
    }

    private func lookAgain(_ mine: Int) async -> EntitlementState {
        for pause in Self.pauses {
            try? await Task.sleep(for: .seconds(pause))
            guard mine == generation, !Task.isCancelled else { return state }
            await refresh()
            if isEntitled { return state }
        }
        return state
    }

    private func begin(_ next: SignedIn?) {
        generation += 1
        signedIn = next
        lastError = nil
        ending?.cancel()
    }

    /// False when there was no answer.
    @discardableResult
    private func ask(
        _ method: String,
        _ path: String,
        query: [(String, String)] = [],
        seconds: Double = 15
    ) async -> Bool {
        guard let signedIn else { return false }
        let (mine, shownBefore) = (generation, shownCount)
        do throws(EntitlementClientError) {
            let token: String
            do {
                token = try await signedIn.token()
            } catch {
                throw .noToken(String(describing: error))
            }
            let answer = try await connection.ask(
                EntitlementAnswer.self,
                method,
                path,
                query: scope + query,
                token: token,
                seconds: seconds
            )
            guard mine == generation else { return false }
            lastError = nil
            // Another answer overtook this one on the way, and knows more.
            if shownCount != shownBefore, let shown = state.answer, shown.version > answer.version { return true }
            shownCount += 1
            cache.keep(answer, for: signedIn.account, now: clock())
            show(answer)
            return true
        } catch {
            // Who gave up waiting has learnt nothing.
            guard mine == generation, !Task.isCancelled else { return false }
            fail(error)
            return false
        }
    }

    private func fail(_ error: EntitlementClientError) {
        lastError = error
        if error.isPassing, isEntitled { return }
        if !error.isPassing { cache.forget() }
        ending?.cancel()
        state = .error(error)
    }

    private func show(_ answer: EntitlementAnswer) {
        ending?.cancel()
        guard answer.isEntitled(at: clock()) else {
            state = .notEntitled(answer)
            return
        }
        state = .entitled(answer)
        guard let end = answer.accessUntil else { return }
        let seconds = min(end.timeIntervalSince(clock()), 86_400)
        ending = Task { [weak self] in
            try? await Task.sleep(for: .seconds(seconds))
            guard !Task.isCancelled else { return }
            // Shown again, by the clock of then.
            self?.showKnown()
        }
    }

    private func showKnown() {
        if case .entitled(let answer) = state { show(answer) }
    }
}

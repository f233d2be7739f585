import Foundation
import TestSupport

/// Plays one case on one gateway. For one thread, which it blocks.
final class CasePlayer {
    private static let ordersAtOnce = 4

    private let run: ConformanceRun
    private let testCase: ConformanceCase
    private let folder: TemporaryFolder
    private let gateway: GatewayProcess
    private let issuer: FakeIssuer
    private let services: FakeServices
    private var scope: Scope
    private var connection: HTTPConnection?
    private var lock: DatabaseLock?
    /// Stands before the step in reports of a permutation.
    private var order = ""

    /// Plays the whole case; nil when it passed. What a failed case leaves stays in its folder.
    static func failure(of testCase: ConformanceCase, in run: ConformanceRun) -> CaseFailure? {
        do {
            let player = try make(run, testCase, label: testCase.id)
            defer { player.close() }
            try player.play()
            player.discard()
            return nil
        } catch {
            return error
        }
    }

    private init(_ run: ConformanceRun, _ testCase: ConformanceCase, label: String) throws(ConformanceError) {
        self.run = run
        self.testCase = testCase
        do {
            folder = try TemporaryFolder(prefix: "conformance-" + label)
        } catch {
            throw .machine("no temporary folder: \(error)")
        }
        services = FakeServices(google: run.google)
        issuer = try FakeIssuer(services, google: run.google)
        var environment = run.environment
        let account = folder.file("google-account.json")
        let accountFile = run.google.accountFile(tokenAddress: issuer.address + "/token")
        guard FileManager.default.createFile(atPath: account, contents: Data(accountFile.utf8)) else {
            throw .machine("no file can be written to \(folder.path)")
        }
        environment.merge([
            "GOOGLE_PLAY_PACKAGE_NAME": FakeGoogle.package, "GOOGLE_PLAY_PUSH_AUDIENCE": FakeGoogle.audience,
            "GOOGLE_PLAY_PUSH_EMAIL": FakeGoogle.email, "GOOGLE_PLAY_SERVICE_ACCOUNT": account,
            "GOOGLE_PLAY_JWKS": issuer.address + "/jwks.json", "GOOGLE_PLAY_API_BASE": issuer.address,
        ]) { $1 }
        if testCase.apis != nil {
            for (name, value) in run.outbound { environment[name] = value }
            for name in ["REVENUECAT", "STRIPE", "CREEM"] { environment[name + "_API_BASE"] = issuer.address }
        }
        let root = folder.file("apple-root.der")
        guard FileManager.default.createFile(atPath: root, contents: Data(run.apple.root.der)) else {
            throw .machine("no file can be written to \(folder.path)")
        }
        environment["APP_STORE_ROOT_CERTIFICATES"] = root
        scope = Scope(now: Self.now(), environment: environment)
        scope.add(issuer)
        guard case .object(let changes) = try scope.expand(.object(testCase.environment)) else {
            throw .wrongCase("env must be an object")
        }
        GatewayProcess.apply(changes, to: &scope.environment)
        try Self.fill(services, testCase, scope)
        let scope = scope
        gateway = try GatewayProcess(
            program: run.program,
            folder: folder,
            environment: scope.environment,
            config: testCase.config.map { config throws(ConformanceError) in try scope.expand(config) }
        )
    }

    private static func make(
        _ run: ConformanceRun,
        _ testCase: ConformanceCase,
        label: String
    ) throws(CaseFailure) -> CasePlayer {
        do {
            return try CasePlayer(run, testCase, label: label)
        } catch {
            throw CaseFailure(place: "the start", error: error, logPath: "none", logTail: "")
        }
    }

    private func close() {
        lock = nil
        connection = nil
        gateway.kill()
    }

    /// Takes away what a passed case leaves. A gateway that still ran could write to its folder meanwhile.
    private func discard() {
        close()
        folder.remove()
    }

    private static func now() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }

    /// The tail of the log is read here, while the gateway still runs.
    private func at<Value>(
        _ place: String,
        _ work: () throws(ConformanceError) -> Value
    ) throws(CaseFailure) -> Value {
        do {
            return try work()
        } catch {
            throw CaseFailure(place: place, error: error, logPath: gateway.logPath, logTail: gateway.logTail())
        }
    }

    // MARK: Steps

    private func play() throws(CaseFailure) {
        try start()
        scope.now = Self.now()
        try at(order + "the start") { () throws(ConformanceError) in try fillServices() }
        for index in testCase.steps.indices {
            try play(stepAt: index)
        }
    }

    private func start() throws(CaseFailure) {
        try at(order + "the start") { () throws(ConformanceError) in try gateway.start() }
    }

    private func play(stepAt index: Int) throws(CaseFailure) {
        let step = testCase.steps[index]
        let place = order + "step \(index + 1)"
        let clock = ContinuousClock()
        let start = clock.now
        if case .permute(let deliveries, let reads) = step.action {
            try permute(deliveries, reads, stepAt: index)
        } else {
            try at(place) { () throws(ConformanceError) in try play(step.action) }
        }
        let seconds = (clock.now - start) / .seconds(1)
        try at(place) { () throws(ConformanceError) in try Self.check(seconds, within: step.withinSeconds) }
    }

    private static func check(_ seconds: Double, within limit: Double?) throws(ConformanceError) {
        if let limit, seconds > limit {
            throw .mismatch("expected an end within \(limit) s, took \(seconds) s")
        }
    }

    private func play(_ action: CaseStep.Action) throws(ConformanceError) {
        switch action {
        case .deliver(let step): try deliver(step)
        case .read(let step): try exchange(planner.plan(step))
        case .request(let step): try exchange(planner.plan(step))
        case .restart(let how): try restart(how)
        case .setEnvironment(let changes): try setEnvironment(changes)
        case .together(let steps): try playTogether(steps)
        case .command(let step): try command(step)
        case .lockDatabase(let isLocked):
            lock = nil
            if isLocked { lock = try DatabaseLock(path: gateway.databasePath) }
        case .wait(let seconds): Thread.sleep(forTimeInterval: seconds)
        case .verifyToken(let step): try verify(step)
        case .answers(let google, let apis, let calls): try change(google, apis, calls)
        case .permute: throw .wrongCase("permute cannot stand inside another step")
        }
    }

    private func deliver(_ step: DeliverStep) throws(ConformanceError) {
        let first = try planner.plan(step)
        try exchange(first)
        let expect = try AnswerExpectation(status: 200, body: ["outcome": "duplicate"], at: "again")
        for count in 0..<step.again {
            try exchange(
                PlannedExchange(
                    what: first.what + ", again (\(count + 1))",
                    request: first.request,
                    seconds: first.seconds,
                    expect: expect,
                    defaultStatus: nil,
                    save: []
                )
            )
        }
    }

    /// What the case says of the services; their times move with the case's clock.
    private func fillServices() throws(ConformanceError) {
        try Self.fill(services, testCase, scope)
    }

    private static func fill(
        _ services: FakeServices,
        _ testCase: ConformanceCase,
        _ scope: Scope
    ) throws(ConformanceError) {
        services.set(google: try answers(testCase.google, scope), apis: try answers(testCase.apis, scope))
    }

    private static func answers(_ value: JSONValue?, _ scope: Scope) throws(ConformanceError) -> JSONObject {
        guard let value else { return JSONObject() }
        guard case .object(let expanded) = try scope.expand(value) else {
            throw .wrongCase("google and apis are objects")
        }
        return expanded
    }

    private func change(_ google: JSONObject, _ apis: JSONObject, _ calls: JSONObject) throws(ConformanceError) {
        services.set(
            google: try Self.answers(.object(google), scope),
            apis: try Self.answers(.object(apis), scope)
        )
        for wanted in calls.members {
            let count = services.calls(of: wanted.key)
            let found = try Matchers.differences(wanted.value, .integer(Int64(count)), at: "calls of \(wanted.key)")
            guard found.isEmpty else { throw .mismatch(found.joined(separator: "\n  ")) }
        }
    }

    private func restart(_ how: CaseStep.HowToStop) throws(ConformanceError) {
        connection = nil
        switch how {
        case .kill: gateway.kill()
        case .term: try gateway.terminate()
        }
        try gateway.start()
    }

    private func setEnvironment(_ changes: JSONObject) throws(ConformanceError) {
        connection = nil
        try gateway.terminate()
        guard case .object(let expanded) = try scope.expand(.object(changes)) else { return }
        GatewayProcess.apply(expanded, to: &scope.environment)
        gateway.environment = scope.environment
        try gateway.start()
    }

    private func command(_ step: CommandStep) throws(ConformanceError) {
        let arguments = try step.arguments.map { text throws(ConformanceError) in try scope.text(.string(text)) }
        guard case .object(let changes) = try scope.expand(.object(step.environment)) else { return }
        let done = try gateway.command(arguments, changes: changes, seconds: step.seconds)
        // A signal is no exit status: it must not fit any number.
        var result: JSONObject = JSONObject([
            (key: "stdout", value: .string(done.output)), (key: "stderr", value: .string(done.errors)),
            (key: "output", value: .string(done.output + done.errors)),
        ])
        result["json"] = try? JSONValue(parsing: done.output)
        let status: JSONValue =
            if case .exited(let code) = done.status { .integer(Int64(code)) } else { .string("\(done.status)") }
        var found = try Matchers.differences(scope.expand(step.exit), status, at: "exit")
        found += try Matchers.differences(scope.expand(.object(step.expect)), .object(result))
        guard found.isEmpty else {
            throw .mismatch(
                "\(arguments.joined(separator: " ")): \(found.joined(separator: "\n  "))\n  output: "
                    + (done.output + done.errors).prefix(1500)
            )
        }
    }

    /// A licence token, checked by the keys that the gateway publishes.
    private func verify(_ step: VerifyTokenStep) throws(ConformanceError) {
        let answer: HTTPAnswer
        do {
            answer = try HTTPConnection(port: gateway.port).send(
                HTTPRequest(target: "/.well-known/jwks.json"),
                seconds: 5
            )
        } catch {
            throw .mismatch("no key set: \(error)")
        }
        let (header, claims) = try LicenceTokens.open(try scope.text(.string(step.token)), by: answer.body)
        var found = try Matchers.differences(scope.expand(.object(step.header)), header, at: "header")
        found += try Matchers.differences(scope.expand(.object(step.claims)), claims, at: "claims")
        guard found.isEmpty else { throw .mismatch(found.joined(separator: "\n  ")) }
    }

    // MARK: Exchanges

    private var planner: ExchangePlanner {
        ExchangePlanner(run: run, scope: scope, issuer: issuer)
    }

    private func exchange(_ planned: PlannedExchange) throws(ConformanceError) {
        let connection = connection ?? HTTPConnection(port: gateway.port)
        self.connection = connection
        try judge(planned, try Self.send(planned, over: connection))
    }

    private static func send(
        _ planned: PlannedExchange,
        over connection: HTTPConnection
    ) throws(ConformanceError) -> HTTPAnswer {
        do {
            return try connection.send(planned.request, seconds: planned.seconds)
        } catch {
            throw .mismatch("\(planned.what): no answer: \(error)")
        }
    }

    private func judge(_ planned: PlannedExchange, _ answer: HTTPAnswer) throws(ConformanceError) {
        let found = try planned.expect.differences(in: answer, defaultStatus: planned.defaultStatus, scope: scope)
        guard found.isEmpty else {
            throw .mismatch(
                "\(planned.what): \(found.joined(separator: "\n  "))\n  answer: \(answer.status) \(answer.text.prefix(1500))"
            )
        }
        for saving in planned.save {
            scope.saved[saving.name] = try Self.value(of: saving, in: answer)
        }
    }

    private static func value(of saving: Saving, in answer: HTTPAnswer) throws(ConformanceError) -> JSONValue {
        switch saving.source {
        case .header(let name):
            guard let value = answer.header(name) else { throw .mismatch("save \(saving.name): no header \(name)") }
            return .string(value)
        case .pointer(let text):
            guard let document = try? answer.json(), let value = try JSONPointer(text).value(in: document) else {
                throw .mismatch("save \(saving.name): nothing at \(text) in \(answer.text.prefix(300))")
            }
            return value
        }
    }

    /// All at the same time, each begun 150 ms after the one before it: long enough for that one to have arrived.
    private func playTogether(_ steps: [CaseStep]) throws(ConformanceError) {
        var plans: [PlannedExchange] = []
        for step in steps {
            switch step.action {
            case .deliver(let step): plans.append(try planner.plan(step))
            case .read(let step): plans.append(try planner.plan(step))
            case .request(let step): plans.append(try planner.plan(step))
            default: throw .wrongCase("together takes deliver, read and request steps only")
            }
        }
        let port = gateway.port
        let results = try inParallel(count: plans.count, atMost: plans.count) {
            [plans] number throws(ConformanceError) in
            Thread.sleep(forTimeInterval: 0.15 * Double(number))
            let start = ContinuousClock.now
            let answer = try Self.send(plans[number], over: HTTPConnection(port: port))
            return (answer: answer, seconds: (ContinuousClock.now - start) / .seconds(1))
        }
        for (number, result) in results.enumerated() {
            try judge(plans[number], result.answer)
            try Self.check(result.seconds, within: steps[number].withinSeconds)
        }
    }

    // MARK: Orders

    /// Every order of the deliveries, each on a fresh gateway that has first played the steps before this one.
    private func permute(_ deliveries: [DeliverStep], _ reads: [ReadStep], stepAt index: Int) throws(CaseFailure) {
        let orders = Self.orders(of: deliveries.count)
        _ = try inParallel(count: orders.count, atMost: Self.ordersAtOnce) {
            [run, testCase, now = scope.now] number throws(CaseFailure) in
            let order = orders[number]
            let name = order.map { String($0 + 1) }.joined(separator: "-")
            let place = "order \(name), step \(index + 1)"
            let player = try Self.make(run, testCase, label: "\(testCase.id)-order-\(name)")
            defer { player.close() }
            player.order = "order \(name), "
            try player.start()
            player.scope.now = now
            try player.at(place) { () throws(ConformanceError) in try player.fillServices() }
            for earlier in 0..<index {
                if case .permute = testCase.steps[earlier].action { continue }
                try player.play(stepAt: earlier)
            }
            for delivery in order {
                try player.at(place) { () throws(ConformanceError) in try player.deliver(deliveries[delivery]) }
            }
            for read in reads {
                try player.at(place) { () throws(ConformanceError) in
                    try player.exchange(player.planner.plan(read))
                }
            }
            player.discard()
        }
    }

    /// All orders of 0, 1, … `count`-1.
    static func orders(of count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return orders(of: count - 1).flatMap { order in
            (0..<count).map { place in Array(order[..<place]) + [count - 1] + Array(order[place...]) }
        }
    }
}

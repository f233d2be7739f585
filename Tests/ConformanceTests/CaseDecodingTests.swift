import TestSupport
import Testing

@Suite struct CaseDecodingTests {
    private func step(_ document: JSONValue) throws -> CaseStep {
        try CaseStep(document, at: "step 1")
    }

    @Test(
        "what nobody asked for is refused",
        arguments: [
            ["read": "u1", "exptect": [:]], ["deliver": "creem/x.json", "removes": []], ["wait": 1, "seconds": 1],
            ["request": ["path": "/", "verb": "GET"]], ["request": ["path": "/"], "expect": ["body": 1, "code": 2]],
            ["restart": true, "when": "now"], ["command": ["version"], "expect": ["code": 0]], ["nothing": true], [:],
        ] as [JSONValue]
    )
    func unknown(_ document: JSONValue) {
        #expect(throws: ConformanceError.self) { try step(document) }
    }

    @Test(
        "what has the wrong type is refused",
        arguments: [
            ["read": 5], ["deliver": "a/b", "again": -1], ["deliver": "a/b", "again": true],
            ["deliver": "a/b", "set": []],
            ["wait": "1"], ["restart": "slowly"], ["lock_database": 1], ["within": "1", "wait": 1],
            ["deliver": "a/b", "sign": "best"], ["deliver": "a/b", "key_as": "hex"], ["read": "u", "save": ["v": 1]],
        ] as [JSONValue]
    )
    func wrongType(_ document: JSONValue) {
        #expect(throws: ConformanceError.self) { try step(document) }
    }

    @Test func aReadMayWait() throws {
        guard case .read(let read) = try step(["read": "u1", "wait": 10, "after": 0]).action else {
            Issue.record("a read with wait is a read")
            return
        }
        #expect(read.query.map(\.name) == ["wait", "after"])
    }

    @Test func theDefaultStatusFollowsTheSignature() throws {
        let wanted = ["good": 200, "rotated": 200, "none": 401, "bad": 401, "stale": 401, "reserialized": 401]
        for (mode, status) in wanted {
            guard case .deliver(let delivery) = try step(["deliver": "a/b", "sign": .string(mode)]).action else {
                continue
            }
            #expect(delivery.defaultStatus == status, "\(mode)")
        }
    }

    @Test func permutationsAndParallelsHoldWhatTheyCanPlay() throws {
        let delivery: JSONValue = ["deliver": "creem/x.json"]
        #expect(throws: Never.self) { try step(["permute": [delivery, delivery], "reads": [["read": "u1"]]]) }
        #expect(throws: ConformanceError.self) { try step(["permute": [delivery]]) }
        #expect(throws: ConformanceError.self) { try step(["permute": .array(Array(repeating: delivery, count: 6))]) }
        #expect(throws: ConformanceError.self) { try step(["permute": [delivery, ["wait": 1]]]) }
        #expect(throws: ConformanceError.self) { try step(["permute": [delivery, delivery], "reads": [delivery]]) }
        #expect(throws: Never.self) { try step(["together": [delivery, ["read": "u1", "within": 1]]]) }
        #expect(throws: ConformanceError.self) { try step(["together": [["restart": true]]]) }
        #expect(throws: ConformanceError.self) { try step(["together": [["deliver": "creem/x.json", "again": 1]]]) }
    }

    @Test(
        "a case needs an id, a title and steps",
        arguments: [
            ["title": "t", "steps": [["wait": 1]]], ["id": "X", "steps": [["wait": 1]]], ["id": "X", "title": "t"],
            ["id": "X", "title": "t", "steps": []], ["id": "X", "title": "t", "steps": [["wait": 1]], "note": "n"],
        ] as [JSONValue]
    )
    func incomplete(_ document: JSONValue) {
        #expect(throws: ConformanceError.self) { try ConformanceCase(document) }
    }

    @Test func everyOrderComesOnce() {
        for (count, factorial) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
            let orders = CasePlayer.orders(of: count)
            #expect(orders.count == factorial)
            #expect(Set(orders).count == factorial)
            #expect(orders.allSatisfy { $0.sorted() == Array(0..<count) })
        }
    }
}

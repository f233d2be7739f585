import TestSupport
import Testing

@Suite struct AnswerExpectationTests {
    private let scope = Scope(now: 0, environment: ["KEY": "topsecret"], saved: ["v": 3])
    private let answer = HTTPAnswer(
        status: 200,
        headers: [HTTPHeader("ETag", "\"3\""), HTTPHeader("Vary", "a"), HTTPHeader("vary", "b")],
        body: Array(#"{"version":3,"name":"topsecret"}"#.utf8)
    )

    private func differences(_ expect: JSONValue, defaultStatus: Int? = nil, in other: HTTPAnswer? = nil) throws
        -> [String]
    {
        try AnswerExpectation(expect, at: "step 1").differences(
            in: other ?? answer,
            defaultStatus: defaultStatus,
            scope: scope
        )
    }

    @Test(
        "an answer that fits",
        arguments: [
            [:], ["status": 200], ["status": ["$in": [200, 201]]], ["body": ["version": "${v}"]],
            ["headers": ["etag": ["$regex": "^\""]]], ["headers": ["Vary": "a, b"]],
            ["headers": ["X": ["$absent": true]]],
            ["excludes": ["password"]],
        ] as [JSONValue]
    )
    func fitting(_ expect: JSONValue) throws {
        #expect(try differences(expect) == [])
    }

    @Test(
        "an answer that does not",
        arguments: [
            ["status": 201], ["body": ["version": 4]], ["body": ["missing": 1]], ["headers": ["ETag": "3"]],
            ["headers": ["X": ["$any": true]]], ["excludes": ["${env:KEY}"]],
        ] as [JSONValue]
    )
    func failing(_ expect: JSONValue) throws {
        #expect(try differences(expect).count == 1)
    }

    @Test func theStatusOfAStepCountsWhenNoneIsNamed() throws {
        #expect(try differences([:], defaultStatus: 401) == ["status: expected 401, got 200"])
        #expect(try differences(["status": 200], defaultStatus: 401) == [])
    }

    @Test func aBodyThatIsNoJSONFitsOnlyAnEmptyExpectation() throws {
        let plain = HTTPAnswer(status: 200, headers: [], body: Array("not json".utf8))
        #expect(try differences(["body": [:]], in: plain) == [])
        #expect(try differences(["body": ["a": ["$absent": true]]], in: plain).count == 1)
    }

    @Test func unknownMembersAreRefused() {
        #expect(throws: ConformanceError.self) { try AnswerExpectation(["state": 200], at: "step 1") }
        #expect(throws: ConformanceError.self) { try AnswerExpectation(["body": ["$anny": true]], at: "step 1") }
    }
}

import TestSupport
import Testing

@Suite struct MatcherTests {
    private func fits(_ expected: JSONValue, _ actual: JSONValue?) throws -> Bool {
        try Matchers.differences(expected, actual).isEmpty
    }

    @Test func onlyNamedMembersAreCompared() throws {
        #expect(try fits(["a": 1], ["a": 1, "b": 2]))
        #expect(try fits([:], ["a": 1]))
        #expect(try !fits(["a": 1], ["b": 1]))
        #expect(try !fits(["a": .null], ["b": 1]))
        #expect(try fits(["a": .null], ["a": .null]))
        #expect(try !fits(["a": 1], [1]))
        #expect(try !fits([:], []))
    }

    @Test func truthIsNoNumber() throws {
        #expect(try !fits(1, true))
        #expect(try !fits(true, 1))
        #expect(try !fits(0, false))
        #expect(try !fits(false, .null))
        #expect(try fits(1, JSONValue(parsing: "1.0")))
        #expect(try !fits("1", 1))
    }

    @Test func listsAreComparedByLengthAndOrder() throws {
        #expect(try fits([1, ["a": 2]], [1, ["a": 2, "b": 3]]))
        #expect(try !fits([1, 2], [2, 1]))
        #expect(try !fits([1], [1, 2]))
        #expect(try !fits([1, 2], [1]))
        #expect(try !fits([], [1]))
        #expect(try !fits([1], "1"))
        #expect(try fits([], []))
    }

    @Test func presence() throws {
        #expect(try fits(["a": ["$any": true]], ["a": .null]))
        #expect(try !fits(["a": ["$any": true]], [:]))
        #expect(try fits(["a": ["$any": false]], [:]))
        #expect(try fits(["a": ["$absent": true]], [:]))
        #expect(try !fits(["a": ["$absent": true]], ["a": .null]))
        #expect(try fits(["a": ["$absent": false]], ["a": .null]))
    }

    @Test func choice() throws {
        #expect(try fits(["$in": [1, "a", .null]], "a"))
        #expect(try fits(["$in": [false, .null]], .null))
        #expect(try fits(["$in": [["x": 1]]], ["x": 1, "y": 2]))
        #expect(try !fits(["$in": [1]], true))
        #expect(try !fits(["$in": [1]], nil))
        #expect(try !fits(["$in": []], 1))
    }

    @Test func patterns() throws {
        #expect(try fits(["$regex": "^[\\w-]{3}$"], "a-b"))
        #expect(try fits(["$regex": "b"], "abc"))
        #expect(try !fits(["$regex": "^b"], "abc"))
        #expect(try !fits(["$regex": ".+"], ""))
        #expect(try !fits(["$regex": ".+"], 5))
        #expect(try !fits(["$regex": ".*"], nil))
    }

    @Test func bounds() throws {
        #expect(try fits(["$gte": 2], 2))
        #expect(try !fits(["$gte": 2], JSONValue(parsing: "1.9")))
        #expect(try fits(["$lte": 2], 2))
        #expect(try !fits(["$lte": 2], 3))
        #expect(try !fits(["$gte": 0], true))
        #expect(try !fits(["$gte": 0], "5"))
        #expect(try !fits(["$gte": 0], nil))
        #expect(try fits(["$gte": 1, "$lte": 3], 2))
        #expect(try !fits(["$gte": 1, "$lte": 3], 4))
    }

    @Test func instants() throws {
        #expect(try fits(["$time": "2027-01-01T00:00:00Z"], "2027-01-01T01:00:00.000+01:00"))
        #expect(try !fits(["$time": "2027-01-01T00:00:00Z"], "2027-01-01T00:00:00.001Z"))
        #expect(try !fits(["$time": "2027-01-01T00:00:00Z"], .null))
        #expect(try !fits(["$time": "2027-01-01T00:00:00Z"], 1_798_761_600))
    }

    @Test func lengths() throws {
        #expect(try fits(["$len": 2], [1, 2]))
        #expect(try fits(["$len": 0], []))
        #expect(try fits(["$len": 1], ["a": 1]))
        #expect(try fits(["$len": 2], "e\u{301}"))
        #expect(try !fits(["$len": 2], [1]))
        #expect(try !fits(["$len": 0], 0))
        #expect(try !fits(["$len": 0], nil))
    }

    @Test func elementsAndOpposites() throws {
        #expect(try fits(["$contains": ["a": 1]], [["a": 2], ["a": 1, "b": 2]]))
        #expect(try !fits(["$contains": 1], [true]))
        #expect(try !fits(["$contains": 1], 1))
        #expect(try fits(["$not": 7], 8))
        #expect(try !fits(["$not": 7], 7))
        #expect(try !fits(["$not": 7], nil))
        #expect(try fits(["$not": ["$contains": 1]], [2]))
    }

    @Test func aMemberWithADollarAmongOthersIsAMember() throws {
        #expect(try fits(["$email": 1, "b": 2], ["$email": 1, "b": 2, "c": 3]))
        #expect(try !fits(["$email": 1, "b": 2], ["b": 2]))
    }

    @Test func eachDifferenceNamesItsPlace() throws {
        let found = try Matchers.differences(["a": [1, ["b": true]], "c": ["$in": [1]]], ["a": [2, ["b": 1]]])
        #expect(
            found == [
                "/a/0: expected 1, got 2", "/a/1/b: expected true, got 1", #"/c: expected {"$in":[1]}, got nothing"#,
            ]
        )
    }

    @Test(
        "a wrong matcher is the case's fault, never a pass or a mismatch",
        arguments: [
            ["$unknown": 1], ["$any": 1], ["$in": 1], ["$regex": "("], ["$time": "soon"], ["$gte": "1"],
        ] as [JSONValue]
    )
    func wrong(_ expected: JSONValue) {
        #expect(throws: ConformanceError.self) { try Matchers.differences(expected, "x") }
    }

    @Test func unknownMatchersAreFoundBeforePlaying() {
        #expect(throws: ConformanceError.self) { try Matchers.check(["a": [["$anny": true]]], at: "step 1") }
        #expect(throws: Never.self) { try Matchers.check(["a": [["$any": true], ["$x": 1, "y": 2]]], at: "step 1") }
    }
}

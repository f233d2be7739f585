import TestSupport
import Testing

@Suite struct JSONPointerTests {
    private let document: JSONValue = ["a": ["b": [1, 2]], "": 7, "x/y": 8, "m~n": 9, "null": .null]

    @Test(
        "reading",
        arguments: [
            ("/a/b/1", "2"), ("/", "7"), ("/x~1y", "8"), ("/m~0n", "9"), ("/null", "null"), ("/a/b", "[1,2]"),
        ]
    )
    func value(_ pointer: String, _ wanted: String) throws {
        #expect(try JSONPointer(pointer).value(in: document)?.compact == wanted)
    }

    @Test func theEmptyPointerIsTheDocument() throws {
        #expect(try JSONPointer("").value(in: document) == document)
        #expect(try JSONPointer("").set(5, in: document) == 5)
    }

    @Test("nothing there", arguments: ["/b", "/a/b/2", "/a/b/x", "/a/b/0/c", "/null/a", "/a/b/-1"])
    func nothing(_ pointer: String) throws {
        #expect(try JSONPointer(pointer).value(in: document) == nil)
    }

    @Test func tildeOneIsReadBeforeTildeZero() throws {
        let document: JSONValue = ["~1": 5]
        #expect(try JSONPointer("/~01").value(in: document) == 5)
    }

    @Test(
        "setting makes the objects on the way, and keeps the order",
        arguments: [
            (#"{"a":1,"b":2}"#, "/a", #"{"a":"v","b":2}"#),
            (#"{}"#, "/a/b/c", #"{"a":{"b":{"c":"v"}}}"#),
            (#"{"a":[1,2]}"#, "/a/0", #"{"a":["v",2]}"#),
            (#"{"a":[1,2]}"#, "/a/-", #"{"a":[1,2,"v"]}"#),
            (#"{"a":[{"b":1}]}"#, "/a/0/c", #"{"a":[{"b":1,"c":"v"}]}"#),
        ]
    )
    func set(_ before: String, _ pointer: String, _ after: String) throws {
        #expect(try JSONPointer(pointer).set("v", in: JSONValue(parsing: before)).compact == after)
    }

    @Test(
        "removing what is not there changes nothing",
        arguments: [
            (#"{"a":1,"b":2}"#, "/a", #"{"b":2}"#),
            (#"{"a":{"b":1,"c":2}}"#, "/a/b", #"{"a":{"c":2}}"#),
            (#"{"a":[1,2,3]}"#, "/a/1", #"{"a":[1,3]}"#),
            (#"{"a":1}"#, "/b", #"{"a":1}"#),
            (#"{"a":1}"#, "/b/c/d", #"{"a":1}"#),
            (#"{"a":null}"#, "/a/b", #"{"a":null}"#),
        ]
    )
    func remove(_ before: String, _ pointer: String, _ after: String) throws {
        #expect(try JSONPointer(pointer).remove(from: JSONValue(parsing: before)).compact == after)
    }

    @Test func wrongPointersAreTheCasesFault() throws {
        #expect(throws: ConformanceError.self) { try JSONPointer("a") }
        #expect(throws: ConformanceError.self) { try JSONPointer("/a/b/7").set(1, in: document) }
        #expect(throws: ConformanceError.self) { try JSONPointer("/a/b/0/c").set(1, in: document) }
        #expect(throws: ConformanceError.self) { try JSONPointer("/a/b/7").remove(from: document) }
        #expect(throws: ConformanceError.self) { try JSONPointer("").remove(from: document) }
    }
}

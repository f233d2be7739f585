import TestSupport
import Testing

@Suite struct JSONValueTests {
    @Test(
        "numbers keep their digits, members their order",
        arguments: [
            #"{"b":0.0,"a":[1,-2,9.990,1e3,123456789012345678901234567890],"c":{"z":null,"y":true}}"#,
            #"["é","/","\"\\\n\u0001","𝄞"]"#,
            "{}", "[]", "false", #""""#,
        ]
    )
    func roundTrip(_ text: String) throws {
        #expect(try JSONValue(parsing: text).compact == text)
    }

    @Test(
        "escapes are read",
        arguments: [
            (#""\/""#, "/"), (#""\u00e9""#, "é"), (#""\ud834\udd1e""#, "𝄞"),
            (#""a\tb\b\f\r\n""#, "a\tb\u{08}\u{0c}\r\n"),
        ]
    )
    func escapes(_ text: String, _ wanted: String) throws {
        #expect(try JSONValue(parsing: text) == .string(wanted))
    }

    @Test(
        "what is no JSON is refused",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\":1,}", "01", "1.", "+1", ".5", "1e", "nul", "tru", "'a'", "\"a", "\"\u{01}\"",
            "\"\\x\"", "\"\\ud834\"", "\"\\udd1e\"", "1 2", "{\"a\":1,\"a\":1}", "{1:2}", "NaN", "[1}", "\u{feff}1",
        ]
    )
    func refused(_ text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func bytesThatAreNoUTF8AreRefused() {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: [0x22, 0xff, 0x22]) }
    }

    @Test func nestingIsLimited() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: deep) }
    }

    @Test(
        "equal by value",
        arguments: [
            ("1", "1.0"), ("1e2", "100"), ("0", "-0"), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#), ("0.1", "0.10"),
        ]
    )
    func equal(_ one: String, _ other: String) throws {
        #expect(try JSONValue(parsing: one) == JSONValue(parsing: other))
    }

    @Test(
        "not equal",
        arguments: [
            ("1", "true"), ("0", "false"), ("0", "null"), ("1", #""1""#), ("[1,2]", "[2,1]"),
            (#"{"a":1}"#, #"{"a":1,"b":2}"#),
            ("9007199254740993", "9007199254740992"), ("9007199254740993", "9007199254740992.0"), ("[]", "{}"),
            (#""a""#, #""A""#),
            // The same letter in one code point and in two: different ids to everyone who compares bytes.
            ("\"\u{e9}\"", "\"e\u{301}\""), ("{\"\u{e9}\":1}", "{\"e\u{301}\":1}"),
        ]
    )
    func notEqual(_ one: String, _ other: String) throws {
        #expect(try JSONValue(parsing: one) != JSONValue(parsing: other))
    }

    @Test func indentedAndSortedIsAnotherTextOfTheSameValue() throws {
        let value: JSONValue = ["b": [1, [:], []], "a": ["c": .null]]
        let text = """
            {
              "a": {
                "c": null
              },
              "b": [
                1,
                {},
                []
              ]
            }
            """
        #expect(value.indentedAndSorted == text)
        #expect(try JSONValue(parsing: text) == value)
    }
}

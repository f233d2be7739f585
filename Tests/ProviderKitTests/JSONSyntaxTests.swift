internal import Testing

@testable internal import ProviderKit

/// Where a text stops being JSON.
struct JSONSyntaxTests {
    @Test(
        "line and column",
        arguments: [
            ("{", 1, 2), ("{\n  \"a\": 1,\n}", 3, 1), ("{\"a\" 1}", 1, 6), ("[1 2]", 1, 4), ("{\"ä\": x}", 1, 7),
            ("", 1, 1),
            ("{} {}", 1, 4), ("{\"a\":1,\"a\":2}", 1, 8), ("[\"\n\"]", 1, 3), ("[\"abc]", 1, 2), ("[01]", 1, 3),
            ("[1.]", 1, 4),
            ("[-]", 1, 3), ("[1e]", 1, 4), ("[\"\\x\"]", 1, 4), ("[\"\\u12g4\"]", 1, 7), ("[tru]", 1, 2),
            ("[1,]", 1, 4),
            ("\r\n\r\n  nul", 3, 3), ("{a:1}", 1, 2), ("{\"a\":1 \"b\":2}", 1, 8),
            ("[\"a\\ude00\"]", 1, 4), ("[\"\\ud83d\"]", 1, 3), ("[\"\\ud83d\\u0041\"]", 1, 3), ("[1e400]", 1, 2),
            ("[-1e300073709551615]", 1, 2),
        ]
    )
    func mistakes(_ text: String, _ line: Int, _ column: Int) throws {
        let mistake = try #require(JSONSyntax.mistake(in: Array(text.utf8)))
        #expect(mistake.line == line && mistake.column == column, "\(mistake)")
        #expect(mistake.description.hasPrefix("line \(line), column \(column): "))
    }

    @Test(
        "what is JSON",
        arguments: [
            "{}", "[]", " [1, -0.5e+3, 0, \"\\u00e4\\n\\\"\", true, false, null, {\"a\": {\"a\": []}}] \n", "\"x\"",
            "3",
            "{\"a\":1,\"b\":1}", "\"\\ud83d\\ude00\"", "1e308", "\"\\uD7FF\\uE000\"",
        ]
    )
    func fine(_ text: String) {
        #expect(JSONSyntax.mistake(in: Array(text.utf8)) == nil)
        #expect(JSON(Array(text.utf8)) != nil)
    }

    @Test("no UTF-8, and nested too deep")
    func hopeless() {
        #expect(JSONSyntax.mistake(in: [0x22, 0xFF, 0x22]) != nil)
        #expect(JSONSyntax.mistake(in: Array(String(repeating: "[", count: 5000).utf8)) != nil)
    }
}

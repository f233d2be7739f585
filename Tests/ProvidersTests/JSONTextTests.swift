internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ProviderKit
@testable internal import Providers

/// The reader of deliveries beside Foundation's: both must take the same texts for JSON and read the same out of them.
struct JSONTextTests {
    @Test(
        "small texts",
        arguments: [
            "", " ", "{}", "[]", "{ }", "[ ]", "\"x\"", "3", "-0", "0", "-", "+1", "01", "00", "-01", "1.", ".5", "1.5",
            "-1.5e3", "1E5", "1e+5", "1e-5", "1e", "1e400", "-1e400", "1e-400", "9223372036854775807",
            "9223372036854775808", "-9223372036854775809", "18446744073709551615",
            "18446744073709551616", "123456789012345678", "1234567890123456789", "0.1", "9.99", "1.0", "true", "false",
            "null", "tru", "truex", "nul", "[,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}",
            "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":2}", "{\"a\":1}x", "{\"a\":1} \r\n\t", "[1", "{\"a\":1", "\"abc",
            "\"\\x\"", "\"\\\"", "\"\\u12g4\"", "\"\\u00e4\\n\\r\\t\\b\\f\\\\\\/\\\"\"", "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\ud83dx\"", "\"\\u0000\"", "\"a\tb\"", "\"a\nb\"", "\"ä€😀\"",
            "{\"ä\":\"ö\",\"e\\u0301\":1}", "[[[[]]]]", "[\"a@b\",{\"b\":[null,{}]}]", "\u{FEFF}{}", "\u{FEFF}",
            "\u{0}",
            "\"\u{7F}\"", "{\"\":\"\"}", "[1,2,3,{\"12345678\":\"1234567\\\\\"}]", "\"12345678\\\"12345678\"", "NaN",
            "Infinity", "'a'", "/**/1", "\u{A0}1", "\"\\U0041\"", "\"\\u004\"",
        ]
    )
    func small(_ text: String) {
        check(Array(text.utf8))
    }

    @Test("where it keeps to the standard and Foundation does not")
    func stricter() {
        #expect(JSON(Array("-9223372036854775808".utf8)) == .integer(.min))
        for text in ["[true,]", "{\"a\":1,}"] { #expect(JSON(Array(text.utf8)) == nil) }
    }

    @Test("bytes that are no UTF-8, and other encodings")
    func bytes() {
        for inner: [UInt8] in [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xE2, 0x82],
        ] {
            check([0x22] + inner + [0x22])
            check([0x22, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68] + inner + [0x22])
        }
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian] {
            check(Array("{\"a\":[1,\"ä\",true]}".data(using: encoding)!))
        }
    }

    @Test("what is nested deep", arguments: [1, 10, 300, 510, 511, 512, 513, 514, 600])
    func depth(_ depth: Int) {
        check(Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8))
        let objects = String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
        check(Array(objects.utf8))
    }

    @Test("hopelessly deep")
    func hopeless() {
        #expect(JSON(Array(String(repeating: "[", count: 500_000).utf8)) == nil)
    }

    private static let providers = [
        "app_store", "chargebee", "creem", "dodo", "google_play", "lemonsqueezy", "paddle", "polar", "revenuecat",
        "stripe",
    ]

    @Test("samples, as they are and damaged", arguments: providers)
    func samples(_ provider: String) {
        var random = SplitMix64(seed: UInt64(provider.utf8.count) &* 7919)
        let signs = Array("{}[]\",:\\u0e+-.19tfn \n\u{1F}é".utf8)
        for (_, body) in BuiltInProviders.samples(of: provider).sorted(by: { $0.key < $1.key }) {
            check(body)
            for _ in 0..<12 {
                var damaged = body
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = Int.random(in: damaged.indices, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: damaged[place] = signs.randomElement(using: &random)!
                    case 1: damaged.remove(at: place)
                    case 2: damaged.insert(signs.randomElement(using: &random)!, at: place)
                    default: damaged.removeSubrange(place...)
                    }
                    if damaged.isEmpty { break }
                }
                check(damaged)
            }
        }
    }

    private func check(_ bytes: [UInt8], location: SourceLocation = #_sourceLocation) {
        let (own, other) = (JSON(bytes), JSON.readByFoundation(bytes))
        #expect(own == other, "\(String(decoding: bytes, as: UTF8.self))", sourceLocation: location)
        guard let root = JSONText(bytes)?.root, let own else { return }
        #expect(JSON(own.compact) == own, sourceLocation: location)
        compare(root, own, location)
    }

    /// Every question about a value in its text has the answer that the value itself gives.
    private func compare(_ part: JSONPart, _ json: JSON, _ location: SourceLocation) {
        #expect(part.kind == json.kind && part.isNull == json.isNull, sourceLocation: location)
        #expect(part.string == json.string && part.integer == json.integer, sourceLocation: location)
        #expect(part.isObject == json.isObject && part.isText == json.isText, sourceLocation: location)
        #expect(part.wholeInteger == json.wholeInteger && part.time == json.time, sourceLocation: location)
        #expect(part.equals(WantedJSON(json)) && !part.equals(WantedJSON(.string("no such"))), sourceLocation: location)
        var copied: [UInt8] = [1]
        #expect(part.copyText(into: &copied) == json.isText, sourceLocation: location)
        if let text = json.string { #expect(copied == Array(text.utf8), sourceLocation: location) }
        #expect(part.array?.count == json.array?.count, sourceLocation: location)
        for (index, element) in (json.array ?? []).enumerated() {
            guard let found = part.element(index) else {
                Issue.record("element \(index) is missing", sourceLocation: location)
                continue
            }
            compare(found, element, location)
        }
        #expect(part.element(json.array?.count ?? 0) == nil, sourceLocation: location)
        for (name, member) in json.object ?? [:] {
            #expect(part[name]?.json == member, sourceLocation: location)
            guard let found = part.member(JSONName(name)) else {
                Issue.record("\(name) is missing", sourceLocation: location)
                continue
            }
            compare(found, member, location)
        }
        #expect(part["no such member"] == nil, sourceLocation: location)
    }

    @Test("a name is found however its letters are written")
    func names() throws {
        let text = try #require(JSONText(Array("{\"e\\u0301\":1,\"\u{212A}\":2,\"\\u0061b\":3,\"x\":4,\"x\":5}".utf8)))
        #expect(text.root["\u{E9}"]?.integer == 1)
        #expect(text.root["K"]?.integer == 2)
        #expect(text.root["ab"]?.integer == 3)
        #expect(text.root["x"]?.integer == 5)
    }
}

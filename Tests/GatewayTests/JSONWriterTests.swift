internal import ProviderKit
internal import Testing

@testable internal import Gateway

/// What answers are written with.
struct JSONWriterTests {
    @Test("a text of any length, with a sign at any place that must be escaped, is read as it was")
    func texts() {
        var writer = JSONWriter()
        for count in 0..<40 {
            let plain = (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
            check(plain, &writer)
            for place in 0..<count {
                for sign in [0x00, 0x0A, 0x1F, 0x20, 0x22, 0x5C, 0x7F] as [UInt8] {
                    var text = plain
                    text[place] = sign
                    check(text, &writer)
                }
                var wide = plain
                wide.replaceSubrange(place...place, with: "é".utf8)
                check(wide, &writer)
            }
        }
    }

    private func check(_ text: [UInt8], _ writer: inout JSONWriter) {
        writer.reset()
        writer.raw("[")
        writer.string(text)
        writer.part(",")
        writer.string(text.span)
        writer.raw("]")
        let expected = JSON.string(String(decoding: text, as: UTF8.self))
        #expect(JSON(writer.bytes) == .array([expected, expected]), "\(text)")
    }
}

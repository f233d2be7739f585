internal import Entitlements
internal import Testing

struct UserIDTests {
    @Test(
        "accepted and kept as given",
        arguments: [
            "u1", "a", "buyer@example.com", "a/b", "a b", "é", "用户", "👩‍👩‍👧", "...", ".a", "..a", "nulls", "00", "1", "-2",
            "Guest1", "[1]", "a\u{200B}", String(repeating: "x", count: 255),
        ]
    )
    func accepted(_ text: String) {
        #expect(UserID(text)?.value.utf8.elementsEqual(text.utf8) == true)
    }

    @Test(
        "refused",
        arguments: [
            "", ".", "..", " a", "a ", "\ta", "a\n", "\u{00A0}a", "a\u{3000}", "a\u{0}b", "a\u{7F}", "a\u{85}b",
            "\u{1B}[0m",
            String(repeating: "x", count: 256), String(repeating: "é", count: 128), "null", "NULL", "None", "nil",
            "undefined",
            "Unknown", "ANONYMOUS", "guest", "0", "-1", "[]", "{}", "[object Object]", "[OBJECT OBJECT]", "NaN",
            "(null)",
            "no_user", "unidentified",
        ]
    )
    func refused(_ text: String) {
        #expect(UserID(text) == nil)
    }

    @Test("UUIDs are compared without regard to case, other ids are not")
    func uuid() {
        let upper = "7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1C01"
        #expect(UserID(upper) == UserID(upper.lowercased()))
        #expect(UserID(upper)?.value == upper.lowercased())
        #expect(UserID("Abc") != UserID("abc"))
        #expect(UserID("7D0C1F526A1E4F0B9B513E2F8F0A1C01")?.value == "7D0C1F526A1E4F0B9B513E2F8F0A1C01")
        #expect(UserID("7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1C0G")?.value == "7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1C0G")
    }

    @Test("ids that are written with other bytes are other people")
    func bytesDecide() {
        let (composed, decomposed) = (user("caf\u{E9}"), user("cafe\u{301}"))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }
}

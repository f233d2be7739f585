import Licensing
import Testing

@Suite("Licence keys") struct LicenseKeyTests {
    @Test func aKeyIsFourGroupsOfSeven() throws {
        let key = LicenseKey.make()
        #expect(key.wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{7}-){3}[0-9A-HJKMNP-TV-Z]{7}/) != nil, "\(key)")
        #expect(LicenseKey.canonical(key) == key)
        #expect(Set((0..<200).map { _ in LicenseKey.make() }).count == 200)
    }

    /// 27 characters of 5 bits: every one of them takes every value.
    @Test func aKeyCarriesWhatItSays() {
        var seen = [Set<Character>](repeating: [], count: 28)
        for _ in 0..<2000 {
            for (place, character) in LicenseKey.make().filter({ $0 != "-" }).enumerated() {
                seen[place].insert(character)
            }
        }
        #expect(seen.allSatisfy { $0.count == 32 })
    }

    @Test func howItIsTypedMakesNoDifference() {
        let key = LicenseKey.make()
        for typed in [key.lowercased(), key.filter { $0 != "-" }, "  " + key.replacing("-", with: " ") + "\n"] {
            #expect(LicenseKey.digests(ofTyped: typed).contains(LicenseKey.digest(key)), "\(typed)")
        }
        let misread = key.replacing("0", with: "O").replacing("1", with: "l")
        #expect(LicenseKey.canonical(misread) == key)
    }

    @Test func everyWrongCharacterIsFound() {
        let key = Array(LicenseKey.make())
        for (place, right) in key.enumerated() where right != "-" {
            for wrong in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where wrong != right {
                var typed = key
                typed[place] = wrong
                #expect(LicenseKey.canonical(String(typed)) == nil)
            }
        }
    }

    @Test(arguments: [
        ("short", nil), ("ABC-1234567", "ABC-1234567"), ("  38B1460A-5104-4067 \n", "38B1460A-5104-4067"),
        ("with\u{7f}control-characters", nil), ("ünicode-in-the-key", nil), (String(repeating: "x", count: 256), nil),
    ])
    func whatWasSoldElsewhere(text: String, kept: String?) {
        #expect(LicenseKey.imported(text) == kept)
    }

    @Test func whatIsKeptIsNotTheKey() {
        let key = LicenseKey.make()
        #expect(LicenseKey.digest(key).count == 32)
        #expect(LicenseKey.hint(key) == String(key.suffix(4)))
        #expect(LicenseKey.digests(ofTyped: String(repeating: "A", count: 300)).isEmpty)
    }
}

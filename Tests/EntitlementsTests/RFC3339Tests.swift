internal import Entitlements
internal import TestSupport
internal import Testing

struct RFC3339Tests {
    @Test(
        "every form the standard allows",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01t00:00:00z", 0), ("1970-01-01 00:00:00Z", 0),
            ("1970-01-01T00:00:00.1Z", 100), ("1970-01-01T00:00:00.12Z", 120), ("1970-01-01T00:00:00.123Z", 123),
            ("1970-01-01T00:00:00.123999999Z", 123), ("1970-01-01T00:00:00.0000000000000000000000000009Z", 0),
            ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T23:30:00-00:30", 0), ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01T23:59:00+23:59", 0), ("1969-12-31T23:59:60Z", 0), ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T00:00:00Z", 951_782_400_000), ("2024-02-29T12:00:00.5+05:30", 1_709_188_200_500),
            ("2026-12-01T00:00:00.000Z", 1_796_083_200_000), ("0001-01-01T00:00:00Z", UnixMillis.earliest.value),
            ("9999-12-31T23:59:59.999Z", UnixMillis.latest.value),
        ] as [(String, Int64)]
    )
    func reads(_ text: String, _ millis: Int64) {
        #expect(UnixMillis(rfc3339: text)?.value == millis)
    }

    @Test(
        "refused",
        arguments: [
            "", "1970-01-01", "1970-01-01T00:00Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00,5Z",
            "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z", "1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z",
            "1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2024-02-30T00:00:00Z",
            "2024-04-31T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
            "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+00:60", "1970-01-01T00:00:00+0000",
            "1970-01-01T00:00:00+00",
            "1970-01-01T00:00:00Z ", " 1970-01-01T00:00:00Z", "1970-01-01T00:00:00ZZ", "70-01-01T00:00:00Z",
            "19700101T000000Z", "1970-1-1T0:0:0Z", "+970-01-01T00:00:00Z", "-970-01-01T00:00:00Z",
            "1970-01-01T00:00:0\u{0661}Z",
            "10000-01-01T00:00:00Z", "1970-01-01X00:00:00Z", "1970-W01-1T00:00:00Z",
        ]
    )
    func refuses(_ text: String) {
        #expect(UnixMillis(rfc3339: text) == nil)
    }

    @Test("what is written is read back, over the whole range")
    func roundTrip() {
        var generator = SplitMix64(seed: 3339)
        for _ in 0..<20_000 {
            let moment = UnixMillis(
                Int64.random(in: UnixMillis.earliest.value...UnixMillis.latest.value, using: &generator)
            )
            let text = moment.rfc3339
            #expect(text.utf8.count == UnixMillis.rfc3339Size && UnixMillis(rfc3339: text) == moment)
        }
        for year in [1, 4, 100, 400, 1582, 1900, 1970, 2000, 2100, 9999] {
            for text in [
                "-01-01T00:00:00.000Z", "-02-28T23:59:59.999Z", "-03-01T00:00:00.000Z", "-12-31T23:59:59.999Z",
            ] {
                let whole = String(repeating: "0", count: 4 - String(year).count) + String(year) + text
                #expect(UnixMillis(rfc3339: whole)?.rfc3339 == whole)
            }
        }
        #expect(UnixMillis(.min).rfc3339 == "0001-01-01T00:00:00.000Z")
        #expect(UnixMillis(.max).rfc3339 == "9999-12-31T23:59:59.999Z")
    }

    @Test("sums stay in the range that can be written")
    func sums() {
        #expect(UnixMillis(0).adding(days: 1).value == 86_400_000)
        #expect(UnixMillis(0).adding(days: .max) == .latest)
        #expect(UnixMillis(0).adding(days: .min) == .earliest)
        #expect(UnixMillis(.max).adding(millis: 1) == .latest)
        #expect(UnixMillis(.min).adding(millis: -1) == .earliest)
    }

    @Test("random bytes never trap")
    func randomBytes() {
        var generator = SplitMix64(seed: 9)
        let alphabet = Array("0123456789-:TZz.+ \u{E9}".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...32, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            _ = UnixMillis(rfc3339: bytes)
        }
    }
}

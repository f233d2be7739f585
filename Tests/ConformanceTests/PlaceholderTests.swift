import TestSupport
import Testing

@Suite struct PlaceholderTests {
    /// 2026-11-30T01:02:03.456Z
    private let scope = Scope(
        now: 1_796_000_523_456,
        environment: ["KEY": "secret"],
        saved: ["v": 7, "id": "g-1", "flag": true, "none": .null]
    )

    @Test(
        "a whole string becomes what the placeholder stands for",
        arguments: [
            ("${now}", "\"2026-11-30T01:02:03.456Z\""), ("${now+30d}", "\"2026-12-30T01:02:03.456Z\""),
            ("${now-1h}", "\"2026-11-30T00:02:03.456Z\""), ("${now+1d-1d+1s}", "\"2026-11-30T01:02:04.456Z\""),
            ("${now_ms}", "1796000523456"), ("${now_ms+30d}", "1798592523456"), ("${now_ms-2s}", "1796000521456"),
            ("${now_s}", "1796000523"), ("${now_s+5m}", "1796000823"),
            ("${v}", "7"), ("${flag}", "true"), ("${none}", "null"), ("${id}", "\"g-1\""), ("${env:KEY}", "\"secret\""),
        ]
    )
    func whole(_ text: String, _ wanted: String) throws {
        #expect(try scope.expand(.string(text)).compact == wanted)
    }

    @Test(
        "inside a longer string it becomes text",
        arguments: [
            ("at ${now+30d}!", "at 2026-12-30T01:02:03.456Z!"), ("${now_ms+1s}x", "1796000524456x"), ("=${v}", "=7"),
            ("${v}${v}", "77"), ("/users/${id}/x?after=${v}", "/users/g-1/x?after=7"),
            ("Basic ${env:KEY}", "Basic secret"),
            (" ${now_s}", " 1796000523"),
        ]
    )
    func inside(_ text: String, _ wanted: String) throws {
        #expect(try scope.expand(.string(text)) == .string(wanted))
    }

    @Test(
        "what is no placeholder stands for itself",
        arguments: [
            "$RCAnonymousID:1", "${", "${}", "${1a}", "${a b}", "$now", "{now}", "$${", "${+1d}", "plain", "",
        ]
    )
    func untouched(_ text: String) throws {
        #expect(try scope.expand(.string(text)) == .string(text))
    }

    @Test func everythingInsideIsExpanded() throws {
        let value: JSONValue = ["a": ["${v}", ["b-${v}": "${id}"]], "c": 1, "d": false]
        #expect(try scope.expand(value) == ["a": [7, ["b-7": "g-1"]], "c": 1, "d": false])
    }

    @Test(
        "unknown names and shifts of what is no time are the case's fault",
        arguments: [
            "${unknown}", "a${unknown}b", "${env:NO_SUCH}", "${v+1d}",
        ]
    )
    func unknown(_ text: String) {
        #expect(throws: ConformanceError.self) { try scope.expand(.string(text)) }
    }

    @Test(
        "times are read",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-30T01:02:03.456Z", 1_796_000_523.456),
            ("2026-11-30T03:02:03.456+02:00", 1_796_000_523.456), ("2026-11-29 23:32:03.456-01:30", 1_796_000_523.456),
            ("2000-02-29T00:00:00Z", 951_782_400), ("1969-12-31T23:59:59Z", -1),
            ("2226-11-30T01:02:03z", 8_107_347_723),
        ]
    )
    func times(_ text: String, _ seconds: Double) throws {
        #expect(try abs(#require(Timestamp.seconds(of: text)) - seconds) < 0.0001)
    }

    @Test(
        "no times",
        arguments: [
            "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z", "2026-1-1T00:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00Zx", "now", "",
            "2026-00-10T00:00:00Z", "+026-01-01T00:00:00Z",
        ]
    )
    func noTimes(_ text: String) {
        #expect(Timestamp.seconds(of: text) == nil)
    }

    @Test func aTimeThatIsWrittenIsReadBack() throws {
        var random = SplitMix64(seed: 20)
        for _ in 0..<2000 {
            // From 1900 to 2240.
            let moment = Int64.random(in: -2_208_988_800_000...8_520_000_000_000, using: &random)
            let seconds = try #require(Timestamp.seconds(of: Timestamp.text(ofMilliseconds: moment)))
            #expect(Int64((seconds * 1000).rounded()) == moment)
        }
    }
}

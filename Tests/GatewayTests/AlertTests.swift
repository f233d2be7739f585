internal import Foundation
internal import TestSupport
internal import Testing

/// The alerts for Prometheus and the dashboard for Grafana: they speak of what is measured, and Prometheus' own tool judges
/// the rules.
@Suite("Alerts", .ownThread)
struct AlertTests {
    private static let alerts = Samples.tree.appendingPathComponent("schema/prometheus-alerts.yml")
    private static let dashboard = Samples.tree.appendingPathComponent("schema/grafana-dashboard.json")

    /// Series over time, and the alerts that must stand and must not stand at their end.
    struct Story: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Series → values a minute, as promtool writes them.
        var series: [String: String]
        var minutes: Int
        var firing: Set<String>
        var silent: Set<String> = []
    }

    private static let stories: [Story] = [
        Story(
            testDescription: "a provider is quiet for longer than ever",
            series: [
                "gateway_seconds_since_last_delivery{provider=\"stripe\"}":
                    (0..<100).map { _ in "0+60x30 " }.joined() + "0+60x400"
            ],
            minutes: 3100 + 200,
            firing: ["ProviderIsQuiet"]
        ),
        Story(
            testDescription: "a provider is quiet as always",
            series: [
                "gateway_seconds_since_last_delivery{provider=\"stripe\"}":
                    (0..<6).map { _ in "0+60x300" }.joined(separator: " ")
            ],
            minutes: 5 * 301 + 250,
            firing: [],
            silent: ["ProviderIsQuiet"]
        ),
        Story(
            testDescription: "a wrong secret",
            series: ["gateway_webhooks_total{provider=\"stripe\",outcome=\"unauthorized\"}": "0+1x30"],
            minutes: 20,
            firing: ["DeliveriesAreNotBelieved"]
        ),
        Story(
            testDescription: "the quarantine grows",
            series: ["gateway_quarantined_events": "2x70 5x30"],
            minutes: 80,
            firing: ["QuarantineGrows"]
        ),
        Story(
            testDescription: "the quarantine stays as it was",
            series: ["gateway_quarantined_events": "2x200", "gateway_unmapped_events": "0x200"],
            minutes: 180,
            firing: [],
            silent: ["QuarantineGrows", "ProductsAreUnmapped"]
        ),
        Story(
            testDescription: "slow commits",
            series: [
                "gateway_commit_duration_seconds_bucket{le=\"0.1\"}": "0+90x60",
                "gateway_commit_duration_seconds_bucket{le=\"1.0\"}": "0+100x60",
                "gateway_commit_duration_seconds_bucket{le=\"+Inf\"}": "0+100x60",
            ],
            minutes: 40,
            firing: ["CommitsAreSlow"]
        ),
        Story(
            testDescription: "a certificate of ten days",
            series: ["gateway_tls_certificate_end_seconds": "\(10 * 86_400)x60"],
            minutes: 30,
            firing: ["CertificateEnds"],
            silent: ["CertificateIsAboutToEnd"]
        ),
        Story(
            testDescription: "a certificate of a day",
            series: ["gateway_tls_certificate_end_seconds": "86400x60"],
            minutes: 30,
            firing: ["CertificateEnds", "CertificateIsAboutToEnd"]
        ),
        Story(
            testDescription: "notifications wait and are given up",
            series: [
                "gateway_notification_oldest_seconds": "0+60x60",
                "gateway_notifications{receiver=\"0\",state=\"dead\"}": "1x60",
            ],
            minutes: 40,
            firing: ["NotificationsAreStuck", "NotificationsWereGivenUp"]
        ),
        Story(
            testDescription: "the database grows by a MiB a minute",
            series: ["gateway_database_bytes{file=\"database\"}": "0+1048576x600"],
            minutes: 480,
            firing: ["DatabaseGrows"],
            silent: ["LogOfWritesGrows"]
        ),
        Story(
            testDescription: "no writes, failing answers, a lost log, no gateway",
            series: [
                "gateway_write_failures_total": "0+1x60",
                "gateway_http_requests_total{route=\"/v1/webhooks/{provider}\",status=\"5xx\"}": "0+5x60",
                "gateway_http_requests_total{route=\"/v1/webhooks/{provider}\",status=\"2xx\"}": "0+95x60",
                "gateway_log_lines_dropped_total": "0+1x60", "gateway_database_bytes{file=\"log\"}": "200000000x60",
                "gateway_overlapping_users": "0x60",
            ],
            minutes: 50,
            firing: ["WritesFail", "AnswersFail", "LogIsNotRead", "LogOfWritesGrows", "GatewayIsGone"],
            silent: ["PeoplePayTwice"]
        ),
        Story(
            testDescription: "all is well",
            series: [
                "gateway_build_info{version=\"1\"}": "1x60", "gateway_write_failures_total": "3x60",
                "gateway_writes_waiting": "10x60", "gateway_overlapping_users": "0x60",
                "gateway_http_requests_total{route=\"other\",status=\"2xx\"}": "0+95x60",
            ],
            minutes: 50,
            firing: [],
            silent: ["GatewayIsGone", "WritesFail", "WritesWait", "AnswersFail", "PeoplePayTwice"]
        ),
    ]

    private static let promtool = InstalledProgram.path(of: "promtool")

    @Test(
        .enabled(if: promtool != nil, "promtool is not installed: scripts/test installs prometheus"),
        arguments: stories
    )
    func rulesAreJudged(story: Story) throws {
        let folder = try TemporaryFolder(prefix: "alerts")
        defer { folder.remove() }
        let tool = try #require(Self.promtool)
        let check = try InstalledProgram.run(tool, ["check", "rules", Self.alerts.path], in: folder)
        #expect(check.status == .exited(0), "\(check.output)\(check.errors)")
        // An expression over ALERTS says which stand, whatever their texts are.
        let series = story.series.map { name, values in
            "      - series: '\(name)'\n        values: '\(values)'\n"
        }
        let alerts = story.firing.union(story.silent).sorted()
        let expectations = alerts.map { alert in
            let expected =
                story.firing.contains(alert) ? "\n          - labels: '{}'\n            value: 1" : " []"
            return """
                      - expr: 'max by () (ALERTS{alertname="\(alert)",alertstate="firing"})'
                        eval_time: \(story.minutes)m
                        exp_samples:\(expected)

                """
        }
        let test = """
            rule_files: ['\(Self.alerts.path)']
            evaluation_interval: 1m
            tests:
              - interval: 1m
                input_series:
            \(series.joined())    promql_expr_test:
            \(expectations.joined())
            """
        let file = folder.file("story.yml")
        try Data(test.utf8).write(to: URL(fileURLWithPath: file))
        let result = try InstalledProgram.run(tool, ["test", "rules", file], in: folder)
        #expect(result.status == .exited(0), "\(result.output)\(result.errors)\n\(test)")
    }

    /// A name that nobody measures would never raise an alarm.
    @Test func theySpeakOfWhatIsMeasured() throws {
        let sources = try FileManager.default.contentsOfDirectory(
            at: Samples.tree.appendingPathComponent("Sources/Gateway"),
            includingPropertiesForKeys: nil
        )
        let code = try sources.filter { $0.lastPathComponent.hasPrefix("Metrics") }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        for file in [Self.alerts, Self.dashboard] {
            let text = try String(contentsOf: file, encoding: .utf8)
            let names = Set(text.matches(of: /\b(?:gateway|process)_[a-z_]+/).map { String($0.output) })
            #expect(names.count > 10)
            for name in names {
                let plain = name.replacing(/_(?:bucket|sum|count)$/, with: "")
                #expect(code.contains("\"\(plain)\"") || code.contains("\"\(name)\""), "\(name)")
            }
        }
    }

    @Test func theDashboardIsWhole() throws {
        let board = try JSONValue(parsing: [UInt8](Data(contentsOf: Self.dashboard)))
        let panels = board["panels"]?.array ?? []
        #expect(panels.count >= 12)
        #expect(Set(panels.compactMap { $0["id"]?.integer }).count == panels.count)
        for panel in panels {
            #expect(panel["title"]?.string?.isEmpty == false && panel["targets"]?.array.isEmpty == false)
            for target in panel["targets"]?.array ?? [] {
                #expect(target["expr"]?.string?.contains("$instance") == true, "\(panel["title"]?.string ?? "")")
            }
        }
    }
}

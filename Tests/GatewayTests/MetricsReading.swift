internal import Foundation
internal import TestSupport

/// What `/metrics` said, by name and labels: `name{a="b"}`, the labels in the order in which they stood.
struct MetricsReading {
    private(set) var samples: [String: Double] = [:]
    /// Name → kind, of every metric.
    private(set) var kinds: [String: String] = [:]
    private(set) var explained: Set<String> = []

    /// Reads the text format, and refuses what is none.
    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw GatewayTestError("the last line does not end") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP "), words.count == 4 {
                explained.insert(words[2])
            } else if line.hasPrefix("# TYPE "), words.count == 4 {
                guard kinds[words[2]] == nil else { throw GatewayTestError("\(words[2]) stands in two places") }
                kinds[words[2]] = words[3]
            } else {
                guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                    throw GatewayTestError("no sample: \(line)")
                }
                let name = String(line[..<space])
                guard samples[name] == nil else { throw GatewayTestError("\(name) is told twice") }
                samples[name] = value
            }
        }
    }

    /// Asks for them; with a key of its own, since none is needed when they are open.
    static func of(_ gateway: RunningGateway, key: String? = RunningGateway.readKey) throws -> MetricsReading {
        let answer = try gateway.ask("GET", "/metrics", key: key)
        guard answer.status == 200 else { throw GatewayTestError("/metrics: \(answer.status) \(answer.text)") }
        return try MetricsReading(answer.text)
    }

    /// 0 for what was never counted.
    subscript(name: String) -> Double { samples[name] ?? 0 }

    /// The metric that a sample belongs to: the parts of a histogram are one.
    func metric(of sample: String) -> String {
        let name = String(sample.prefix { $0 != "{" })
        for part in ["_bucket", "_sum", "_count"] where name.hasSuffix(part) {
            let whole = String(name.dropLast(part.count))
            if kinds[whole] == "histogram" { return whole }
        }
        return name
    }
}

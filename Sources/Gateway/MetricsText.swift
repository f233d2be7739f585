/// Writes the text format of Prometheus, version 0.0.4.
///
/// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
struct MetricsText {
    private(set) var bytes: [UInt8] = []

    /// The kinds of metrics there are here.
    enum Kind: String {
        case counter, gauge, histogram
    }

    /// One metric's head, and what belongs to it.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ samples: (inout Samples) -> Void) {
        var list = Samples(name: name)
        samples(&list)
        // A metric without samples is not told of.
        guard !list.text.isEmpty else { return }
        bytes += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n".utf8
        bytes += list.text.utf8
    }

    /// The samples of one metric.
    struct Samples {
        let name: String
        fileprivate(set) var text = ""

        mutating func value(_ value: Int, _ labels: KeyValuePairs<String, String> = [:]) {
            add("", labels, String(value))
        }

        mutating func value(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
            add("", labels, String(value))
        }

        /// - Parameter bounds: Upper bounds as they are to be written.
        mutating func histogram(
            _ buckets: [Int],
            bounds: [String],
            sum: String,
            _ labels: KeyValuePairs<String, String> = [:]
        ) {
            var total = 0
            for (bucket, bound) in zip(buckets, bounds + ["+Inf"]) {
                total += bucket
                add("_bucket", labels, String(total), more: [("le", bound)])
            }
            add("_sum", labels, sum)
            add("_count", labels, String(total))
        }

        private mutating func add(
            _ suffix: String,
            _ labels: KeyValuePairs<String, String>,
            _ value: String,
            more: [(String, String)] = []
        ) {
            let all = labels.map { ($0.key, $0.value) } + more
            text += name + suffix
            if !all.isEmpty {
                text += "{" + all.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
            }
            text += " " + value + "\n"
        }

        private static func escaped(_ text: String) -> String {
            var escaped = ""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\\": escaped += "\\\\"
                case "\"": escaped += "\\\""
                case "\n": escaped += "\\n"
                default: escaped.unicodeScalars.append(scalar)
                }
            }
            return escaped
        }
    }
}

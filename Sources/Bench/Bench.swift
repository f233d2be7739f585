internal import Foundation

/// `entitlement-gateway-bench`: the gateway beside others, in turns.
@main
enum Bench {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.contains("--help") || words.contains("-h") { return say(BenchOptions.help) }
        do throws(BenchError) {
            let options = try BenchOptions(words)
            try Measurement(options).run()
        } catch {
            FileHandle.standardError.write(Data("entitlement-gateway-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// To standard output, at once: some of it is read while the rest is still measured.
    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// How far it has come, to standard error.
    static func tell(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}

/// Why a step did not pass.
enum ConformanceError: Error, Sendable, Equatable {
    /// The gateway did not do what the case expects.
    case mismatch(String)
    /// The case itself cannot be understood; the gateway is not to blame.
    case wrongCase(String)
    /// The machine the tests run on is at fault: no port, no folder, no program.
    case machine(String)
}

extension ConformanceError: CustomStringConvertible {
    var description: String {
        switch self {
        case .mismatch(let text): text
        case .wrongCase(let text): "the case is wrong: \(text)"
        case .machine(let text): "the tests cannot run here: \(text)"
        }
    }
}

/// A case that did not pass: where, why, and the last words of its gateway.
struct CaseFailure: Error, Sendable {
    let place: String
    let error: ConformanceError
    let logPath: String
    let logTail: String

    /// The message of the failed test.
    func report(of title: String) -> String {
        """
        \(title)
        \(place): \(error)
        log (\(logPath)):
        \(logTail.isEmpty ? "  (empty)" : logTail)
        """
    }
}

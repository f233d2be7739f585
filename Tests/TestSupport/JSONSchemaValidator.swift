import Foundation

/// An independent judge of JSON Schema: Python's `jsonschema`, as Debian and Ubuntu package it (`python3-jsonschema`).
public struct JSONSchemaValidator: Sendable {
    /// Why there is no judgement.
    public struct CannotJudge: Error, CustomStringConvertible {
        public let description: String
    }

    /// Where it must be there; elsewhere its tests are left out, and say so.
    public static var isRequired: Bool { ProcessInfo.processInfo.environment["SCHEMAS_MUST_BE_JUDGED"] != nil }

    public static let missing = "python3-jsonschema is not installed: apt-get install python3-jsonschema"

    /// The one of this machine.
    public static let installed = JSONSchemaValidator()

    private static let program = """
        import json, sys
        from jsonschema import Draft202012Validator
        schema = json.load(open(sys.argv[1], encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        judge = Draft202012Validator(schema)
        for line in open(sys.argv[2], encoding="utf-8"):
            error = next(judge.iter_errors(json.loads(line)), None)
            print("fine" if error is None else (error.json_path + ": " + error.message[:200]).replace(chr(10), " "))
        """

    private let python: String

    /// Nil when no Python here has the package.
    private init?() {
        for python in ["/usr/bin/python3", "/usr/local/bin/python3"] + Self.inPath {
            guard FileManager.default.isExecutableFile(atPath: python),
                let answer = try? Self.run(python, ["-c", "from jsonschema import Draft202012Validator"]), answer.isFine
            else { continue }
            self.python = python
            return
        }
        return nil
    }

    private static var inPath: [String] {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/python3" }
    }

    private static func run(_ python: String, _ arguments: [String]) throws -> (
        isFine: Bool, output: String, errors: String
    ) {
        let folder = try TemporaryFolder(prefix: "schema")
        defer { folder.remove() }
        var environment = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "LANG"].contains($0.key) }
        environment["PYTHONWARNINGS"] = "ignore"
        let process = try ChildProcess(
            .init(
                program: python,
                arguments: arguments,
                environment: environment,
                folder: folder.path,
                output: folder.file("out"),
                errors: folder.file("errors")
            )
        )
        let end = process.wait(seconds: 120)
        process.kill()
        func text(_ name: String) -> String {
            String(decoding: FileManager.default.contents(atPath: folder.file(name)) ?? Data(), as: UTF8.self)
        }
        return (end == .exited(0), text("out"), text("errors"))
    }

    /// What the schema says of each document: nil where it is fine, else the first thing that is not.
    public func judge(_ documents: [String], schema: String) throws -> [String?] {
        let folder = try TemporaryFolder(prefix: "schema")
        defer { folder.remove() }
        let lines = documents.map { $0.replacingOccurrences(of: "\n", with: " ") }.joined(separator: "\n") + "\n"
        try Data(Self.program.utf8).write(to: URL(fileURLWithPath: folder.file("judge.py")))
        try Data(lines.utf8).write(to: URL(fileURLWithPath: folder.file("documents")))
        let answer = try Self.run(python, [folder.file("judge.py"), schema, folder.file("documents")])
        let verdicts = answer.output.split(separator: "\n").map { $0 == "fine" ? nil : String($0) }
        guard answer.isFine, verdicts.count == documents.count else {
            throw CannotJudge(
                description: "\(verdicts.count) of \(documents.count) judged: \(answer.errors.suffix(800))"
            )
        }
        return verdicts
    }
}

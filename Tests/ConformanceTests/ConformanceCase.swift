import TestSupport

/// One case: a gateway's configuration and the steps that are played against it.
struct ConformanceCase: Sendable {
    let id: String
    let title: String
    let tags: [String]
    /// What becomes the gateway's `gateway.json`; nil: no such file.
    let config: JSONValue?
    /// Changes of the gateway's environment; null takes a variable away.
    let environment: JSONObject
    /// Answers of the fake services: see ``FakeServices``.
    let google: JSONValue?
    let apis: JSONValue?
    let steps: [CaseStep]

    init(_ document: JSONValue) throws(ConformanceError) {
        var reader = try ObjectReader(document, at: "the case")
        id = try reader.required("id")
        title = try reader.required("title")
        tags = try reader.strings("tags") ?? []
        config = reader.value("config")
        environment = try reader.object("env") ?? JSONObject()
        google = reader.value("google")
        apis = reader.value("apis")
        let documents = try reader.array("steps") ?? []
        try reader.finish()
        guard !documents.isEmpty else { throw .wrongCase("\(id): no steps") }
        steps = try CaseStep.list(documents, at: "step")
    }
}

extension CaseStep {
    /// Steps numbered from 1, as reports name them.
    static func list(_ documents: [JSONValue], at place: String) throws(ConformanceError) -> [CaseStep] {
        var steps: [CaseStep] = []
        for (index, document) in documents.enumerated() {
            steps.append(try CaseStep(document, at: "\(place) \(index + 1)"))
        }
        return steps
    }
}

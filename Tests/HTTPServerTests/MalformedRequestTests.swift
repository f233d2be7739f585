import Testing

@testable import HTTPServer

@Suite struct MalformedRequestTests {
    @Test func tableIsLargeAndItsNamesDiffer() {
        #expect(MalformedRequest.all.count >= 60)
        #expect(Set(MalformedRequest.all.map(\.name)).count == MalformedRequest.all.count)
    }

    /// However the bytes are cut, the reader refuses them for the same reason, and reads no request out of them.
    @Test(arguments: MalformedRequest.all)
    func isRefusedAtEveryCut(request: MalformedRequest) throws {
        let whole = readings(of: [request.bytes], limits: request.limits)
        guard case .reject(let rejection) = whole.last else {
            Issue.record("not refused: \(whole)")
            return
        }
        #expect(rejection.status == request.status)
        #expect(whole.allSatisfy { if case .request = $0 { false } else { true } })
        for cut in cuts(of: request.bytes) {
            let parts = readings(of: cut, limits: request.limits)
            #expect(parts.last == whole.last)
            #expect(parts.allSatisfy { if case .request = $0 { false } else { true } })
        }
    }

    /// The client of a real server reads the problem, and then the end of the connection.
    @Test func isAnsweredOnASocket() throws {
        let test = try TestServer(limits: MalformedRequest.tableLimits)
        for request in MalformedRequest.all {
            let client = try test.client()
            client.send(request.bytes)
            let response = try client.response()
            #expect(response.status == request.status, "\(request.name)")
            #expect(response.headers["content-type"] == "application/problem+json")
            #expect(response.headers["connection"] == "close")
            #expect(response.headers["date"] != nil)
            #expect(response.body.hasPrefix("{\"type\":\"about:blank\",\"title\":\""))
            #expect(response.body.contains("\"status\":\(request.status),"))
            client.endSending()
            #expect(try client.isEndedByServer(), "\(request.name)")
        }
        #expect(test.record.tickets.isEmpty)
    }

    @Test func everyRejectionHasItsWords() {
        for rejection in Rejection.allCases {
            #expect((400...599).contains(rejection.status))
            #expect(rejection.detail.utf8CodeUnitCount > 10)
            #expect(StatusLine.reason(of: rejection.status).utf8CodeUnitCount > 0)
            #expect((rejection.status == 400) == ("\(rejection.code)" == "bad_request"))
        }
    }
}

internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Requests to one gateway. Follows no redirect, keeps no cookie and no answer.
final class GatewayConnection: Sendable {
    private struct Problem: Decodable {
        var code: String
        var detail: String?
    }

    private static let answerBytesMax = 1 << 20

    private let base: URL
    private let session: URLSession
    private let exchanges = Exchanges(bytesMax: answerBytesMax)

    init(_ base: URL) {
        self.base = base
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    /// The session keeps its delegate until then.
    deinit {
        session.finishTasksAndInvalidate()
    }

    /// A JSON answer of the gateway.
    ///
    /// - Parameters:
    ///   - query: Names and values, not yet encoded.
    ///   - seconds: Longest silence of the other side.
    func ask<Answer: Decodable>(
        _ type: Answer.Type,
        _ method: String,
        _ path: String,
        query: [(String, String)] = [],
        token: String? = nil,
        body: [String: String]? = nil,
        seconds: Double = 15
    ) async throws(EntitlementClientError) -> Answer {
        let data = try await send(request(method, path, query, token, body, seconds))
        do {
            return try GatewayTime.decoder().decode(type, from: data)
        } catch {
            throw .unreadable("\(path): it has not the expected fields")
        }
    }

    /// The bytes of a JSON answer.
    func bytes(_ path: String) async throws(EntitlementClientError) -> Data {
        try await send(request("GET", path, [], nil, nil, 15))
    }

    private func request(
        _ method: String,
        _ path: String,
        _ query: [(String, String)],
        _ token: String?,
        _ body: [String: String]?,
        _ seconds: Double
    ) throws(EntitlementClientError) -> URLRequest {
        guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: false) else {
            throw .unreachable("\(base) is no address")
        }
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        parts.path += path
        if !query.isEmpty {
            parts.percentEncodedQuery = query.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
        }
        guard let url = parts.url, url.scheme == "https" || Self.isThisMachine(url) else {
            throw .unreachable("\(base) is not https")
        }
        var request = URLRequest(url: url, timeoutInterval: seconds)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try? JSONEncoder().encode(body)
        }
        return request
    }

    /// Tokens and keys go over the network encrypted, or not at all.
    private static func isThisMachine(_ url: URL) -> Bool {
        url.scheme == "http" && ["127.0.0.1", "localhost", "::1", "[::1]"].contains(url.host ?? "")
    }

    private static func encoded(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }

    private func send(_ request: URLRequest) async throws(EntitlementClientError) -> Data {
        let status: Int
        let data: Data
        do {
            (status, data) = try await exchanges.send(request, by: session)
        } catch {
            throw .unreachable(error.localizedDescription)
        }
        switch status {
        case 200, 201: return data
        case 401: throw .unauthorized
        default:
            let problem = try? JSONDecoder().decode(Problem.self, from: data)
            throw .refused(status: status, code: problem?.code ?? "", detail: problem?.detail ?? "")
        }
    }
}

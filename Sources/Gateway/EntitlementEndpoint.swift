internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import SQLiteStorage
internal import Storage

/// `GET /v1/users/{user_id}/entitlement` and `GET /v1/entitlement?user_id=…` (contract section 5): the gate's own question.
extension GatewayHandler {
    /// Longest wait of a long poll, in seconds.
    static let waitSecondsMax: Int64 = 30

    func entitlement(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard mayRead(request, &response) else { return .done }
        question.user.removeAll(keepingCapacity: true)
        unsafe RequestTarget.decode(user, into: &question.user)
        return unsafe answer(
            query: request.query,
            ifNoneMatch: request.header("If-None-Match"),
            &response,
            ticket
        )
    }

    func entitlementByQuery(
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard mayRead(request, &response) else { return .done }
        question.user.removeAll(keepingCapacity: true)
        if let user = unsafe RequestTarget.parameter("user_id", in: request.query) {
            unsafe RequestTarget.decode(user, plusIsSpace: true, into: &question.user)
        }
        return unsafe answer(
            query: request.query,
            ifNoneMatch: request.header("If-None-Match"),
            &response,
            ticket
        )
    }

    /// Answers for the user that stands in `question`, without waiting for a change.
    func answerNow(query: UnsafeRawBufferPointer, _ response: inout Response) {
        guard setLookup() else { return write(.invalidUserID, &response) }
        guard let parameters = unsafe parameters(query, &response) else { return }
        let clock = now
        question.moment = parameters.moment ?? clock
        do throws(StorageError) {
            let summary = try encodeAnswer(clock)
            unsafe writeAnswer(summary, nil, &response)
        } catch {
            failRead(error, &response)
        }
    }

    /// Answers for the user that stands in `question`.
    func answer(
        query: UnsafeRawBufferPointer,
        ifNoneMatch: UnsafeRawBufferPointer?,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard setLookup() else {
            write(.invalidUserID, &response)
            return .done
        }
        let clock = now
        var isAt = false
        var wait: Int64 = 0
        var after: Int64?
        if query.count > 0 {
            guard let parameters = unsafe parameters(query, &response) else { return .done }
            isAt = parameters.moment != nil
            question.moment = parameters.moment ?? clock
            (wait, after) = (parameters.wait, parameters.after)
        } else {
            question.moment = clock
            question.environment = .production
            question.entitlement = defaultEntitlement
        }
        if readsElsewhere, reads.fetched.isEmpty {
            let (query, tag) = unsafe ([UInt8](query), ifNoneMatch.map { unsafe [UInt8]($0) })
            return waitForRow(ticket, .answer(query: query, ifNoneMatch: tag), &response)
        }
        do throws(StorageError) {
            let summary = try encodeAnswer(clock)
            if readsElsewhere,
                mustConfirm(summary, known: max(after ?? 0, unsafe Self.version(inTag: ifNoneMatch)))
            {
                let (query, tag) = unsafe ([UInt8](query), ifNoneMatch.map { unsafe [UInt8]($0) })
                return waitForRow(ticket, .answer(query: query, ifNoneMatch: tag), isNewest: true, &response)
            }
            if wait > 0, !isStopping, summary.version <= after ?? 0 {
                let poll = LongPoll(
                    ticket: ticket,
                    question: question,
                    lookup: lookup,
                    after: after ?? 0,
                    isAt: isAt,
                    first: summary
                )
                polls.add(poll, wait: wait, clock: clock, at: .now())
                return .later
            }
            if let lapsed = summary.lapsedAt, !isAt { recheck(lapsed, clock) }
            unsafe writeAnswer(summary, ifNoneMatch, &response)
        } catch {
            Log.error("a read failed", ("reason", .string(error.description)))
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
        return .done
    }

    /// Brings the asked id into the form in which it is kept; false when it is none.
    func setLookup() -> Bool {
        lookup.removeAll(keepingCapacity: true)
        lookup.append(contentsOf: question.user)
        return UserID.normalize(&lookup)
    }

    /// Writes the answer to `question` into the JSON buffer.
    func encodeAnswer(_ clock: UnixMillis) throws(StorageError) -> AnswerSummary {
        json.reset()
        let summary = try encodeOpenAnswer(clock)
        json.raw("}")
        return summary
    }

    /// The same without the closing brace.
    func encodeOpenAnswer(_ clock: UnixMillis) throws(StorageError) -> AnswerSummary {
        guard let reader = reads.local else {
            return AnswerEncoder.encode(question, copy: try fetchedRow(), into: &json)
        }
        var found: AnswerSummary?
        try unsafe lookup.withUnsafeBufferPointer { bytes throws(StorageError) in
            try unsafe reader.withRow(of: UnsafeRawBufferPointer(bytes), in: question.environment, now: clock) { row in
                switch row {
                case .some: found = AnswerEncoder.encode(question, row, into: &json)
                case .none: break
                }
            }
        }
        if let found { return found }
        let erased = try unsafe lookup.withUnsafeBufferPointer { bytes throws(StorageError) in
            try unsafe reader.erasedVersion(of: UnsafeRawBufferPointer(bytes), in: question.environment)
        }
        if let (version, updatedAt) = erased {
            return AnswerEncoder.encodeErased(question, version: version, updatedAt: updatedAt, into: &json)
        }
        return AnswerEncoder.encode(question, nil, into: &json)
    }

    /// Sends the answer in the JSON buffer, or 304 when the client has it already.
    ///
    /// The tag covers what was computed now, so it changes by the clock alone: a 304 never keeps a yes alive.
    func writeAnswer(
        _ summary: AnswerSummary,
        _ ifNoneMatch: UnsafeRawBufferPointer?,
        _ response: inout Response
    ) {
        unsafe withTag(summary) { tag in
            let isKnown = unsafe ifNoneMatch.map { unsafe Self.matches($0, tag) } ?? false
            response.start(isKnown ? 304 : 200)
            if !isKnown { response.header("Content-Type", "application/json") }
            unsafe response.header("ETag", bytes: tag)
            response.header("Cache-Control", "private, no-cache")
            response.header("Vary", "Authorization, Cookie")
            addOrigin(&response)
            if isKnown {
                response.finish()
            } else {
                unsafe json.withBytes { unsafe response.finish(body: $0) }
            }
        }
    }

    /// `"<version>-<status>-<entitled>"` on the stack.
    private func withTag(_ summary: AnswerSummary, _ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 40, alignment: 1) { buffer in
            var count = 0
            func put(_ byte: UInt8) {
                unsafe buffer[count] = byte
                count += 1
            }
            func number(_ value: Int64) {
                var divisor: Int64 = 1
                while value / divisor >= 10 { divisor *= 10 }
                while divisor > 0 {
                    put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
                    divisor /= 10
                }
            }
            put(UInt8(ascii: "\""))
            number(summary.version)
            put(UInt8(ascii: "-"))
            number(Int64(summary.status.rawValue))
            put(UInt8(ascii: "-"))
            number(summary.isEntitled ? 1 : 0)
            put(UInt8(ascii: "\""))
            unsafe body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
        }
    }

    /// Whether a list of entity tags (RFC 9110 section 13.1.2) has this one; compared weakly.
    static func matches(_ list: UnsafeRawBufferPointer, _ tag: UnsafeRawBufferPointer) -> Bool {
        if list.count == 1, unsafe list[0] == UInt8(ascii: "*") { return true }
        guard list.count >= tag.count else { return false }
        for start in 0...(list.count - tag.count) {
            var isEqual = true
            for index in 0..<tag.count where unsafe list[start + index] != tag[index] {
                isEqual = false
                break
            }
            if isEqual { return true }
        }
        return false
    }

    /// The version in a tag of ours; 0 in any other.
    private static func version(inTag tag: UnsafeRawBufferPointer?) -> Int64 {
        guard let tag = unsafe tag else { return 0 }
        var version: Int64 = 0
        var digits = 0
        for index in 0..<tag.count {
            let byte = unsafe tag[index]
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), digits < 18 {
                version = version * 10 + Int64(byte - UInt8(ascii: "0"))
                digits += 1
            } else if digits > 0 || byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "W") && byte != UInt8(ascii: "/")
            {
                break
            }
        }
        return version
    }

    // MARK: - Parameters

    private struct Parameters {
        var moment: UnixMillis?
        var wait: Int64 = 0
        var after: Int64?
    }

    /// `at`, `entitlement`, `environment`, `wait` and `after`; a bad one is answered.
    private func parameters(_ query: UnsafeRawBufferPointer, _ response: inout Response) -> Parameters? {
        guard unsafe setScope(query: query, &response) else { return nil }
        var parameters = Parameters()
        if let at = unsafe RequestTarget.parameter("at", in: query) {
            guard let text = unsafe RequestTarget.text(at), let moment = UnixMillis(rfc3339: text) else {
                write(.badRequest("at: expected a time such as 2027-01-01T00:00:00Z"), &response)
                return nil
            }
            parameters.moment = moment
        }
        if let wait = unsafe RequestTarget.parameter("wait", in: query) {
            guard let seconds = unsafe integer(wait), (0...Self.waitSecondsMax).contains(seconds) else {
                write(.badRequest("wait: expected seconds from 0 to \(Self.waitSecondsMax)"), &response)
                return nil
            }
            parameters.wait = seconds
        }
        if let after = unsafe RequestTarget.parameter("after", in: query) {
            guard let version = unsafe integer(after), version >= 0 else {
                write(.badRequest("after: expected a version"), &response)
                return nil
            }
            parameters.after = version
        }
        return parameters
    }

    /// `entitlement` and `environment` of a query.
    func setScope(_ request: Request, _ response: inout Response) -> Bool {
        unsafe setScope(query: request.query, &response)
    }

    func setScope(query: UnsafeRawBufferPointer, _ response: inout Response) -> Bool {
        question.environment = .production
        if let name = unsafe RequestTarget.parameter("environment", in: query) {
            guard let text = unsafe RequestTarget.text(name), let known = StoreEnvironment(name: text) else {
                write(.badRequest("environment: expected production or sandbox"), &response)
                return false
            }
            question.environment = known
        }
        question.entitlement = defaultEntitlement
        if let name = unsafe RequestTarget.parameter("entitlement", in: query) {
            guard let text = unsafe RequestTarget.text(name, plusIsSpace: true), !text.isEmpty, text.utf8.count <= 255
            else {
                write(.badRequest("entitlement: expected a name of 1 to 255 bytes"), &response)
                return false
            }
            question.entitlement = Array(text.utf8)
        }
        return true
    }

    private func integer(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count > 0, bytes.count <= 18 else { return nil }
        var value: Int64 = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }
}

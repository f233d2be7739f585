/// Takes the chunked coding off a request's content, in place (RFC 9112 §7.1).
///
///     chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
///     chunk-size   = 1*HEXDIG
///     last-chunk   = 1*"0" [ chunk-ext ] CRLF, then *( field-line CRLF ) CRLF
///
/// A machine that eats every byte it is given: decoded data is gathered at the front, and nothing undecoded remains.
struct ChunkedDecoder {
    private enum State {
        case sizeStart, size, blankAfterSize, extensions, sizeLF
        case data, dataCR, dataLF
        case trailerStart, trailerName, trailerValue, trailerLF, lastLF
    }

    enum Outcome: Equatable {
        case needMore
        /// The content is whole; what follows it begins at this position.
        case complete(next: Int)
        case reject(Rejection)
    }

    /// 15 hexadecimal digits fit into 60 bits; more is no honest size, however many of them are zeros.
    private static let sizeDigitsMax = 15

    private var state = State.sizeStart
    private var chunkRemaining = 0
    private var sizeDigits = 0
    /// Bytes of extensions and trailers so far: both are dropped, and bounded by what a head may hold.
    private var droppedBytes = 0
    private var trailerFields = 0
    /// Decoded bytes so far; they lie at the front.
    private(set) var bodyCount = 0

    /// Decodes `bytes` from position `bodyCount` to its end. The first `bodyCount` bytes are the content decoded so
    /// far.
    mutating func decode(_ bytes: UnsafeMutableRawBufferPointer, limits: ServerLimits) -> Outcome {
        var position = bodyCount
        while position < bytes.count {
            if state == .data {
                let count = min(chunkRemaining, bytes.count &- position)
                if let base = bytes.baseAddress, position != bodyCount {
                    // Overlapping is permitted here.
                    unsafe (base + bodyCount).copyMemory(from: base + position, byteCount: count)
                }
                bodyCount &+= count
                position &+= count
                chunkRemaining &-= count
                if chunkRemaining == 0 { state = .dataCR }
                continue
            }
            let byte = unsafe bytes[position]
            position &+= 1
            if state == .lastLF {
                return byte == 0x0A ? .complete(next: position) : .reject(.malformedTrailer)
            }
            if let rejection = step(byte, limits) { return .reject(rejection) }
        }
        return .needMore
    }

    /// One byte of framing; nil when it is in order.
    private mutating func step(_ byte: UInt8, _ limits: ServerLimits) -> Rejection? {
        switch state {
        case .sizeStart, .size:
            return stepSize(byte, limits)
        case .blankAfterSize:
            // White space may stand before an extension, and nowhere else.
            if byte == 0x3B {
                state = .extensions
            } else if !HeadParser.isBlank(byte) {
                return .malformedChunk
            }
            return drop(limits) ? nil : .malformedChunk
        case .extensions:
            if byte == 0x0D {
                state = .sizeLF
                return nil
            }
            return HeadParser.isValueByte(byte) && drop(limits) ? nil : .malformedChunk
        case .sizeLF:
            guard byte == 0x0A else { return .malformedChunk }
            state = chunkRemaining == 0 ? .trailerStart : .data
            return nil
        case .dataCR:
            state = .dataLF
            return byte == 0x0D ? nil : .malformedChunk
        case .dataLF:
            state = .sizeStart
            return byte == 0x0A ? nil : .malformedChunk
        case .trailerStart, .trailerName, .trailerValue, .trailerLF:
            return stepTrailer(byte, limits)
        case .data, .lastLF:
            return .malformedChunk
        }
    }

    private mutating func stepSize(_ byte: UInt8, _ limits: ServerLimits) -> Rejection? {
        if let digit = ASCII.hexValue(byte) {
            if state == .sizeStart {
                chunkRemaining = 0
                sizeDigits = 0
                state = .size
            }
            sizeDigits &+= 1
            chunkRemaining = chunkRemaining &* 16 &+ digit
            return sizeDigits <= Self.sizeDigitsMax ? nil : .malformedChunk
        }
        guard state == .size else { return .malformedChunk }
        if chunkRemaining > limits.bodyBytesMax &- bodyCount { return .bodyTooLarge }
        switch byte {
        case 0x0D: state = .sizeLF
        case 0x3B: state = .extensions
        case 0x20, 0x09: state = .blankAfterSize
        default: return .malformedChunk
        }
        return nil
    }

    private mutating func stepTrailer(_ byte: UInt8, _ limits: ServerLimits) -> Rejection? {
        guard drop(limits) else { return .headTooLarge }
        switch state {
        case .trailerStart:
            if byte == 0x0D {
                state = .lastLF
                return nil
            }
            trailerFields &+= 1
            if trailerFields > limits.headersMax { return .tooManyFields }
            state = .trailerName
            return ByteSet.token.contains(byte) ? nil : .malformedTrailer
        case .trailerName:
            if byte == 0x3A {
                state = .trailerValue
                return nil
            }
            return ByteSet.token.contains(byte) ? nil : .malformedTrailer
        case .trailerValue:
            if byte == 0x0D {
                state = .trailerLF
                return nil
            }
            return HeadParser.isValueByte(byte) ? nil : .malformedTrailer
        default:
            state = .trailerStart
            return byte == 0x0A ? nil : .malformedTrailer
        }
    }

    /// Counts one dropped byte; false when there were too many.
    private mutating func drop(_ limits: ServerLimits) -> Bool {
        droppedBytes &+= 1
        return droppedBytes <= limits.headBytesMax
    }
}

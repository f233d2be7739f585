public import Platform

/// Why a server could not be started.
public enum ServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text is no numeric address with a port.
    case malformedAddress(String)
    /// Another socket listens there.
    case addressInUse(ListenAddress)
    /// The address could not be listened on, for another reason.
    case cannotListen(ListenAddress, SystemError)
    /// The system refused something a loop needs.
    case system(SystemError)

    /// One sentence for the operator.
    public var description: String {
        switch self {
        case .malformedAddress(let text):
            "\"\(text)\" is no listen address; write 127.0.0.1:8080 or [::1]:8080"
        case .addressInUse(let address):
            "address \(address) is already in use"
        case .cannotListen(let address, let error):
            "cannot listen on \(address): \(error)"
        case .system(let error):
            "cannot start the server: \(error)"
        }
    }
}

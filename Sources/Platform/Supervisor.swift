internal import CSystem

/// Tells systemd how the service is: one datagram to the socket that `NOTIFY_SOCKET` names.
///
/// Source: the protocol of `sd_notify(3)`.
public struct Supervisor: Sendable {
    /// What the manager is told.
    public enum State: Sendable {
        case ready
        /// The configuration is being read again; `ready` is to follow.
        case reloading
        case stopping

        /// A reload carries the moment, so that the manager tells the `ready` after it from one before it.
        fileprivate var text: String {
            switch self {
            case .ready: "READY=1\n"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(MonotonicNanos.now().value / 1000)\n"
            case .stopping: "STOPPING=1\n"
            }
        }
    }

    private let socket: String

    /// Nil when nobody wants to be told.
    ///
    /// - Parameter socket: The value of `NOTIFY_SOCKET`: a path, or an abstract name that begins with `@`.
    public init?(socket: String?) {
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else { return nil }
        self.socket = socket
    }

    /// Sends the state.
    ///
    /// - Throws: Why it could not be sent.
    public func tell(_ state: State) throws(SystemError) {
        let text = Array(state.text.utf8)
        _ = try checked(unsafe csystem_unix_datagram(socket, text, text.count), "NOTIFY_SOCKET")
    }
}

import Foundation
import Glibc

/// Ends the children when the test process cannot: after a crash, Ctrl-C or SIGKILL nobody would run `deinit`.
///
/// A shell reads the numbers of the groups that run from a socket. The kernel closes the socket when the test process is
/// gone, whatever the reason, and the shell then ends what is left.
struct ChildWatchdog: Sendable {
    static let shared = ChildWatchdog()

    /// `+ 12`: a group has been started; `- 12`: it has ended.
    private static let script = """
        list=
        while read -r sign group; do
          if [ "$sign" = + ]; then list="$list $group"; continue; fi
          left=
          for one in $list; do [ "$one" = "$group" ] || left="$left $one"; done
          list=$left
        done
        for one in $list; do kill -9 "-$one"; done
        """

    /// The tests' end of the socket. Nil when the shell could not be started: then there is no safety net.
    private let socket: Int32?

    private init() {
        // A socket and not a pipe: writing to a pipe whose shell has died would end the tests with SIGPIPE.
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            socket = nil
            return
        }
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", Self.script]
        shell.standardInput = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        shell.standardOutput = FileHandle.nullDevice
        shell.standardError = FileHandle.nullDevice
        do {
            try withoutBlockedSignals { try shell.run() }
            socket = ends[0]
        } catch {
            socket = nil
        }
    }

    func watch(_ group: Int32) {
        say("+ \(group)\n")
    }

    func forget(_ group: Int32) {
        say("- \(group)\n")
    }

    /// A line is far shorter than what the kernel writes in one piece, so lines of two threads do not mix.
    private func say(_ line: String) {
        guard let socket else { return }
        _ = Array(line.utf8).withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}

internal import CSystem
internal import Glibc

/// A system call that failed for a reason that lies outside the program.
///
/// An error that only a mistake in the program can cause (a closed descriptor, a bad pointer) traps instead.
public enum SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name of the call, and the `errno` it left.
    case call(String, Int32)

    /// The call, the system's text and the number: `bind: Address already in use (98)`.
    public var description: String {
        switch self {
        case .call(let name, let code):
            let text = unsafe String(cString: csystem_error_text(code))
            return "\(name): \(text) (\(code))"
        }
    }
}

/// Gives back `result`, or throws when it is a negative errno.
///
/// Traps on `EBADF` and `EFAULT`: these are mistakes of the program, and going on could touch another's descriptor.
@inline(__always)
package func checked(_ result: Int32, _ call: StaticString) throws(SystemError) -> Int32 {
    if result >= 0 { return result }
    throw systemError(errno: -result, call)
}

/// The slow path of `checked`, kept out of line.
@inline(never)
package func systemError(errno code: Int32, _ call: StaticString) -> SystemError {
    precondition(code != EBADF && code != EFAULT, "a system call was given a bad descriptor or pointer")
    return .call("\(call)", code)
}

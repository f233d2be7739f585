internal import Entitlements
internal import Storage

/// The dependencies on people who were erased, all of them between two texts.
enum ErasedNodes {
    /// Not after any of them.
    static let first = Ownership.Dependency.user(UserID.erased(mark: "")).node
    /// After all of them: the mark follows a colon, and this is the next character.
    static let end = String(first.dropLast()) + ";"
}

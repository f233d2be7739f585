/// Why the store could not do what was asked. Nothing of a failed write is ever acknowledged.
public enum StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process holds the database; worth trying again.
    case busy
    /// The disk is full, or the database is at its size limit; worth trying again when there is room.
    case full
    /// The database cannot be written or read (permissions, a broken disk, a lost connection).
    case unavailable(String)
    /// Bytes in the database are not what was written there.
    case damaged(String)
    /// The database was made by a newer version of the program, or its migrations are not ours.
    case wrongSchema(String)
    /// The queue of writes is full.
    case overloaded

    public var description: String {
        switch self {
        case .busy: "the database is locked by another process"
        case .full: "the disk is full"
        case .unavailable(let reason): "the database is not available: \(reason)"
        case .damaged(let reason): "the database is damaged: \(reason)"
        case .wrongSchema(let reason): reason
        case .overloaded: "more writes are waiting than the database takes"
        }
    }

    /// Whether it says something of the whole database, not only of what was asked.
    public var isOfTheDatabase: Bool {
        switch self {
        case .busy, .full, .unavailable, .wrongSchema, .overloaded: true
        case .damaged: false
        }
    }
}

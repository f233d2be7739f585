package import Storage

/// What a writer does its own way with each engine. Lives on the writer's thread.
package protocol WriterEngine: AnyObject {
    var database: any SQLDatabase { get }

    /// How long a writer without work waits before it looks at the clock and at others again.
    var idleMillis: Int { get }

    /// Another program has committed: what readers of this one keep of rows counts no more.
    func othersWrote()

    /// The last thing in a transaction that has changed rows or messages, before COMMIT.
    func willCommit(_ changed: [ChangedRow], lastVersion: Int64) throws(StorageError)

    /// COMMIT has returned; the first thing after it, before anyone is told.
    func committed(_ changed: [ChangedRow])

    /// Everyone was told of the commit: time for work that nobody waits for.
    func rest()

    /// The transaction that failed may come through when it is tried again at once: it only was in another one's way.
    var isWorthRepeating: Bool { get }

    /// The writer ends.
    func finish()
}

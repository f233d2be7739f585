package import Entitlements
package import Storage

/// The writing side of what is to be asked of providers.
struct ProviderTasks {
    let database: any SQLDatabase

    func perform(_ command: ProviderTaskCommand) throws(StorageError) -> StoreResult {
        switch command {
        case .keep(let task): return try keep(task).map { .taskKept(id: $0) } ?? .ingested(.duplicate)
        case .postpone(let id, let moment): try postpone(id, until: moment)
        case .done(let id): try remove(id)
        }
        return .taskChanged
    }

    /// What a reading finishes, and what it asks for.
    func follow(_ reading: ProviderReading) throws(StorageError) {
        if let finished = reading.finishes { try remove(finished) }
        try keep(all: reading.then)
    }

    func keep(all tasks: [ProviderTask]) throws(StorageError) {
        for task in tasks { _ = try keep(task) }
    }

    /// The id of the task, new or known; nil for a reading of an event that was taken in already.
    func keep(_ task: ProviderTask) throws(StorageError) -> Int64? {
        if task.kind == .read {
            let known = try database.prepare("SELECT 1 FROM event WHERE provider = ? AND event_id = ?")
            known.bind(1, task.provider.name)
            known.bind(2, task.key)
            defer { known.reset() }
            if try known.step() { return nil }
        }
        let insert = try database.prepare(
            """
            INSERT INTO provider_task (provider, kind, key, body, created_at, next_at) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (provider, kind, key) DO NOTHING
            """
        )
        insert.bind(1, task.provider.name)
        insert.bind(2, task.kind.rawValue)
        insert.bind(3, task.key)
        insert.bind(4, task.body)
        insert.bind(5, task.createdAt.value)
        insert.bind(6, task.nextAt.value)
        try insert.run()
        let find = try database.prepare("SELECT id FROM provider_task WHERE provider = ? AND kind = ? AND key = ?")
        find.bind(1, task.provider.name)
        find.bind(2, task.kind.rawValue)
        find.bind(3, task.key)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : nil
    }

    func postpone(_ id: Int64, until moment: UnixMillis) throws(StorageError) {
        let update = try database.prepare("UPDATE provider_task SET next_at = ?, attempts = attempts + 1 WHERE id = ?")
        update.bind(1, moment.value)
        update.bind(2, id)
        try update.run()
    }

    func remove(_ id: Int64) throws(StorageError) {
        let delete = try database.prepare("DELETE FROM provider_task WHERE id = ?")
        delete.bind(1, id)
        try delete.run()
    }
}

/// The reading side.
extension SQLReading {
    /// Tasks whose time has come, the longest waiting first.
    package func dueTasks(at moment: UnixMillis, limit: Int) throws(StorageError) -> [KeptProviderTask] {
        letGo()
        let query = try database.prepare(
            """
            SELECT id, provider, kind, key, body, created_at, next_at, attempts FROM provider_task
            WHERE next_at <= ? ORDER BY next_at LIMIT ?
            """
        )
        query.bind(1, moment.value)
        query.bind(2, Int64(limit))
        defer { query.reset() }
        var tasks: [KeptProviderTask] = []
        while try query.step() {
            guard let kind = ProviderTask.Kind(rawValue: query.integer(2)) else { continue }
            let task = ProviderTask(
                provider: ProviderID(query.text(1)),
                kind: kind,
                key: query.text(3),
                body: query.blob(4),
                createdAt: UnixMillis(query.integer(5)),
                nextAt: UnixMillis(query.integer(6))
            )
            tasks.append(KeptProviderTask(id: query.integer(0), task: task, attempts: Int(query.integer(7))))
        }
        return tasks
    }

    func waitingTasks() throws(StorageError) -> [WaitingTasks] {
        let query = try database.prepare(
            "SELECT provider, kind, count(*), min(created_at) FROM provider_task GROUP BY provider, kind"
        )
        defer { query.reset() }
        var waiting: [WaitingTasks] = []
        while try query.step() {
            guard let kind = ProviderTask.Kind(rawValue: query.integer(1)) else { continue }
            waiting.append(
                WaitingTasks(
                    provider: ProviderID(query.text(0)),
                    kind: kind,
                    count: Int(query.integer(2)),
                    oldest: UnixMillis(query.integer(3))
                )
            )
        }
        return waiting
    }
}

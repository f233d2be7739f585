internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /metrics`: everything that is measured, in the text format of Prometheus (contract section 10).
extension GatewayHandler {
    func metrics(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        if !context.metricsAreOpen, authorize(request, .read, &response) == nil { return .done }
        let mailbox = mailbox
        let services = context.services
        let isTaken = services.counting.ask(context.policy) { result in
            // Written on the thread that counts: no loop spends its time on a text this long.
            let now = UnixMillis(wallClockMillis())
            _ = mailbox.post(.measured(ticket, MetricsText(services, result, now: now).bytes))
        }
        guard isTaken else {
            write(.unavailable("too many wait for the counts already", retryAfter: 1), &response)
            return .done
        }
        return .later
    }

    func send(_ metrics: [UInt8], _ response: inout Response) {
        response.start(200)
        response.header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        response.header("Cache-Control", "no-store")
        unsafe metrics.withUnsafeBytes { unsafe response.finish(body: $0) }
    }
}

extension MetricsText {
    /// Everything that is measured. What the process knows of itself is told even when the database cannot be counted.
    fileprivate init(
        _ services: GatewayServices,
        _ result: Result<StoreCounting.Result, StorageError>,
        now: UnixMillis
    ) {
        self.init()
        process(services.measurements)
        certificate(services.measurements.certificateEnd)
        requests(services.measurements)
        webhooks(services.measurements)
        writer(services.store)
        replica(services.store.replica)
        switch result {
        case .success(let result):
            counts(result.counts)
            overlapping(result.overlapping?.people.count)
            active(result.active)
            files(result.fileBytes)
            notifications(result.counts, services.receivers, now: now)
            arrivals(result.counts, services.measurements, now: now)
            memory(result.residentBytes)
        case .failure(let error): Log.error("a count failed", ("reason", .string(error.description)))
        }
    }

    fileprivate mutating func process(_ measurements: Measurements) {
        metric("gateway_build_info", .gauge, "The version that runs, always 1.") {
            $0.value(1, ["version": GatewayVersion.text])
        }
        metric("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.") {
            $0.value(Double(measurements.startedAt.value) / 1000)
        }
        metric("gateway_open_connections", .gauge, "Connections of clients that are open now.") {
            $0.value(measurements.openConnections)
        }
        metric("gateway_log_lines_dropped_total", .counter, "Log lines that nobody read in time.") {
            $0.value(Log.droppedCount)
        }
    }

    /// Not told where no TLS is spoken.
    fileprivate mutating func certificate(_ end: UnixMillis?) {
        guard let end else { return }
        metric("gateway_tls_certificate_end_seconds", .gauge, "When the TLS certificate ends, in seconds since 1970.") {
            $0.value(Double(end.value) / 1000)
        }
    }

    fileprivate mutating func files(_ files: [(file: String, bytes: Int)]) {
        metric("gateway_database_bytes", .gauge, "Size of the database and of its log of writes.") {
            for (file, bytes) in files { $0.value(bytes, ["file": file]) }
        }
    }

    /// By the number of the receiver in the list `notify`: what stands in an address is nobody's business here.
    fileprivate mutating func notifications(_ counts: StoreCounts, _ receivers: [NotifyReceiver], now: UnixMillis) {
        func number(_ receiver: String) -> String {
            receivers.firstIndex { $0.id == receiver }.map { String($0) } ?? "former"
        }
        var byNumber = Dictionary(grouping: counts.messages) { number($0.receiver) }
        // Of a receiver that is configured also when there is nothing.
        for index in receivers.indices where byNumber[String(index)] == nil { byNumber[String(index)] = [] }
        metric("gateway_notifications", .gauge, "Notifications that wait, and those that were given up.") {
            for (number, counts) in byNumber.sorted(by: { $0.key < $1.key }) {
                $0.value(counts.reduce(0) { $0 + $1.waiting }, ["receiver": number, "state": "waiting"])
                $0.value(counts.reduce(0) { $0 + $1.dead }, ["receiver": number, "state": "dead"])
            }
        }
        metric("gateway_notification_oldest_seconds", .gauge, "Age of the oldest notification that waits.") {
            guard let oldest = counts.oldestMessage else { return }
            $0.value(Double(max(0, now.value - oldest.value)) / 1000)
        }
    }

    fileprivate mutating func memory(_ residentBytes: Int?) {
        guard let residentBytes else { return }
        metric("process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM.") {
            $0.value(residentBytes)
        }
    }

    fileprivate mutating func requests(_ measurements: Measurements) {
        let loops = measurements.requests
        metric("gateway_http_requests_total", .counter, "Requests that were answered, by route and kind of status.") {
            for route in Route.allCases {
                for digit in RequestMeasurements.classes {
                    let count = loops.reduce(0) { $0 + $1.answers(route, statusClass: digit) }
                    if count > 0 { $0.value(count, ["route": "\(route.template)", "status": "\(digit)xx"]) }
                }
            }
        }
        let bounds = RequestMeasurements.boundsMicros.map { String(Double($0) / 1_000_000) }
        metric(
            "gateway_http_request_duration_seconds",
            .histogram,
            "From the whole request to its answer; without those that asked to wait."
        ) {
            for route in Route.allCases {
                let all = loops.map { $0.latency(route) }
                let buckets = all.reduce(into: [Int](repeating: 0, count: bounds.count + 1)) { sum, one in
                    for (index, count) in one.buckets.enumerated() { sum[index] += count }
                }
                guard buckets.contains(where: { $0 > 0 }) else { continue }
                let micros = all.reduce(0) { $0 + $1.sumMicros }
                let sum = String(Double(micros) / 1_000_000)
                $0.histogram(buckets, bounds: bounds, sum: sum, ["route": "\(route.template)"])
            }
        }
    }

    fileprivate mutating func webhooks(_ measurements: Measurements) {
        let providers = measurements.allWebhooks.sorted { $0.key < $1.key }
        metric(
            "gateway_webhooks_total",
            .counter,
            "Deliveries by provider and outcome; unauthorized: not believed, failed: not stored."
        ) {
            for (provider, webhooks) in providers {
                for outcome in EventOutcome.allCases {
                    $0.value(webhooks.count(outcome), ["provider": provider, "outcome": outcome.name])
                }
                $0.value(webhooks.unauthorized.value, ["provider": provider, "outcome": "unauthorized"])
                $0.value(webhooks.failed.value, ["provider": provider, "outcome": "failed"])
            }
        }
    }

    fileprivate mutating func writer(_ store: any Store) {
        metric("gateway_writes_waiting", .gauge, "Writes that wait for the writer; more than 4096 are refused.") {
            $0.value(store.waiting)
        }
        let measured = store.measurements
        metric("gateway_write_batch_size", .histogram, "Writes in one transaction.") {
            let sizes = measured.batchSize
            $0.histogram(sizes.counts, bounds: sizes.bounds.map { String($0) }, sum: String(sizes.sum))
        }
        metric("gateway_commit_duration_seconds", .histogram, "COMMIT with the sync of the disk.") {
            let commits = measured.commitMicros
            $0.histogram(
                commits.counts,
                bounds: commits.bounds.map { String(Double($0) / 1_000_000) },
                sum: String(Double(commits.sum) / 1_000_000)
            )
        }
        metric("gateway_write_failures_total", .counter, "Transactions that did not come through.") {
            $0.value(measured.failures.value)
        }
        metric("gateway_rows_changed_total", .counter, "Rows of users that were written.") {
            $0.value(measured.rowsChanged.value)
        }
    }

    /// Not told where there is no copy.
    fileprivate mutating func replica(_ replica: ReplicaMeasurements?) {
        guard let replica else { return }
        metric("gateway_replica_in_use", .gauge, "Whether reads go to the replica of the database.") {
            $0.value(replica.isInUse ? 1 : 0)
        }
        metric("gateway_replica_lag_seconds", .gauge, "How far the replica may be behind; not told while not known.") {
            if let seconds = replica.lagSeconds { $0.value(seconds) }
        }
        metric("gateway_rows_read_total", .counter, "Rows read for answers, by the server that gave them.") {
            $0.value(replica.rowsOfReplica.value, ["server": "replica"])
            $0.value(replica.rowsOfPrimary.value, ["server": "primary"])
        }
        metric("gateway_replica_confirmations_total", .counter, "Answers that the primary was asked for once more.") {
            $0.value(replica.confirmations.value)
        }
    }

    fileprivate mutating func counts(_ counts: StoreCounts) {
        metric("gateway_rows", .gauge, "Users who have a row, by environment.") {
            for environment in StoreEnvironment.allCases {
                $0.value(counts.rows[environment] ?? 0, ["environment": environment.name])
            }
        }
        metric("gateway_parked_purchases", .gauge, "Purchases whose user is not known yet.") {
            $0.value(counts.parkedPurchases)
        }
        metric("gateway_unmapped_events", .gauge, "Events whose product is in no map; replay them after a fix.") {
            $0.value(counts.unmappedEvents)
        }
        metric("gateway_quarantined_events", .gauge, "Events that could not be understood.") {
            $0.value(counts.quarantinedEvents)
        }
        tasks(counts.waitingTasks)
    }

    /// Purchases that are not acknowledged in time are paid back by their store: the age is the alarm.
    private mutating func tasks(_ waiting: [WaitingTasks]) {
        let now = wallClockMillis()
        metric(
            "gateway_provider_tasks_waiting",
            .gauge,
            "Readings and acknowledgements that a provider has not answered."
        ) {
            for tasks in waiting {
                $0.value(tasks.count, ["provider": tasks.provider.name, "kind": Self.word(tasks.kind)])
            }
        }
        metric(
            "gateway_provider_task_oldest_seconds",
            .gauge,
            "Age of the oldest of them; acknowledgements must not wait for three days."
        ) {
            for tasks in waiting {
                let seconds = Double(max(0, now - tasks.oldest.value)) / 1000
                $0.value(seconds, ["provider": tasks.provider.name, "kind": Self.word(tasks.kind)])
            }
        }
    }

    private static func word(_ kind: ProviderTask.Kind) -> String {
        switch kind {
        case .read: "read"
        case .acknowledge: "acknowledge"
        case .tell: "tell"
        }
    }

    /// Not told until it was counted for the first time.
    fileprivate mutating func overlapping(_ users: Int?) {
        guard let users else { return }
        metric("gateway_overlapping_users", .gauge, "People who pay twice: two live purchases that will renew.") {
            $0.value(users)
        }
    }

    /// Not told until it was counted for the first time.
    fileprivate mutating func active(_ users: [ProviderID: Int]?) {
        guard let users else { return }
        metric("gateway_active_users", .gauge, "People with the default entitlement, by the provider that gives it.") {
            for (provider, count) in users.sorted(by: { $0.key.name < $1.key.name }) {
                $0.value(count, ["provider": provider.name])
            }
        }
    }

    /// A provider that has gone quiet: the newest delivery this process saw, or the newest event in the database.
    fileprivate mutating func arrivals(_ counts: StoreCounts, _ measurements: Measurements, now: UnixMillis) {
        let webhooks = measurements.allWebhooks
        metric("gateway_seconds_since_last_delivery", .gauge, "Seconds since the provider was last heard of.") {
            for provider in webhooks.keys.sorted() {
                let moments = [webhooks[provider]?.lastDelivery, counts.lastArrivals[ProviderID(provider)]]
                guard let last = moments.compactMap(\.self).max() else { continue }
                $0.value(Double(max(0, now.value - last.value)) / 1000, ["provider": provider])
            }
        }
    }
}

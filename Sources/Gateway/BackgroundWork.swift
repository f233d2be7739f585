internal import Entitlements
internal import Licensing
internal import Platform
internal import SQLStorage

/// What goes on beside the loops: the feed of changes, notifications, a look at the keys, and the look at everyone.
struct BackgroundWork: Sendable {
    private let feed: ChangeFeed
    private let feedThread: WorkerThread
    private let notifier: Notifier
    private let keyWatch: KeyWatch
    /// Nil where no provider can be asked.
    private let schedule: ReconcileSchedule?

    /// Starts all of it, or nothing.
    ///
    /// - Parameter knownKeys: The keys of the database that the loops were made with.
    static func start(
        _ configuration: GatewayConfiguration,
        _ services: GatewayServices,
        knownKeys known: [KeyRecord],
        _ loops: LoopMailboxes,
        _ bell: OutboxBell
    ) throws -> BackgroundWork {
        let feedThread = try services.feed.start(
            FeedContext(
                store: services.store,
                loops: loops,
                defaultEntitlement: configuration.policy.defaultEntitlement,
                payloadDays: configuration.payloadDays,
                maxDevices: configuration.access.licenses.maxDevices
            )
        )
        do {
            let notifier = try Notifier(configuration.receivers, services.store, bell)
            do {
                let watch = try KeyWatch.start(location: configuration.location, known: known) { stored in
                    Log.info("the keys in the database have changed", ("keys", .integer(Int64(stored.count))))
                    loops.post(.keys(stored.map(KeyRing.Key.init)))
                }
                do {
                    return BackgroundWork(
                        feed: services.feed,
                        feedThread: feedThread,
                        notifier: notifier,
                        keyWatch: watch,
                        schedule: try ReconcileSchedule(services.sync, services.store)
                    )
                } catch {
                    watch.stop()
                    throw error
                }
            } catch {
                notifier.stop()
                throw error
            }
        } catch {
            services.feed.stop()
            feedThread.join()
            throw error
        }
    }

    /// The look at everyone ends before the thread it asks: what was not read must not count as read.
    func stopAsking() {
        schedule?.stop()
    }

    /// They hand their last results to the writer, which must still run.
    func stop() {
        keyWatch.stop()
        notifier.stop()
        feed.stop()
        feedThread.join()
    }
}

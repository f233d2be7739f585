public import Platform

/// What the writer tells of its work; read by anyone, written by its thread.
public final class WriterMeasurements: Sendable {
    /// Commands in one transaction.
    public let batchSize = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
    /// Microseconds of COMMIT, the sync of the disk among them.
    public let commitMicros = Histogram(bounds: [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
    ])
    /// Batches that did not come through.
    public let failures = Counter()
    /// Rows written.
    public let rowsChanged = Counter()

    public init() {}
}

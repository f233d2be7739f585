package import Platform

/// What the writer tells of its work; read by anyone, written by its thread.
package final class WriterMeasurements: Sendable {
    /// Commands in one transaction.
    package let batchSize = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
    /// Microseconds of COMMIT, the sync of the disk among them.
    package let commitMicros = Histogram(bounds: [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
    ])
    /// Batches that did not come through.
    package let failures = Counter()
    /// Rows written.
    package let rowsChanged = Counter()

    package init() {}
}

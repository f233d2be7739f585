import Testing

@testable import Platform

@Suite struct MeasurementTests {
    @Test func aRowOfNumbersIsReadWhileItGrows() throws {
        let row = CounterRow(count: 3)
        let turns = 100_000
        let thread = try WorkerThread.start(name: "adder") {
            for _ in 0..<turns {
                row.add(1, at: 0)
                row.add(2, at: 2)
            }
        }
        var last = 0
        while last < turns {
            let value = row.value(at: 0)
            #expect(value >= last)
            last = value
        }
        thread.join()
        #expect((0..<3).map(row.value) == [turns, 0, 2 * turns])
    }

    @Test func aHistogramHasABucketAboveItsBounds() {
        let histogram = Histogram(bounds: [1, 10])
        for value in [0, 1, 2, 10, 11, 500] { histogram.add(value) }
        #expect(histogram.counts == [2, 2, 2] && histogram.sum == 524)
    }

    @Test func theProcessHasMemory() throws {
        #expect(try #require(ProcessMemory.residentBytes()) > 1 << 20)
    }
}

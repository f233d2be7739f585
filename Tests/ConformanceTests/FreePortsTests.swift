import TestSupport
import Testing

@Suite struct FreePortsTests {
    @Test func portsGivenOutAtTheSameTimeDiffer() async throws {
        let ports = try await onOwnThread {
            try inParallel(count: 100, atMost: 8) { _ in try FreePorts.claim() }
        }
        #expect(Set(ports).count == 100)
    }

    @Test func workInParallelComesBackInOrderAndStopsAtAFault() async throws {
        let doubled = await onOwnThread { inParallel(count: 50, atMost: 4) { $0 * 2 } }
        #expect(doubled == (0..<50).map { $0 * 2 })
        await #expect(throws: ConformanceError.machine("7")) {
            try await onOwnThread {
                try inParallel(count: 50, atMost: 4) { number in
                    if number == 7 { throw ConformanceError.machine("7") }
                }
            }
        }
    }

    @Test func theSeededGeneratorIsTheKnownOne() {
        // The first numbers for the seed 1234567, as published with the algorithm.
        var random = SplitMix64(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            ]
        )
    }
}

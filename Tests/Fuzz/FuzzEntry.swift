internal import Glibc

/// What `FUZZ_TARGET` names.
private let target = getenv("FUZZ_TARGET").flatMap { FuzzTarget.named(String(cString: $0)) }

/// Called by libFuzzer once, before everything else. Without a target the program tells what there is, and ends.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    guard target == nil else { return 0 }
    for name in FuzzTarget.all.map(\.name) { puts(name) }
    fflush(nil)
    // Not `exit`, which libFuzzer takes for a crash.
    _exit(0)
}

/// Called by libFuzzer for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target?.check(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

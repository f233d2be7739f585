internal import Glibc
public import Synchronization

/// A block of atomic words, zero at first. The system gives its memory page by page when it is first touched, so a large
/// block costs nothing before it is used.
///
/// - Returns: Nil when there is no memory. To be given back with `freeSharedWords`.
public func makeSharedWords(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt64>>? {
    // An atomic word has the form of a plain one, and zero is a value of both.
    unsafe calloc(count, MemoryLayout<Atomic<UInt64>>.stride)?.assumingMemoryBound(to: Atomic<UInt64>.self)
}

/// Gives back what `makeSharedWords` made.
public func freeSharedWords(_ words: UnsafeMutablePointer<Atomic<UInt64>>) {
    unsafe free(words)
}

internal import CSystem

/// How many files and sockets the process may have open at once.
public enum DescriptorLimit {
    /// Raises the soft limit to the hard one, and gives what now holds.
    ///
    /// The usual soft limit of 1,024 is for programs that use `select`; this one does not.
    public static func raise() -> Int {
        Int(csystem_raise_descriptor_limit())
    }
}

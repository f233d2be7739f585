/// The gate's two decisions on plain values: the reading path calls them on bytes straight from the database.
public enum Gate {
    /// `now < access_until`, or no end at all (rule 5). Exactly at the end access is over.
    public static func isEntitled(end: UnixMillis?, at moment: UnixMillis) -> Bool {
        guard let end else { return true }
        return moment < end
    }

    /// An ended status counts from the end on; before it the purchase counts as it was.
    public static func status(
        end: UnixMillis?,
        graceFrom: UnixMillis?,
        live: Status,
        ended: Status,
        at moment: UnixMillis
    ) -> Status {
        guard isEntitled(end: end, at: moment) else { return ended }
        if let graceFrom, moment >= graceFrom { return .grace }
        return live
    }
}

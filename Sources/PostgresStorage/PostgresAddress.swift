#if Postgres
    internal import CLibPQ
    package import Storage

    /// Where a server is and who logs in: `postgres://user:password@host:port/database?option=value`
    /// (postgresql.org/docs/current/libpq-connect.html, connection URIs).
    @safe
    package struct PostgresAddress: Sendable {
        /// With the password, for libpq only.
        let url: String
        /// Without the password and without options.
        package let name: String
        let database: String
        /// Where it is, when the address names several servers.
        private let hosts: [String]
        private let ports: [String]

        /// - Throws: `.unavailable` with what is off.
        package init(_ url: String) throws(StorageError) {
            var message: UnsafeMutablePointer<CChar>?
            guard let options = unsafe PQconninfoParse(url, &message) else {
                // libpq's words may repeat the address, and with it a password.
                unsafe PQfreemem(message)
                throw .unavailable("the address of the database cannot be read; expected postgres://user@host/database")
            }
            defer { unsafe PQconninfoFree(options) }
            var values: [String: String] = [:]
            var option = unsafe options
            while let keyword = unsafe option.pointee.keyword {
                if let value = unsafe option.pointee.val {
                    unsafe values[String(cString: keyword)] = String(cString: value)
                }
                unsafe option += 1
            }
            self.url = url
            database = values["dbname"] ?? ""
            func list(_ keyword: String) -> [String] {
                (values[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            // Servers that are told apart by their addresses of the network keep the order they were given in.
            hosts = values["hostaddr"] == nil ? list("host") : []
            ports = list("port")
            let user = values["user"].map { $0 + "@" } ?? ""
            let port = values["port"].map { ":" + $0 } ?? ""
            name = "postgres://\(user)\(values["host"] ?? "")\(port)/\(values["dbname"] ?? "")"
        }

        /// Whether it names more than one server.
        package var isOfSeveral: Bool { hosts.count > 1 || url.contains("hostaddr=") && url.contains(",") }

        /// The same servers with another one first; nil where there is one.
        func hosts(beginningAt first: Int) -> (hosts: String?, ports: String?) {
            guard hosts.count > 1, first % hosts.count > 0 else { return (nil, nil) }
            func turned(_ list: [String]) -> String {
                let start = first % list.count
                return (list[start...] + list[..<start]).joined(separator: ",")
            }
            // One port counts for all of them.
            return (turned(hosts), ports.count == hosts.count ? turned(ports) : nil)
        }

        package static func isOne(_ text: String) -> Bool {
            text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
        }
    }
#endif

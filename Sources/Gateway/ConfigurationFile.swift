internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Storage

/// `gateway.json`: all optional, a key it does not know is refused with its path.
enum ConfigurationFile {
    /// The file in the working directory that is read when none is named.
    static let defaultName = "gateway.json"
    /// Entitlement names stand in answers, tokens and queries.
    static let nameBytesMax = 255
    /// Longest term of a product: more days than any calendar of ours has.
    static let daysMax: Int64 = 1_000_000

    static func read(
        _ named: String?,
        into configuration: inout GatewayConfiguration
    ) throws(ConfigurationError) {
        let path = named ?? defaultName
        guard let data = FileManager.default.contents(atPath: path) else {
            // Only a file that was asked for must be there.
            if named == nil { return }
            throw ConfigurationError(path, "no such file", hint: "--config and GATEWAY_CONFIG name a JSON file")
        }
        configuration.file = path
        if let mistake = JSONSyntax.mistake(in: [UInt8](data)) {
            throw ConfigurationError(path, "it is not JSON", hint: mistake.description)
        }
        guard let json = JSON([UInt8](data)), let members = json.object else {
            throw ConfigurationError(path, "it is not a JSON object", hint: "check the file with a JSON tool")
        }
        let reader = Reader(file: path)
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "$schema":
                guard value.string != nil else { throw reader.fail("/$schema", "expected a text") }
            case "entitlement": configuration.policy.defaultEntitlement = try reader.name(value, "/entitlement")
            case "products": configuration.policy.products = try reader.products(value)
            case "sandbox_users":
                configuration.policy.sandboxUsers = Set(try reader.texts(value, "/sandbox_users"))
            case "grace": configuration.policy.pastDueDays = try reader.grace(value)
            case "metrics":
                guard let text = value.string, text == "key" || text == "open" else {
                    throw reader.fail("/metrics", "expected \"key\" or \"open\"")
                }
                configuration.metricsAreOpen = text == "open"
            case "notify":
                configuration.receivers = try NotifyReceiver.list(value, file: path, configuration.environment)
            case "database_replica": try reader.replica(value, into: &configuration)
            case "jwt", "licenses", "cors", "trusted_proxies", "public_url", "claim_by_email":
                try reader.access(key, value, configuration.environment, into: &configuration.access)
            case "restore":
                guard let choice = value.string.flatMap(PurchaseSubmission.Restore.init(rawValue:)) else {
                    throw reader.fail("/restore", "expected \"transfer\" or \"keep\"")
                }
                configuration.restore = choice
            default: throw reader.fail("/\(key)", "no such setting", hint: "see the README for what can stand here")
            }
        }
    }

    struct Reader {
        let file: String

        func fail(_ pointer: String, _ reason: String, hint: String = "") -> ConfigurationError {
            ConfigurationError("\(file) \(pointer)", reason, hint: hint)
        }

        func name(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> String {
            guard let text = value.string, !text.isEmpty, text.utf8.count <= nameBytesMax else {
                throw fail(pointer, "expected the name of an entitlement")
            }
            return text
        }

        func texts(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> [String] {
            guard let list = value.array else { throw fail(pointer, "expected a list of texts") }
            var texts: [String] = []
            for (index, element) in list.enumerated() {
                guard let text = element.string, !text.isEmpty else {
                    throw fail("\(pointer)/\(index)", "expected a text")
                }
                texts.append(UserID(text)?.value ?? text)
            }
            return texts
        }

        func grace(_ value: JSON) throws(ConfigurationError) -> Int {
            guard let members = value.object else { throw fail("/grace", "expected an object") }
            for key in members.keys where key != "past_due_days" { throw fail("/grace/\(key)", "no such setting") }
            guard let days = members["past_due_days"] else { return 14 }
            guard let number = days.wholeNumber, (0...365).contains(number) else {
                throw fail("/grace/past_due_days", "expected a number of days from 0 to 365")
            }
            return Int(number)
        }

        /// What the flags and the environment say wins.
        func replica(_ value: JSON, into configuration: inout GatewayConfiguration) throws(ConfigurationError) {
            let pointer = "/database_replica"
            guard let members = value.object, let address = members["address"]?.string,
                DatabaseAddress.isPostgres(address)
            else {
                throw fail(pointer, "expected an object with an address", hint: "postgres://user@standby:5432/database")
            }
            for key in members.keys where key != "address" && key != "lag_seconds" {
                throw fail("\(pointer)/\(key)", "no such setting")
            }
            if configuration.databaseReplica == nil { configuration.databaseReplica = address }
            guard let lag = members["lag_seconds"] else { return }
            let possible = GatewayConfiguration.lagSeconds
            guard let seconds = lag.wholeNumber.flatMap({ Int(exactly: $0) }), possible.contains(seconds) else {
                throw fail(
                    "\(pointer)/lag_seconds",
                    "expected seconds from \(possible.lowerBound) to \(possible.upperBound)"
                )
            }
            if configuration.replicaLag == nil { configuration.replicaLag = seconds }
        }

        func products(_ value: JSON) throws(ConfigurationError) -> [ProviderID: [String: EntitlementPolicy.Grant]] {
            guard let providers = value.object else { throw fail("/products", "expected an object of providers") }
            var products: [ProviderID: [String: EntitlementPolicy.Grant]] = [:]
            for (provider, value) in providers {
                let pointer = "/products/\(provider)"
                guard let members = value.object else { throw fail(pointer, "expected an object of product ids") }
                var map: [String: EntitlementPolicy.Grant] = [:]
                for (product, value) in members { map[product] = try grant(value, "\(pointer)/\(product)") }
                // An empty map is a map: it says that nothing is given.
                products[ProviderID(provider)] = map
            }
            return products
        }

        private func grant(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> EntitlementPolicy.Grant {
            if value.array != nil { return EntitlementPolicy.Grant(entitlements: try names(value, pointer)) }
            guard let members = value.object, let list = members["entitlements"] else {
                throw fail(pointer, "expected a list of entitlements, or an object with them and days")
            }
            for key in members.keys where key != "entitlements" && key != "days" {
                throw fail("\(pointer)/\(key)", "no such setting")
            }
            var grant = EntitlementPolicy.Grant(entitlements: try names(list, "\(pointer)/entitlements"))
            if let days = members["days"] {
                guard let number = days.wholeNumber, (1...daysMax).contains(number) else {
                    throw fail("\(pointer)/days", "expected a number of days")
                }
                grant.days = Int(number)
            }
            return grant
        }

        private func names(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> [String] {
            guard let list = value.array else { throw fail(pointer, "expected a list of entitlements") }
            var names: [String] = []
            for (index, element) in list.enumerated() { names.append(try name(element, "\(pointer)/\(index)")) }
            return names
        }
    }
}

internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import ProviderKit
internal import Providers
internal import SQLStorage
internal import Storage

/// Brings existing subscribers in from a file, through the same facts and the same merge rule as a delivery.
public struct SubscriberImport {
    /// What is asked for.
    public struct Options: Sendable {
        /// `csv`, or the provider whose export it is.
        public var format: String
        public var file: String
        /// The provider of lines that name none.
        public var provider: String?
        /// Reads and checks the file, and writes nothing.
        public var isDryRun = false
        /// Tells the seller's own systems of every answer that changes.
        public var notifies = false

        public init(format: String, file: String) {
            self.format = format
            self.file = file
        }
    }

    /// How far it has come.
    public struct Progress: Sendable {
        public var bytes = 0
        public var bytesMax = 0
        public var lines = 0
        public var refused = 0
    }

    /// A line that could not be brought in.
    public struct Refusal: Sendable {
        public var line: Int
        public var reason: String
    }

    /// What came of it.
    public struct Report: Sendable {
        public var isDryRun: Bool
        /// Lines that were read, without those of an earlier run.
        public var lines = 0
        /// The line after which this run began.
        public var continuedAfter: Int?
        /// Events by what became of them; in a dry run those that are new and those that are known.
        public var outcomes: [String: Int] = [:]
        public var refused = 0
        /// The first refused lines.
        public var refusals: [Refusal] = []

        public var json: String {
            var json = JSONWriter()
            json.raw("{")
            json.key("dry_run")
            json.bool(isDryRun)
            json.key("lines")
            json.integer(Int64(lines))
            json.key("continued_after_line")
            if let continuedAfter { json.integer(Int64(continuedAfter)) } else { json.null() }
            json.key("outcomes")
            json.raw("{")
            for (name, count) in outcomes.sorted(by: { $0.key < $1.key }) {
                json.key(name)
                json.integer(Int64(count))
            }
            json.raw("}")
            json.key("refused")
            json.integer(Int64(refused))
            json.list("refusals", refusals) { json, refusal in
                json.raw("{")
                json.key("line")
                json.integer(Int64(refusal.line))
                json.key("reason")
                json.string(refusal.reason)
                json.raw("}")
            }
            json.raw("}")
            return String(decoding: json.bytes, as: UTF8.self)
        }
    }

    /// Refused lines that a report tells one by one.
    public static let refusalsMax = 100
    public static let formats = ["csv", "revenuecat", "stripe", "creem"]

    private let options: Options
    private let configuration: GatewayConfiguration
    private let format: any ImportFormat

    /// - Throws: When the format or the provider is not known.
    public init(_ options: Options, _ configuration: GatewayConfiguration) throws(ConfigurationError) {
        self.options = options
        self.configuration = configuration
        switch options.format {
        case "revenuecat":
            format = RevenueCatImport(hasMap: configuration.policy.products[RevenueCatImport.name] != nil)
        case "stripe": format = StripeImport()
        case "csv", "creem":
            let places = try Self.places(configuration)
            // Creem's dashboard has no export with a documented form: its subscribers come as plain CSV.
            let provider = options.provider ?? (options.format == "creem" ? "creem" : nil)
            if let provider, places[provider] == nil {
                throw ConfigurationError(
                    "--provider",
                    "no provider is called \(provider)",
                    hint: "known are \(places.keys.sorted().joined(separator: ", "))"
                )
            }
            format = PlainImport(places: places, provider: provider)
        default:
            throw ConfigurationError(
                options.format,
                "no such format",
                hint: "formats are \(Self.formats.joined(separator: ", "))"
            )
        }
    }

    /// Under which namespaces each provider's deliveries know their purchases.
    private static func places(
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> [String: PlainImport.Place] {
        var places: [String: PlainImport.Place] = [:]
        let appStore = AppStoreAdapter.name.name
        places[appStore] = PlainImport.Place(subscription: appStore, oneTime: appStore)
        // By the purchase token; an order is only what others call the purchase.
        let tokens = GooglePlayAdapter.tokenNamespace
        places[GooglePlayAdapter.name.name] = PlainImport.Place(subscription: tokens, oneTime: tokens)
        for manifest in try ProviderRegistry.manifests(configuration.providersFolder) {
            let name = manifest.provider.name
            func namespace(_ rank: ExternalIDRank) -> String {
                let rule = manifest.rules.first { rule in
                    guard case .state = rule.meaning else { return false }
                    return rule.purchase.id.rank == rank
                }
                return name + (rule?.purchase.id.kind.map { ":" + $0 } ?? "")
            }
            places[name] = PlainImport.Place(
                subscription: namespace(.subscription),
                oneTime: namespace(.oneTime)
            )
        }
        return places
    }

    /// Reads the file to its end.
    ///
    /// - Parameters:
    ///   - progress: Called after every batch.
    ///   - refusal: Called for every refused line.
    public func run(
        progress: (Progress) -> Void,
        refusal: (Refusal) -> Void
    ) throws(ConfigurationError) -> Report {
        let file = try ImportedFile(options.file)
        do {
            let store =
                options.isDryRun
                ? nil
                : try EventImport(
                    configuration.location,
                    configured: configuration.policy,
                    file: "\(options.format) \(file.fingerprint)",
                    tellsReceivers: options.notifies
                )
            let run = ImportRun(file, format, store, configuration.location, isDryRun: options.isDryRun)
            try run.toTheEnd(progress, refusal)
            if let failure = run.failure { throw failure }
            return run.report
        } catch let error as StorageError {
            throw ConfigurationError(
                configuration.location.name,
                error.description,
                hint: "run the same import again: it goes on where it stopped"
            )
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(options.file, "\(error)")
        }
    }
}

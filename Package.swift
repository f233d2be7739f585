// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// One list of settings for every Swift target: strict from the first line on.
let strict: [SwiftSetting] = [
    // A row is read where the database holds it, and the compiler sees that the view does not outlive the read.
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Tests may force-unwrap and need no `unsafe` marks; everything else is as strict.
let strictTests: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// What lies in the providers' folders besides Swift. Found and not listed, so that adding a provider is adding a folder.
let dataOfProviders: [String] = {
    let root = Context.packageDirectory + "/providers"
    let files = FileManager.default
    return ((try? files.contentsOfDirectory(atPath: root)) ?? []).sorted().flatMap { entry -> [String] in
        guard let inner = try? files.contentsOfDirectory(atPath: root + "/" + entry) else {
            return entry.hasSuffix(".swift") ? [] : [entry]
        }
        return inner.filter { !$0.hasSuffix(".swift") }.sorted().map { entry + "/" + $0 }
    }
}()

let package = Package(
    name: "entitlement-gateway",
    // For `EntitlementClient`, which apps build in; the gateway itself runs on Linux.
    platforms: [.macOS(.v15), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .library(name: "EntitlementClient", targets: ["EntitlementClient"]),
        .executable(name: "entitlement-gateway", targets: ["CLI"]),
        .executable(name: "entitlement-gateway-bench", targets: ["Bench"]),
    ],
    traits: [
        .trait(
            name: "Postgres",
            description: "A database on a PostgreSQL server, for several gateways beside each other. Needs libpq."
        )
    ],
    targets: [
        // System libraries, and the little C that Swift cannot say.
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .systemLibrary(
            name: "CLibPQ",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .target(name: "CSystem"),
        .target(name: "CEmbedded"),

        // From the bottom up.
        .target(name: "Platform", dependencies: ["CSystem"], swiftSettings: strict),
        .target(name: "Crypto", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "Entitlements", swiftSettings: strict),
        .target(name: "Outbound", swiftSettings: strict),
        .target(name: "TLS", dependencies: ["Platform", "CSystem", "COpenSSL"], swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["TLS", "Platform", "CSystem"], swiftSettings: strict),
        .target(name: "ProviderKit", dependencies: ["Entitlements", "Crypto"], swiftSettings: strict),
        .target(
            name: "Providers",
            dependencies: ["ProviderKit", "Entitlements", "Crypto", "CEmbedded"],
            path: "providers",
            exclude: dataOfProviders,
            swiftSettings: strict
        ),
        .target(name: "Licensing", dependencies: ["Entitlements", "Crypto"], swiftSettings: strict),
        .target(name: "Storage", dependencies: ["Entitlements", "Licensing", "Platform"], swiftSettings: strict),
        .target(
            name: "SQLStorage",
            dependencies: ["Storage", "Licensing", "Entitlements", "Platform", "Crypto", "CEmbedded"],
            swiftSettings: strict
        ),
        .target(
            name: "SQLiteStorage",
            dependencies: ["SQLStorage", "Storage", "Entitlements", "Platform", "Crypto", "CSQLite"],
            swiftSettings: strict
        ),
        // Empty without the trait: neither libpq nor its header is asked for then.
        .target(
            name: "PostgresStorage",
            dependencies: [
                "SQLStorage", "Storage", "Entitlements", "Platform", "Crypto",
                .target(name: "CLibPQ", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Gateway",
            dependencies: [
                "HTTPServer", "TLS", "Outbound", "Platform", "Crypto", "Entitlements", "ProviderKit", "Providers",
                "Storage", "SQLStorage", "SQLiteStorage", "Licensing", "CEmbedded",
                .target(name: "PostgresStorage", condition: .when(traits: ["Postgres"])),
            ],
            exclude: ["Admin"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "CLI",
            dependencies: ["Gateway", "Platform", "ProviderKit", "Providers", "Storage"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "Storage", "Entitlements", "Crypto", "ProviderKit", "Providers", "TestSupport", "CSQLite",
            ],
            swiftSettings: strict
        ),

        // For apps: needs nothing of the above.
        .target(
            name: "EntitlementClient",
            dependencies: [.target(name: "COpenSSL", condition: .when(platforms: [.linux]))],
            swiftSettings: strict
        ),

        // Tests.
        .target(name: "CAllocations", path: "Tests/CAllocations"),
        .executableTarget(
            name: "AllocationProbe",
            dependencies: ["Gateway", "CAllocations", "TestSupport"],
            path: "Tests/AllocationProbe",
            swiftSettings: strictTests
        ),
        .target(
            name: "TestSupport",
            dependencies: ["COpenSSL"],
            path: "Tests/TestSupport",
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "CryptoTests",
            dependencies: ["Crypto", "TestSupport", "COpenSSL"],
            swiftSettings: strictTests
        ),
        .testTarget(name: "PlatformTests", dependencies: ["Platform"], swiftSettings: strictTests),
        .testTarget(name: "OutboundTests", dependencies: ["Outbound", "TestSupport"], swiftSettings: strictTests),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["HTTPServer", "TLS", "Platform", "TestSupport", "COpenSSL"],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "EntitlementsTests",
            dependencies: ["Entitlements", "TestSupport"],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "LicensingTests",
            dependencies: ["Licensing", "Entitlements", "Crypto"],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "ProviderKitTests",
            dependencies: ["ProviderKit", "Entitlements", "Crypto"],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Providers", "ProviderKit", "Entitlements", "Crypto", "CEmbedded", "TestSupport"],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "SQLiteStorageTests",
            dependencies: [
                "SQLiteStorage", "SQLStorage", "Storage", "Entitlements", "ProviderKit", "Providers", "Crypto",
                "TestSupport", "CSQLite", .target(name: "PostgresStorage", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Gateway", "CLI", "EntitlementClient", "TestSupport", "Entitlements", "ProviderKit", "Platform",
                "Crypto",
                "CSQLite",
                "COpenSSL", "CEmbedded",
            ],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["CLI", "TestSupport", "CSQLite", "COpenSSL"],
            swiftSettings: strictTests
        ),
        .testTarget(name: "ArchitectureTests", swiftSettings: strictTests),
    ],
    swiftLanguageModes: [.v6]
)

// Only for `scripts/fuzz`: built with sanitizers and for release, where tests cannot look inside modules otherwise.
if Context.environment["GATEWAY_FUZZ"] != nil {
    package.targets.append(
        .target(
            name: "Fuzz",
            dependencies: ["HTTPServer", "Gateway", "Crypto", "Licensing", "ProviderKit", "Providers", "Entitlements"],
            path: "Tests/Fuzz",
            exclude: ["corpus"],
            swiftSettings: strictTests
        )
    )
}

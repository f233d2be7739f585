// swift-tools-version: 6.2
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

let package = Package(
    name: "entitlement-gateway",
    products: [
        .executable(name: "entitlement-gateway", targets: ["CLI"])
    ],
    targets: [
        // System libraries and the little C that Swift cannot say.
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
        .target(name: "CSystem"),
        .target(name: "CEmbedded"),

        // From the bottom up.
        .target(name: "Platform", dependencies: ["CSystem"], swiftSettings: strict),
        .target(name: "Crypto", dependencies: ["COpenSSL"], swiftSettings: strict),
        .target(name: "Entitlements", swiftSettings: strict),
        .target(name: "HTTPServer", dependencies: ["Platform", "CSystem"], swiftSettings: strict),
        .target(name: "ProviderKit", dependencies: ["Entitlements", "Crypto"], swiftSettings: strict),
        .target(
            name: "Providers",
            dependencies: ["ProviderKit", "Entitlements", "Crypto", "CEmbedded"],
            path: "providers",
            exclude: [
                "revenuecat/README.md", "revenuecat/samples",
                "app_store/README.md", "app_store/samples", "app_store/AppleRootCA-G3.cer",
                "creem/README.md", "creem/creem.json", "creem/samples",
                "stripe/README.md", "stripe/stripe.json", "stripe/samples",
                "dodo/README.md", "dodo/dodo.json", "dodo/samples",
                "polar/README.md", "polar/polar.json", "polar/samples",
                "lemonsqueezy/README.md", "lemonsqueezy/lemonsqueezy.json", "lemonsqueezy/samples",
                "paddle/README.md", "paddle/paddle.json", "paddle/samples",
            ],
            swiftSettings: strict
        ),
        .target(name: "Storage", dependencies: ["Entitlements", "Platform"], swiftSettings: strict),
        .target(
            name: "SQLiteStorage",
            dependencies: ["Storage", "Entitlements", "Platform", "Crypto", "CSQLite", "CEmbedded"],
            swiftSettings: strict
        ),
        .target(
            name: "Gateway",
            dependencies: [
                "HTTPServer", "Platform", "Crypto", "Entitlements", "ProviderKit", "Providers", "Storage",
                "SQLiteStorage",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "CLI",
            dependencies: ["Gateway", "Platform", "ProviderKit", "Providers", "Storage"],
            swiftSettings: strict
        ),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["COpenSSL"],
            path: "Tests/TestSupport",
            swiftSettings: strictTests
        ),
        .testTarget(name: "CryptoTests", dependencies: ["Crypto", "TestSupport"], swiftSettings: strictTests),
        .testTarget(name: "PlatformTests", dependencies: ["Platform"], swiftSettings: strictTests),
        .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "Platform"], swiftSettings: strictTests),
        .testTarget(
            name: "EntitlementsTests",
            dependencies: ["Entitlements", "TestSupport"],
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
                "SQLiteStorage", "Storage", "Entitlements", "ProviderKit", "Providers", "TestSupport", "CSQLite",
            ],
            swiftSettings: strictTests
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: ["Gateway", "CLI", "TestSupport", "Entitlements", "CSQLite"],
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

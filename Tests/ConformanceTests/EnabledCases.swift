/// A folder of cases.
enum ConformanceArea: String, Sendable, CaseIterable {
    case core
    case revenuecat
    case webbilling
    case gate
    case licenses
    case stores
}

/// Which cases must pass. The others wait for the parts of the gateway that they check.
///
/// To enable a whole area, let its line return true.
enum EnabledCases {

    static func contains(_ testCase: ConformanceCase, of area: ConformanceArea) -> Bool {
        switch area {
        case .core: true
        case .revenuecat: true
        case .webbilling: true
        case .gate: true
        case .licenses: true
        case .stores: true
        }
    }
}

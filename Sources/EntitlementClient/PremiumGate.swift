#if canImport(SwiftUI)
    public import SwiftUI

    /// Shows its content to who is entitled, a spinner while nobody knows, and to everybody else a locked card.
    ///
    /// ```swift
    /// PremiumGate(pro, upgrade: { isPaywallShown = true }) { Statistics() }
    /// ```
    public struct PremiumGate<Content: View>: View {
        private let controller: EntitlementController
        private let title: LocalizedStringKey
        private let upgrade: @MainActor () -> Void
        private let content: () -> Content

        /// - Parameters:
        ///   - title: What stands on the locked card.
        ///   - upgrade: What its button does, such as showing the paywall.
        public init(
            _ controller: EntitlementController,
            title: LocalizedStringKey = "This is part of Pro",
            upgrade: @escaping @MainActor () -> Void,
            @ViewBuilder content: @escaping () -> Content
        ) {
            self.controller = controller
            self.title = title
            self.upgrade = upgrade
            self.content = content
        }

        public var body: some View {
            if controller.isEntitled {
                content()
            } else if controller.state == .loading {
                ProgressView()
            } else {
                card
            }
        }

        private var card: some View {
            VStack(spacing: 12) {
                Image(systemName: "lock.fill").font(.largeTitle).accessibilityHidden(true)
                Text(title).font(.headline)
                if case .error = controller.state {
                    Text("Your purchase cannot be checked at the moment.").font(.footnote)
                    Button("Try again") { Task { await controller.refresh() } }
                }
                Button("Upgrade", action: upgrade).buttonStyle(.borderedProminent)
                Button("Restore purchases") { Task { await controller.restore() } }.font(.footnote)
            }
            .padding()
            .frame(maxWidth: .infinity)
        }
    }
#endif

/// Parts of the runner that only later areas need. Each is the place where that part is to be joined on.
///
/// `fakeServices` is a loopback server with the answers of a case's `google` and of the `apis` that are more than fixed
/// documents, which `FakeIssuer` serves; `CasePlayer` starts it before the gateway and puts its address into the environment.
/// The signers of the stores stand beside `WebhookSigners`.
enum LaterPart: String, Sendable, Equatable {
    case fakeServices = "the fake services (google, apis)"
    case googlePlayPush = "Google Play push tokens"
}

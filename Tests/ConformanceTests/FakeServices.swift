/// Parts of the runner that only later areas need. Each is the place where that part is to be joined on.
///
/// `fakeServices` is a loopback server with the answers of a case's `google` and `apis`; `CasePlayer` starts it before the
/// gateway and puts its address into the environment and into `${fake_url}` and `${jwks_url}`. The signers of the stores
/// stand beside `WebhookSigners`, user tokens are a `key` of a request, and licence tokens are a step of their own.
enum LaterPart: String, Sendable, Equatable {
    case fakeServices = "the fake services (google, apis, ${fake_url}, ${jwks_url})"
    case googlePlayPush = "Google Play push tokens"
    case userTokens = "user tokens (a key with claims)"
    case licenceTokens = "licence tokens (verify_token)"
}

public import Crypto

/// The root of everything the App Store signs: Apple Root CA - G3, carried inside the program.
///
/// Source: https://www.apple.com/certificateauthority/
public enum AppleRoot {
    /// SHA-256 of the certificate, as Apple publishes it.
    public static let fingerprint = "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

    /// The certificate; checked against its fingerprint, so that a tree that was tampered with does not start.
    ///
    /// - Throws: When the embedded file is not the certificate.
    public static func certificate() throws(KeyError) -> Certificate {
        guard let file = BuiltInProviders.file("providers/app_store/AppleRootCA-G3.cer"),
            let certificate = Certificate(der: file), certificate.fingerprint == fingerprint
        else { throw KeyError("the certificate in this program is not Apple Root CA - G3") }
        return certificate
    }
}

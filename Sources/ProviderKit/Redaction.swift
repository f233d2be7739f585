internal import Foundation

/// Takes personal data out of a payload before it may be stored (contract section 4).
///
/// Two nets, because sellers put people's data where no schema expects it: fields whose *name* says what they hold, and
/// *values* that look like an address of a person. The fields that name the user stay as they are: a user id is kept as
/// given, even when a seller chose an e-mail address.
public struct Redaction: Sendable {
    /// What stands in place of a removed value.
    static let mark = JSON.string("[removed]")

    /// Names of fields that hold personal data, compared without case and without `_`, `-` and `$`.
    private static let names: Set<String> = [
        "address", "addresses", "addressline1", "addressline2", "avatarurl", "billing", "billingaddress",
        "billingdetails",
        "billingname", "birthdate", "birthday", "businessname", "card", "cardbrand", "cardholder", "cardlastfour",
        "city", "company",
        "contact", "customerpurchaseip", "customersignature", "customfields", "description",
        "customerdetails",
        "customeremail", "customername", "customerphone", "dateofbirth", "displayname", "email", "emailaddress",
        "familyname", "firstname", "fullname", "givenname", "hostedinvoiceurl", "individualname", "invoicepdf", "ip",
        "ipaddress", "lastname", "last4", "lastfour", "line1", "line2", "name", "nickname", "paymentmethoddetails",
        "mobile", "nachname", "phone", "phonenumber", "postalcode", "postcode", "publicname", "receiptemail",
        "receipturl", "recipient", "shipping", "shippingaddress",
        "shippingdetails", "street", "streetaddress", "subscriberattributes", "surname", "taxid", "taxidentifier",
        "taxids", "taxnumber", "tel", "telephone", "useremail", "vorname",
        "username", "zip", "zipcode",
    ]

    /// Fields whose value names the user; never touched.
    public var userFields: Set<String>

    public init(userFields: Set<String>) {
        self.userFields = userFields
    }

    public func redact(_ value: JSON) -> JSON {
        redact(value, name: nil)
    }

    private func redact(_ value: JSON, name: String?) -> JSON {
        if let name {
            if userFields.contains(name), Self.isIdentifier(value) { return value }
            let plain = String(name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != "$" && $0 != " " })
            if Self.names.contains(plain), !value.isNull { return Self.mark }
        }
        switch value {
        case .object(let members):
            var kept: [String: JSON] = [:]
            for (key, member) in members { kept[Self.safeKey(key)] = redact(member, name: key) }
            return .object(kept)
        case .array(let elements): return .array(elements.map { redact($0, name: name) })
        case .string(let text): return Self.looksPersonal(text) ? Self.mark : value
        case .null, .bool, .integer, .number: return value
        }
    }

    /// A user id is a text or a number, or a list of them; anything else under its name is no id.
    private static func isIdentifier(_ value: JSON) -> Bool {
        switch value {
        case .string, .integer, .number, .null: true
        case .array(let elements): elements.allSatisfy(isIdentifier)
        case .object, .bool: false
        }
    }

    /// A key can carry a person's address as well as a value can.
    private static func safeKey(_ key: String) -> String {
        looksPersonal(key) ? "[removed]" : key
    }

    /// Something round an at sign, as every e-mail address has it, or a text that is a telephone number in international form.
    static func looksPersonal(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        // As it is, in the width of East Asian texts, and as it stands in an address of the web.
        for sign in ["@", "\u{FF20}", "%40"] {
            if let place = text.range(of: sign), place.lowerBound > text.startIndex, place.upperBound < text.endIndex {
                return true
            }
        }
        guard bytes.first == UInt8(ascii: "+"), bytes.count >= 8 else { return false }
        let rest = bytes.dropFirst()
        return rest.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || " -().".utf8.contains($0) }
    }
}

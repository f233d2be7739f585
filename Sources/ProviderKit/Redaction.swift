/// Takes personal data out of a payload before it may be stored (contract section 4).
///
/// Three nets: of the containers that belong to the seller (`metadata` and the like, where a key can be a person's name as
/// well as a value) only what is read is kept. Elsewhere two, because sellers put people's data where no schema expects it: fields whose *name* says what they hold, and
/// *values* that look like an address of a person. The fields that name the user stay as they are: a user id is kept as
/// given, even when a seller chose an e-mail address.
public struct Redaction: Sendable {
    /// What stands in place of a removed value.
    static let mark = JSON.string("[removed]")

    /// Names of fields that hold personal data, compared without case and without `_`, `-` and `$`.
    private static let names: Set<String> = [
        "address", "addresscity", "addresscountry", "addresses", "addressline1", "addressline2", "addressstate",
        "addresszip", "avatarurl", "billing", "billingaddress", "billingcity", "billingdetails", "billingname",
        "birthdate", "birthday", "businessname", "card", "cardbrand", "cardholder", "cardlastfour", "city", "comment",
        "company", "companynumber", "contact", "customeraddress", "customerbusinessname",
        "customercancellationcomment", "customercommunication", "customerdetails", "customeremail", "customername",
        "customerphone", "customerpurchaseip", "customershipping", "customersignature", "customertaxids",
        "customfields", "dateofbirth", "description", "displayname", "email", "emailaddress", "extendedaddr",
        "familyname", "fingerprint", "firstname", "fullname", "givenname", "hostedinvoiceurl", "individualname",
        "invoicepdf", "ip", "ipaddress", "last4", "lastfour", "lastname", "line1", "line2", "maskednumber", "mobile",
        "nachname", "name", "nickname", "paymentmethoddetails", "phone", "phonenumber", "postalcode", "postcode",
        "publicname", "receiptemail", "receipturl", "recipient", "remarks", "shipping", "shippingaddress",
        "shippingaddressfromzip", "shippingaddresszip", "shippingdetails", "street", "streetaddress",
        "subscriberattributes", "surname", "taxid", "taxidentifier", "taxids", "taxnumber", "tel", "telephone",
        "uncategorizedtext", "useremail", "username", "vatnumber", "vorname", "zip", "zipcode",
    ]
    /// Names of fields that hold something that opens a door; of these, what a rule reads stays.
    private static let secrets: Set<String> = [
        "clientsecret", "customerportalupdatesubscription", "key", "keyshort", "licensekey", "licensekeys",
        "updatecustomerportal", "updatepaymentmethod",
    ]
    /// What the names of fields begin with that the seller has made up.
    private static let sellersPrefix = "cf_"

    /// Fields whose value names the user; never touched.
    public var userFields: Set<String>
    /// Names of the seller's containers, written plainly.
    private let containers: Set<String>
    /// What is read from such a container besides the user.
    private let read: Set<String>
    /// Every word of the places that are read.
    private let readAnywhere: Set<String>

    /// Containers that sellers fill as they like, at every provider.
    private static let commonContainers = [
        "metadata", "custom_data", "custom_field_data", "custom_field_responses", "meta_data", "passthrough",
    ]

    /// - Parameters:
    ///   - sellersContainers: Names of further objects that sellers fill as they like.
    ///   - paths: Places that are read; what they name inside such a container is kept.
    public init(userFields: Set<String>, sellersContainers: [String] = [], reading paths: [[String]] = []) {
        self.userFields = userFields
        let containers = Set((Self.commonContainers + sellersContainers).map(Self.plain))
        self.containers = containers
        var read: Set<String> = []
        for path in paths {
            for (name, inner) in zip(path, path.dropFirst()) where containers.contains(Self.plain(name)) {
                read.insert(inner)
            }
        }
        self.read = read
        readAnywhere = Set(paths.flatMap { $0 })
    }

    public func redact(_ value: JSON) -> JSON {
        redact(value, name: nil)
    }

    private func redact(_ value: JSON, name: String?) -> JSON {
        if let name {
            if userFields.contains(name), Self.isIdentifier(value) { return value }
            let plain = Self.plain(name)
            if Self.names.contains(plain), !value.isNull { return Self.mark }
            if containers.contains(plain) { return redactContainer(value) }
            let isDoubtful = Self.secrets.contains(plain) || name.hasPrefix(Self.sellersPrefix)
            if isDoubtful, !readAnywhere.contains(name), !value.isNull { return Self.mark }
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

    /// Nothing is known of what a seller puts there, so that only what is read stays, and of that only plain values.
    private func redactContainer(_ value: JSON) -> JSON {
        switch value {
        case .object(let members):
            var kept: [String: JSON] = [:]
            for (key, member) in members {
                if userFields.contains(key) {
                    kept[key] = Self.isIdentifier(member) ? member : Self.mark
                } else if read.contains(key) {
                    kept[key] = Self.isIdentifier(member) ? redact(member, name: key) : Self.mark
                }
            }
            return .object(kept)
        case .array(let elements): return .array(elements.map(redactContainer))
        case .null: return .null
        case .bool, .integer, .number, .string: return Self.mark
        }
    }

    /// A name without case and without the signs that only part its words.
    private static func plain(_ name: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.utf8.count)
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "$"), UInt8(ascii: " "): continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): bytes.append(byte + 0x20)
            case 0x80...: return String(name.lowercased().filter { !"_-$ ".contains($0) })
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
        for (place, byte) in bytes.enumerated() {
            // As it is, as it stands in an address of the web, and in the width of East Asian texts.
            let sign: [UInt8]
            switch byte {
            case UInt8(ascii: "@"): sign = [byte]
            case UInt8(ascii: "%"): sign = Array("%40".utf8)
            case 0xEF: sign = Array("\u{FF20}".utf8)
            default: continue
            }
            if place > 0, place + sign.count < bytes.count, bytes[place...].starts(with: sign) { return true }
        }
        guard bytes.first == UInt8(ascii: "+"), bytes.count >= 8 else { return false }
        let rest = bytes.dropFirst()
        return rest.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || " -().".utf8.contains($0) }
    }
}

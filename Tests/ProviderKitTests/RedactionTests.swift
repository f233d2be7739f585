internal import Testing

@testable internal import ProviderKit

/// Personal data goes before anything is stored.
struct RedactionTests {
    private let redaction = Redaction(userFields: ["user_id", "app_user_id", "aliases"])

    private func redact(_ json: String) -> String {
        JSON(Array(json.utf8)).map { String(decoding: redaction.redact($0).bytes, as: UTF8.self) } ?? "no JSON"
    }

    @Test(
        "by name, whatever the value",
        arguments: [
            "email", "Email", "e_mail", "$email", "customer_email", "user_email", "receipt_email", "name", "first_name",
            "lastName", "full-name", "customer_name", "phone", "phoneNumber", "$phoneNumber", "address",
            "billing_address",
            "line1", "postal_code", "city", "zip", "subscriber_attributes", "billing_details", "customer_details",
            "ip_address", "address_city", "address_state", "fingerprint", "shipping_address_zip", "customer_address",
            "customer_tax_ids", "vat_number", "customer_business_name", "comment", "customer_cancellation_comment",
            "uncategorized_text", "remarks", "cf_full_name", "license_keys", "license_key", "update_payment_method",
            "tax_id", "last4", "card", "shipping", "nickname", "displayName",
        ]
    )
    func names(_ name: String) {
        for value in ["\"x\"", "{\"a\":1}", "[1]", "7", "true"] {
            #expect(redact("{\"\(name)\":\(value)}") == "{\"\(name)\":\"[removed]\"}")
        }
        #expect(redact("{\"\(name)\":null}") == "{\"\(name)\":null}")
    }

    @Test(
        "by value, whatever the name",
        arguments: [
            "a@b.c", "Ann <ann@example.com>", "text with ann@example.co.uk in it", "+49 151 1234567",
            "+1 (555) 010-9999", "+4915112345678",
        ]
    )
    func values(_ value: String) {
        #expect(redact("{\"x\":[{\"y\":\"\(value)\"}]}") == "{\"x\":[{\"y\":\"[removed]\"}]}")
        #expect(redact("{\"\(value)\":1}") == (value.contains("@") || value.hasPrefix("+") ? "{\"[removed]\":1}" : ""))
    }

    @Test(
        "kept",
        arguments: [
            "{\"user_id\":\"ann@example.com\"}", "{\"aliases\":[\"ann@example.com\"]}", "{\"id\":\"sub_1\"}",
            "{\"at\":\"@\"}",
            "{\"x\":\"@handle\"}", "{\"x\":\"+1\"}", "{\"x\":\"+abc defghi\"}", "{\"amount\":-5}", "{\"x\":null}", "[]",
            "3",
        ]
    )
    func kept(_ json: String) {
        #expect(redact(json) == json)
    }

    @Test("what a seller asked for in fields of his own", arguments: ["custom_field_data", "custom_field_responses"])
    func sellersFields(_ name: String) {
        #expect(
            redact("{\"\(name)\":{\"company-contact\":\"Jane\",\"user_id\":\"u1\"}}")
                == "{\"\(name)\":{\"user_id\":\"u1\"}}"
        )
        #expect(redact("{\"\(name)\":[{\"key\":\"k\",\"value\":\"Jane\"}]}") == "{\"\(name)\":[{}]}")
    }

    @Test("of what opens a door, and of a seller's own fields, what a rule reads stays")
    func readSecrets() {
        let reading = Redaction(userFields: ["cf_user_id"], reading: [["data", "key"], ["data", "cf_plan"]])
        let json = #"{"cf_plan":"p","cf_town":"t","cf_user_id":"u","key":"k","license_key":"l"}"#
        let kept = JSON(Array(json.utf8)).map { String(decoding: reading.redact($0).bytes, as: UTF8.self) }
        #expect(
            kept == #"{"cf_plan":"p","cf_town":"[removed]","cf_user_id":"u","key":"k","license_key":"[removed]"}"#
        )
    }

    @Test("a field that names the user hides nothing inside an object")
    func userFieldWithObject() {
        let found = redact("{\"user_id\":{\"email\":\"ann@example.com\"}}")
        #expect(!found.contains("ann@example.com"))
    }
}

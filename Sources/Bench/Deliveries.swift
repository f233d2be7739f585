internal import Crypto
internal import Foundation

/// Signed deliveries as Creem sends them, each of another purchase of another user, prepared before anything is measured.
enum Deliveries {
    static let secret = "a secret of the measurement"

    /// Writes one file for each of wrk's threads: `path.1`, `path.2`, …
    static func write(_ count: Int, to path: String) throws(BenchError) {
        let key = Array(secret.utf8)
        for thread in 1...LoadRun.threads {
            var text: [UInt8] = []
            for index in stride(from: thread - 1, to: count, by: LoadRun.threads) {
                let body = Array(event(index).utf8)
                text += Hex.encode(Digest.hmacSHA256(key: key, message: body)).utf8
                text.append(UInt8(ascii: " "))
                text += body
                text.append(UInt8(ascii: "\n"))
            }
            guard FileManager.default.createFile(atPath: "\(path).\(thread)", contents: Data(text)) else {
                throw BenchError("\(path).\(thread) cannot be written")
            }
        }
    }

    /// A paid month, with what Creem sends beside what counts.
    private static func event(_ index: Int) -> String {
        let number = String(1_000_000_000 + index)
        return #"""
            {"id":"evt_bench\#(number)","eventType":"subscription.paid","created_at":1793523611000,"object":{"id":"sub_bench\#(number)","object":"subscription","product":{"id":"prod_bench","object":"product","name":"Pro","description":"Pro plan","image_url":null,"price":1500,"currency":"EUR","billing_type":"recurring","billing_period":"every-month","status":"active","tax_mode":"exclusive","tax_category":"saas","default_success_url":"","created_at":"2026-09-02T09:00:00.000Z","updated_at":"2026-09-02T09:00:00.000Z","mode":"prod"},"customer":{"id":"cust_bench\#(number)","object":"customer","email":"buyer@example.com","name":"Sample Buyer","country":"NL","created_at":"2026-11-01T08:55:00.000Z","updated_at":"2026-11-01T08:55:00.000Z","mode":"prod"},"items":[{"object":"subscription_item","id":"sitem_bench\#(number)","product_id":"prod_bench","price_id":"pprice_bench","units":1,"created_at":"2026-11-01T09:00:00.000Z","updated_at":"2026-11-01T09:00:00.000Z","mode":"prod"}],"collection_method":"charge_automatically","status":"active","last_transaction_id":"tran_bench\#(number)","last_transaction_date":"2026-11-01T09:00:09.000Z","next_transaction_date":"2026-12-01T09:00:00.000Z","current_period_start_date":"2026-11-01T09:00:00.000Z","current_period_end_date":"2026-12-01T09:00:00.000Z","canceled_at":null,"created_at":"2026-11-01T09:00:07.000Z","updated_at":"2026-11-01T09:00:11.000Z","metadata":{"userId":"user-\#(number)-bench","plan":"pro_monthly"},"mode":"prod"}}
            """#
    }
}

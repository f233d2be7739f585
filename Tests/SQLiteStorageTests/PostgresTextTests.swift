#if Postgres
    import Testing

    @testable internal import PostgresStorage
    @testable internal import SQLStorage
    @testable internal import Storage
    @testable internal import Entitlements

    /// How texts, numbers and statements are said to PostgreSQL.
    struct PostgresTextTests {
        @Test(arguments: [
            ("SELECT ?, ?", "SELECT $1, $2"), ("a = ?2 AND b = ?1", "a = $2 AND b = $1"), ("x = ?", "x = $1"),
            ("SELECT '?' WHERE a = ?", "SELECT '?' WHERE a = $1"), ("LIMIT ?12)", "LIMIT $12)"), ("none", "none"),
        ])
        func statements(sql: String, said: String) {
            #expect(PostgresText.translated(sql) == said)
        }

        @Test func textsKeepTheirOrderAndComeBack() {
            let texts = [
                "", "\u{0}", "\u{0}\u{0}", "\u{0}a", "\u{1}", "\u{1}\u{0}", "\u{1}\u{1}", "\u{2}", "a", "a\u{0}",
                "a\u{1}", "é", "👤",
            ]
            let sorted = texts.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
            let encoded = sorted.map(PostgresText.encoded)
            for (left, right) in zip(encoded, encoded.dropFirst()) { #expect(left.lexicographicallyPrecedes(right)) }
            for (text, bytes) in zip(sorted, encoded) {
                #expect(!bytes.contains(0))
                #expect(bytes.withUnsafeBytes { PostgresText.decoded($0) } == text)
            }
        }

        @Test func theAddressIsShownWithoutThePassword() throws {
            let address = try PostgresAddress("postgres://gateway:secret@db.internal:6432/entitlements?sslmode=require")
            #expect(address.name == "postgres://gateway@db.internal:6432/entitlements")
            let error = #expect(throws: StorageError.self) { try PostgresAddress("postgres://a:secret@[::1/x?%%") }
            #expect(error?.description.contains("secret") == false)
        }

        @Test func whatIsToldToOthersIsCutToWhatTheServerTakes() {
            let rows = (0..<400).map {
                ChangedRow(user: person("user \($0) \u{1F464}"), environment: $0 % 2 == 0 ? .production : .sandbox)
            }
            let texts = PostgresNote.texts(rows, from: "me")
            #expect(texts.count > 1)
            #expect(texts.allSatisfy { $0.utf8.count < 8000 })
            let read = texts.compactMap { PostgresNote($0) }
            #expect(read.flatMap(\.changed) == rows)
            #expect(read.allSatisfy { $0.instance == "me" })
            #expect(PostgresNote.texts([], from: "me") == ["me"])
        }
    }
#endif

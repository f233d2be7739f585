package import Entitlements

/// A message to one receiver, as it waits.
package struct OutboxMessage: Hashable, Sendable {
    package var sequence: Int64
    package var receiver: String
    package var user: UserID
    package var messageID: String
    package var body: [UInt8]
    package var createdAt: UnixMillis
    package var attempts: Int
    /// When it was given up; nil while it waits.
    package var deadAt: UnixMillis?
    /// Why the last attempt failed.
    package var reason: String?

    package init(
        sequence: Int64,
        receiver: String,
        user: UserID,
        messageID: String,
        body: [UInt8],
        createdAt: UnixMillis,
        attempts: Int,
        deadAt: UnixMillis?,
        reason: String?
    ) {
        self.sequence = sequence
        self.receiver = receiver
        self.user = user
        self.messageID = messageID
        self.body = body
        self.createdAt = createdAt
        self.attempts = attempts
        self.deadAt = deadAt
        self.reason = reason
    }
}

/// What came of an attempt to send a message.
public struct OutboxReport: Sendable {
    package var sequence: Int64
    /// The message meant: its sequence number may be another's once it is gone.
    package var messageID: String
    package var receiver: String
    package var user: UserID
    /// Why it failed, and when to try again; nil when the receiver has it.
    package var failure: Failure?
    package var at: UnixMillis

    package struct Failure: Sendable {
        package var reason: String
        package var nextAt: UnixMillis

        package init(reason: String, nextAt: UnixMillis) {
            self.reason = reason
            self.nextAt = nextAt
        }
    }

    package init(_ message: OutboxMessage, failure: Failure?, at: UnixMillis) {
        sequence = message.sequence
        messageID = message.messageID
        receiver = message.receiver
        user = message.user
        self.failure = failure
        self.at = at
    }
}

/// How many messages wait and how many were given up, for one receiver.
package struct OutboxCount: Hashable, Sendable {
    package var receiver: String
    package var waiting: Int
    package var dead: Int

    package init(receiver: String, waiting: Int, dead: Int) {
        self.receiver = receiver
        self.waiting = waiting
        self.dead = dead
    }
}

/// Who wants to hear of changed answers in this process. Called on the writer's thread, after the commit.
package protocol ChangeListener: Sendable {
    /// Whether anybody waits for changes now.
    var isListening: Bool { get }
    func changed(_ changes: [AnswerChange])
    /// There are new messages in the outbox.
    func outboxGrew()
    /// Another program has changed rows; which, only the database tells.
    func othersWrote()
}

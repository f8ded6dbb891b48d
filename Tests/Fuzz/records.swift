// Wherry: fuzz target of Wherry's own files and messages; scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport
@testable import WherryBackground
@testable import WherryCache
@testable import WherryCore
@testable import WherryDownloads
@testable import WherryHTTP

private func entry() -> EntryFile? {
    let head = ResponseHead(
        status: 200, block: Bytes("Content-Type: text/plain\nETag: \"a\"\nVary: Accept\n"))
    guard let url = try? HTTPURL("http://h/") else { return nil }
    let arrived = ArrivedResponse(head: head, body: Bytes("body"), requestTime: 0, responseTime: 1)
    let request = CacheRequest(method: "GET", target: url, headers: Headers())
    guard let stored = arrived.stored(for: request, secret: VarySecret(key: [1, 2, 3])) else {
        return nil
    }
    return EntryFile(
        key: Array("GET http://h/".utf8), description: stored.description(), body: stored.body,
        storedAt: 1000)
}

private func journal() -> [UInt8]? {
    var facts = DownloadFacts()
    facts.total = 1 << 20
    facts.validator = .entityTag("\"v1\"")
    facts.expected = DownloadDigest(.sha256, Array(0..<32))
    return Journal.encode(
        JournalRecord(
            id: DownloadID(target: "/srv/a.bin"), owner: Array(0..<16), inode: 7, partSize: 4096,
            identity: DownloadIdentity(url: "http://h/a"), url: "http://h/a", name: "a.bin",
            facts: facts, ranges: ByteRanges([0..<4096, 8192..<9000])))
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    var seeds: [[UInt8]] = [
        FuzzInput.seed(2, #"{"list":true}"#), FuzzInput.seed(2, #"{"pause":"0a","session":"s"}"#),
        FuzzInput.seed(2, #"{"job":{"id":"0a","kind":0,"url":"http://h/","state":"active"}}"#),
        FuzzInput.seed(3, "#HttpOnly_.h.example\tTRUE\t/\tTRUE\t99999999999\ta\tb\n"),
    ]
    guard let pieces = entry()?.encoded(), let journal = journal() else {
        fatalError("There is nothing to begin with")
    }
    seeds.append([0] + pieces.flatMap { Array($0) })
    seeds.append([1] + journal.prefix(400))
    writeSeeds(seeds)
    return 0
}

/// Any bytes from a disk or another process: they are parsed or refused.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count) else { return 0 }
    switch input.choice & 3 {
    case 0: readEntry(input.bytes)
    case 1: readJournal(input.bytes)
    case 2: readMessages(input.bytes)
    default: readCookies(input.bytes)
    }
    return 0
}

/// The header of an entry is repaired, so that more than its checksums is tested.
private func readEntry(_ bytes: [UInt8]) {
    var bytes = bytes
    if bytes.count > 48, bytes.count % 8 != 0 {
        let headCount = min(bytes.count, 48 + Int(bytes[12]) + Int(bytes[13] & 3) << 8 + 200)
        bytes.replaceSubrange(0..<8, with: Array("WhrC".utf8) + [1, 0, 1, 0])
        put(UInt32(headCount), &bytes, at: 8)
        let bodyCount = bytes.count - headCount
        for place in 0..<8 {
            bytes[16 + place] = UInt8(truncatingIfNeeded: bodyCount >> (8 * place))
        }
        put(Checksum.of(Array(bytes[headCount...])), &bytes, at: 40)
        put(Checksum.of(Array(bytes[..<44] + bytes[48..<headCount])), &bytes, at: 44)
    }
    _ = EntryFile(head: bytes, fileSize: Int64(bytes.count))
    guard let file = EntryFile(Bytes(bytes)) else { return }
    if let again = file.encoded() {
        demand(
            EntryFile(Bytes(again.flatMap { Array($0) })) == file, "an entry reads back otherwise")
    }
    _ = HTTPCacheStore.lists(file.description)
    if let timed = TimedEntry(file) { _ = timed.refusal(at: 0, appVersion: nil) }
    guard let stored = StoredResponse(description: file.description, body: file.body) else {
        return
    }
    let again = StoredResponse(description: stored.description(), body: file.body)
    demand(again == stored, "a stored answer reads back otherwise")
    _ = (stored.head.fields, stored.entityTag, stored.isCoded)
    _ = stored.freshness.age(at: 1 << 40)
}

private func readJournal(_ bytes: [UInt8]) {
    var slot = Array(bytes.prefix(Journal.slotSize))
    slot += [UInt8](repeating: 0, count: Journal.slotSize - slot.count)
    if bytes.count % 8 != 0 {
        slot.replaceSubrange(0..<12, with: Array("WHRYJRNL".utf8) + [1, 0, 0, 0])
        put(0, &slot, at: 12)
        put(Checksum.of(slot), &slot, at: 12)
    }
    guard let record = try? Journal.decode(slot), let made = Journal.encode(record) else { return }
    do {
        var again = try Journal.decode(made)
        again.url = record.url  // cut if it is too long
        demand(again == record, "a journal reads back otherwise")
    } catch {
        fatalError("A journal of ours is \(error)")
    }
}

/// A message as text, and its bytes as part of a stream of messages.
private func readMessages(_ bytes: [UInt8]) {
    var reader = AgentFrames.Reader()
    reader.bytes = bytes
    while let message = try? reader.next() { read(message) }
    guard case .object(let json)? = try? JSON.parse(bytes) else { return }
    read(json)
    if let record = JobRecord(json), let text = try? record.text() {
        demand(JobRecord.parse(text) == record, "a record reads back otherwise")
    }
}

private func read(_ json: JSONObject) {
    if let request = AgentRequest(json) {
        demand(AgentRequest(request.json) == request, "a message reads back otherwise")
    }
    if let reply = AgentReply(json) {
        demand(AgentReply(reply.json) == reply, "an answer reads back otherwise")
    }
}

private func readCookies(_ bytes: [UInt8]) {
    let jar = CookieJar(clock: ManualClock())
    jar.load(bytes)
    for text in ["https://h.example/a", "http://www.h.example/"] {
        guard let url = try? HTTPURL(text), let field = jar.field(for: url) else { continue }
        demand(isFieldText(field), "the cookies \(field) would end the line")
    }
}

private func put(_ number: UInt32, _ bytes: inout [UInt8], at place: Int) {
    for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
}

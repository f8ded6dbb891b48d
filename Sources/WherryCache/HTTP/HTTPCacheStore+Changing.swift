// Wherry: storing and removing responses in the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension HTTPCacheStore {
    /// The changes of one outcome: their place and their number. Each adds one to the directory's
    /// counter.
    private struct Work {
        let place: Place
        let key: Key
        let askedAt: Int64
        let now: Int64
        let before: EntryStore.Stamp
        var count: Int64 = 0
        /// The stored responses by variant; `nil` once anything was removed.
        var stored: [String: StoredResponse]? = [:]
        var lists: [[String]] = []
    }

    private enum Stored {
        case done
        /// A later request has stored a newer response.
        case outdated
        case failed
    }

    /// Executes the changes that follow from the origin's response. On return the entries are on
    /// disk, and visible to all processes.
    ///
    /// Keeps a response that was stored since the request was sent, and is newer by its Date and
    /// its arrival (RFC 9111, section 4).
    ///
    /// - Parameter beginning: The ``moment(_:)`` before the request was sent. If responses of the
    ///   URL were removed since, by a clear or by an unsafe method, the new response may be
    ///   outdated: it is not stored, but the responses that it would replace are removed.
    /// - Returns: Whether everything to be stored is stored, or a newer response is.
    @discardableResult
    package func apply(
        _ outcome: CacheOutcome, key: Key, since beginning: EntryStore.Stamp? = nil, now: Int64
    ) -> Bool {
        let place = place(key)
        var moment = entries.clearings(of: place.folder)
        let isCurrent = beginning == nil || beginning == moment
        for url in outcome.invalidated {
            removeAll(url: url)
            // The response's own invalidations do not prevent storing it.
            if self.place(Key(url: url)).folder.slot == place.folder.slot { moment = moment.next }
        }
        var work = Work(
            place: place, key: key, askedAt: outcome.askedAt, now: now,
            before: entries.stamp(place.folder))
        var isDone = true
        for change in outcome.changes {
            switch change {
            case .store(let response):
                let result = isCurrent ? store(response, &work) : .failed
                let isKept = beginning == nil || entries.clearings(of: place.folder) == moment
                guard result == .failed || !isKept else { continue }
                for old in [response] + outcome.superseded { remove(old, &work) }
                isDone = false
            case .remove(let response): remove(response, &work)
            }
        }
        remember(work)
        return isDone
    }

    /// Puts the stored responses into memory, so that the next request need not read them, unless
    /// another client changed the directory in the meantime.
    private func remember(_ work: Work) {
        guard work.count > 0 else { return }
        guard let stored = work.stored, !stored.isEmpty else { return memory.remove(work.key) }
        let stamp = entries.stamp(work.place.folder)
        guard stamp.all == work.before.all, stamp.folder == work.before.folder &+ work.count else {
            return memory.remove(work.key)
        }
        var variants = stored
        if stored[""] == nil, let known = memory.value(work.key), known.stamp == work.before {
            variants.merge(known.variants.filter { !$0.key.isEmpty }) { new, _ in new }
        }
        let record = Record(
            work.place, stamp, lists: work.lists, variants: variants, at: work.now)
        memory.insert(record, for: work.key, cost: record.cost)
    }

    // MARK: Files

    private func write(_ entry: EntryFile, to name: String, _ work: inout Work) -> Bool {
        work.count += 1
        return entries.write(entry, to: name, in: work.place.folder)
    }

    private func take(_ name: String, _ work: inout Work) {
        work.count += 1
        work.stored = nil
        entries.remove(name, in: work.place.folder)
    }

    /// Reads a file of the key without its body.
    private func head(_ name: String, _ work: Work) -> EntryFile? {
        entries.head(name, in: work.place.folder).flatMap {
            $0.key == work.place.key ? $0 : nil
        }
    }

    /// Returns whether a file holds a newer response that arrived after the request for the given
    /// one was sent. A response stored before counts as older whatever its Date: the origin's clock
    /// may have been set back.
    private func isNewer(
        _ there: EntryFile?, than response: StoredResponse, _ work: Work
    ) -> Bool {
        guard let there, there.kind == .response,
            let time = StoredResponse(description: there.description, body: nil)?.freshness
        else { return false }
        // A response from the future, stored while the clock was ahead, would block all newer ones.
        return time.responseTime > work.askedAt
            && time.responseTime <= work.now.addingSaturating(Freshness.clockTolerance)
            && (time.date, time.responseTime)
                > (response.freshness.date, response.freshness.responseTime)
    }

    private func remove(_ response: StoredResponse, _ work: inout Work) {
        let name = work.place.name(of: Self.variant(response.selecting))
        guard let there = entries.head(name, in: work.place.folder) else {
            return take(name, &work)
        }
        // Keep the entry of another URL with the same digest.
        guard there.key == work.place.key, !isNewer(there, than: response, work) else { return }
        take(name, &work)
        let others = variantNames(work.place)
        if there.kind == .index {
            // Without the index they are unreachable, and a later index must not bring them back.
            for other in others { take(other, &work) }
        } else if name != work.place.name, others.isEmpty {
            take(work.place.name, &work)
        }
    }

    private func store(_ response: StoredResponse, _ work: inout Work) -> Stored {
        let variant = Self.variant(response.selecting)
        let name = work.place.name(of: variant)
        let first = head(work.place.name, work)
        let entry = EntryFile(
            key: work.place.key, description: response.description(), body: response.body,
            storedAt: work.now)
        if isNewer(first, than: response, work) { return .outdated }
        if variant.isEmpty {
            // No request will find the variants: the newer response fits all of them.
            let others = first?.kind == .index ? variantNames(work.place) : []
            if others.contains(where: { isNewer(head($0, work), than: response, work) }) {
                return .outdated
            }
            let isWritten = write(entry, to: name, &work)
            let stored = work.stored
            for other in others { take(other, &work) }
            guard isWritten else { return .failed }
            work.stored = stored == nil ? nil : [variant: response]
            work.lists = []
            return .done
        }
        if isNewer(head(name, work), than: response, work) { return .outdated }
        // Write the response before the index, so that the index never names a missing variant.
        guard write(entry, to: name, &work),
            enter(response.selecting.fields.map { $0.name }, first, &work)
        else {
            work.stored = nil
            return .failed
        }
        work.stored?[variant] = response
        work.stored?[""] = nil
        return .done
    }

    /// Adds a list of names to the index, unless it has the list.
    private func enter(_ list: [String], _ first: EntryFile?, _ work: inout Work) -> Bool {
        var lists: [[String]] = []
        if let first, first.kind == .index { lists = Self.lists(first.description) ?? [] }
        defer { work.lists = lists }
        if lists.contains(list) { return true }
        lists = [list] + lists.prefix(Self.mostLists - 1)
        var writer = BinaryWriter()
        writer.integer(UInt16(lists.count))
        for list in lists {
            writer.integer(UInt16(clamping: list.count))
            for name in list { writer.text(name) }
        }
        let index = EntryFile(
            .index, key: work.place.key, description: writer.bytes, storedAt: work.now)
        return write(index, to: work.place.name, &work)
    }

    // MARK: Removing

    /// Removes all responses of a URL with exactly this query, in every partition.
    ///
    /// - Returns: The number of responses.
    @discardableResult
    package func removeAll(url: String) -> Int {
        removeAll(stored: storedURL(url))
    }

    /// As above, for a URL that may come from a list of entries.
    @discardableResult
    package func removeAll(listed url: String) -> Int {
        removeAll(stored: storedURL(url, isListed: true))
    }

    private func removeAll(stored url: String) -> Int {
        let folder = place(Key(url: url, isListed: true)).folder
        // First, so that no response to an earlier request is stored afterwards.
        entries.noteClearing(of: folder)
        let count = remove(from: folder) { $0 == url }
        // Responses that a sweep removed from the disk may still be in another client's memory.
        entries.invalidate(folder)
        return count
    }

    /// Removes all responses of a URL without a query, whatever their query.
    ///
    /// - Returns: The number of responses.
    @discardableResult
    package func removeAll(path url: String) -> Int {
        entries.invalidateAll()
        let count = entries.folders(of: Self.text(url[...])).reduce(0) { count, folder in
            count + remove(from: folder) { Self.parts(of: $0).path == url }
        }
        entries.invalidateAll()
        return count
    }

    private func remove(from folder: EntryStore.Folder, _ isURL: (String) -> Bool) -> Int {
        entries.names(in: folder).reduce(0) { count, name in
            // Keep the entry of another URL with the same digest.
            guard let head = entries.head(name, in: folder), let url = Key.url(of: head.key),
                isURL(url)
            else { return count }
            return entries.remove(name, in: folder) && head.kind == .response
                ? count + 1 : count
        }
    }

    /// Deletes a listed response.
    ///
    /// - Returns: Whether it existed.
    package func remove(at place: String) -> Bool {
        guard let (found, name) = entries.parse(place), let head = entries.head(name, in: found),
            head.kind == .response, let (url, partition) = Key.parts(of: head.key)
        else { return false }
        let own = self.place(Key(url: url, partition: partition, isListed: true))
        guard own.folder.path == found.path, own.holdsKey(name) else { return false }
        entries.noteClearing(of: own.folder)
        let isGone = entries.remove(name, in: own.folder)
        // An index without variants is useless.
        if name != own.name, variantNames(own).isEmpty { entries.remove(own.name, in: own.folder) }
        return isGone
    }

    /// Removes all responses.
    ///
    /// - Returns: The number of responses.
    @discardableResult
    package func clear() -> Int {
        let count = usage().count
        entries.clear()
        memory.removeAll()
        return count
    }
}

// Wherry: how answers come into the HTTP cache, and go.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension HTTPCacheStore {
    /// The changes of one outcome: where they happen, and how many there have been, each of which
    /// adds one to the counter of the folder.
    private struct Work {
        let place: Place
        let key: Key
        let askedAt: Int64
        let now: Int64
        let before: EntryStore.Stamp
        var count: Int64 = 0
        /// What was stored, by variant; `nil` once anything was taken away.
        var stored: [String: StoredResponse]? = [:]
        var lists: [[String]] = []
    }

    private enum Stored {
        case done
        /// Somebody asked later, and has stored what is newer.
        case outdated
        case failed
    }

    /// Carries out what the origin's answer meant for the cache. The entries are on disk, for this
    /// and every other process, when this returns.
    ///
    /// What was stored since the origin was asked, and is newer by its Date and its arrival, stays
    /// (RFC 9111, section 4).
    ///
    /// - Parameter beginning: ``moment(_:)`` from before the origin was asked. If answers of the URL
    ///   were taken away since, by a clearing or by a method that changed it, nothing is stored: it
    ///   would be what was true before. What it would have replaced goes all the same.
    /// - Returns: whether everything that was to be stored is, or what is newer.
    @discardableResult
    package func apply(
        _ outcome: CacheOutcome, key: Key, since beginning: EntryStore.Stamp? = nil, now: Int64
    ) -> Bool {
        let place = place(key)
        var moment = entries.clearings(of: place.folder)
        let isCurrent = beginning == nil || beginning == moment
        for url in outcome.invalidated {
            removeAll(url: url)
            // What this very answer took away is no reason not to store it.
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

    /// Puts what was stored into memory, so that the next request need not read it back; unless
    /// somebody else changed the folder meanwhile.
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

    /// What is told of a file of the key, without its body.
    private func head(_ name: String, _ work: Work) -> EntryFile? {
        entries.head(name, in: work.place.folder).flatMap {
            $0.key == work.place.key ? $0 : nil
        }
    }

    /// Whether a file is an answer that came after the origin was asked for the one given, and is
    /// newer than that. What was there before is older whatever its Date: an origin's clock may
    /// have been set back.
    private func isNewer(
        _ there: EntryFile?, than response: StoredResponse, _ work: Work
    ) -> Bool {
        guard let there, there.kind == .response,
            let time = StoredResponse(description: there.description, body: nil)?.freshness
        else { return false }
        // One from the future, of a clock that was ahead, would keep every newer one out.
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
        // Another URL's, by a collision, stays.
        guard there.key == work.place.key, !isNewer(there, than: response, work) else { return }
        take(name, &work)
        let others = variantNames(work.place)
        if there.kind == .index {
            // Without it nobody finds them, and they must not come back with a later one.
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
            // No request finds the variants any more: the newer answer fits all of them.
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
        // The answer before the index, so that the index never names what is not there.
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

    /// Writes a list of names into the index, unless it is there.
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

    // MARK: Taking away

    /// Takes away whatever is stored under a URL with just that query, in every partition.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func removeAll(url: String) -> Int {
        removeAll(stored: storedURL(url))
    }

    /// The same for a URL that may come from a list of entries.
    @discardableResult
    package func removeAll(listed url: String) -> Int {
        removeAll(stored: storedURL(url, isListed: true))
    }

    private func removeAll(stored url: String) -> Int {
        let folder = place(Key(url: url, isListed: true)).folder
        // First, so that nobody stores afterwards what was asked for before.
        entries.noteClearing(of: folder)
        let count = remove(from: folder) { $0 == url }
        // What a sweep took from the disk may still be in somebody's memory.
        entries.invalidate(folder)
        return count
    }

    /// Takes away whatever is stored under a URL without a query, whatever the query of the answers.
    ///
    /// - Returns: how many answers.
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
            // Another URL's, by a collision, stays.
            guard let head = entries.head(name, in: folder), let url = Key.url(of: head.key),
                isURL(url)
            else { return count }
            return entries.remove(name, in: folder) && head.kind == .response
                ? count + 1 : count
        }
    }

    /// Deletes a listed response.
    ///
    /// - Returns: whether it was there.
    package func remove(at place: String) -> Bool {
        guard let (found, name) = entries.parse(place), let head = entries.head(name, in: found),
            head.kind == .response, let (url, partition) = Key.parts(of: head.key)
        else { return false }
        let own = self.place(Key(url: url, partition: partition, isListed: true))
        guard own.folder.path == found.path, own.holdsKey(name) else { return false }
        entries.noteClearing(of: own.folder)
        let isGone = entries.remove(name, in: own.folder)
        // An index without variants is of no use.
        if name != own.name, variantNames(own).isEmpty { entries.remove(own.name, in: own.folder) }
        return isGone
    }

    /// Takes everything away.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func clear() -> Int {
        let count = usage().count
        entries.clear()
        memory.removeAll()
        return count
    }
}

// Wherry: listing the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension HTTPCacheStore {
    /// A response without its body, and its place.
    package struct Listed: Sendable {
        package let place: String
        package let url: String
        package let response: StoredResponse
        /// The time of arrival.
        package let storedAt: Int64
        package let bodyBytes: Int64
    }

    /// Lists responses without bodies: all, those of a URL with a query, or those of a URL without
    /// one, whatever their query.
    ///
    /// - Parameter url: ``HTTPURL/cacheText``; `nil` for all.
    package func list(url: String? = nil) -> [Listed] {
        var found: [Listed] = []
        let url = url.map { storedURL($0, isListed: true) }
        func look(_ folder: EntryStore.Folder, _ name: String, _ head: EntryFile, _ size: Int64) {
            guard head.kind == .response, let own = Key.url(of: head.key),
                let response = StoredResponse(description: head.description, body: nil)
            else { return }
            if let url, own != url, Self.parts(of: own).path != url { return }
            found.append(
                Listed(
                    place: entries.place(of: name, in: folder), url: own, response: response,
                    storedAt: head.storedAt, bodyBytes: size - Int64(head.headCount)))
        }
        if let url {
            let (path, query) = Self.parts(of: url)
            let folders =
                query == nil
                ? entries.folders(of: Self.text(path))
                : [place(Key(url: url, isListed: true)).folder]
            for folder in folders {
                entries.forEach(in: folder) { name, head, size in look(folder, name, head, size) }
            }
        } else {
            entries.forEach { folder, name, head, size in
                look(folder, name, head, size)
                return true
            }
        }
        return found
    }

    /// Returns a listed response with its body; `nil` if it no longer exists.
    package func response(at place: String) -> (url: String, response: StoredResponse)? {
        guard let file = entries.entry(at: place), file.kind == .response,
            let url = Key.url(of: file.key),
            let response = StoredResponse(description: file.description, body: file.body)
        else { return nil }
        return (url, response)
    }

    /// Returns the number of responses, and the size of all files.
    package func usage() -> (count: Int, bytes: Int64) {
        var usage: (count: Int, bytes: Int64) = (0, 0)
        // The current directory. A file that has variants next to it is an index.
        var present = ""
        var firsts: Set<Substring> = []
        var varied: Set<Substring> = []
        func leave() {
            usage.count -= firsts.intersection(varied).count
            firsts = []
            varied = []
        }
        entries.forEachName { folder, name, size in
            if folder != present {
                leave()
                present = folder
            }
            usage.count += 1
            usage.bytes += size
            if let dot = name.firstIndex(of: ".") {
                varied.insert(name[..<dot])
            } else {
                firsts.insert(name[...])
            }
        }
        leave()
        return usage
    }
}

// Wherry: a Swift program whose Swift runtime is not the library's
// SPDX-License-Identifier: Apache-2.0
//
// usage: swift_child URL [LIBRARY]
//
// Loads LIBRARY; without it, the program is linked with the library. Uses generics, casts, weak references, errors, and tasks, before, during, and after requests.

import Glibc

private struct Failure: Error { let what: String }

private protocol Named { var name: String { get } }
private struct Item: Named, Hashable { let name: String }
private final class Node { weak var other: Node? }

/// Uses what the runtime registers and looks up by name.
private func useRuntime() async throws {
    let values: [Any] = [Item(name: "a"), 1, "text", [1: [Item(name: "b")]], Failure(what: "c")]
    let names = values.compactMap { ($0 as? any Named)?.name }
    guard names == ["a"] else { throw Failure(what: "casts: \(names)") }
    guard (values[3] as? [Int: [Item]])?[1]?.first?.name == "b" else {
        throw Failure(what: "generics")
    }
    guard String(describing: Item.self) == "Item" else { throw Failure(what: "names") }
    do { throw Failure(what: "thrown") } catch let error as Failure where error.what == "thrown" {}
    var node: Node? = Node()
    let other = Node()
    other.other = node
    node = nil
    guard other.other == nil else { throw Failure(what: "weak") }
    let sum = await withTaskGroup(of: Int.self) { group in
        for i in 0..<100 {
            group.addTask {
                await Task.yield(); return i
            }
        }
        return await group.reduce(0, +)
    }
    guard sum == 4950 else { throw Failure(what: "tasks: \(sum)") }
}

/// The functions of the library, called without its header.
private struct Library {
    typealias Handle = OpaquePointer?
    typealias New = @convention(c) (Handle, UnsafeMutablePointer<Handle>) -> Int32
    typealias NewRequest =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutablePointer<Handle>
        ) -> Int32
    typealias Perform = @convention(c) (Handle, Handle, UnsafeMutablePointer<Handle>) -> Int32
    typealias Code = @convention(c) (Handle) -> Int32

    let newClient: New
    let newRequest: NewRequest
    let perform: Perform
    let code: Code
    let free: [Code]

    init(_ path: String?) throws {
        guard let library = dlopen(path, RTLD_NOW) else {
            throw Failure(what: String(cString: dlerror()))
        }
        func find<F>(_ name: String, _: F.Type) throws -> F {
            guard let found = dlsym(library, "wherry_" + name) else { throw Failure(what: name) }
            return unsafeBitCast(found, to: F.self)
        }
        newClient = try find("client_new", New.self)
        newRequest = try find("request_new", NewRequest.self)
        perform = try find("client_perform", Perform.self)
        code = try find("response_http_code", Code.self)
        free = try ["client_free", "request_free", "response_free"].map { try find($0, Code.self) }
    }

    func get(_ url: String) throws {
        var client: Handle = nil
        var request: Handle = nil
        var response: Handle = nil
        guard newClient(nil, &client) == 0, newRequest("GET", url, &request) == 0,
            perform(client, request, &response) == 0, code(response) == 200,
            free[0](client) == 0, free[1](request) == 0, free[2](response) == 0
        else { throw Failure(what: "request") }
    }
}

@main
enum Program {
    static func main() async {
        let words = CommandLine.arguments
        do {
            guard words.count > 1 else { throw Failure(what: "no URL") }
            try await useRuntime()
            let library = try Library(words.count > 2 ? words[2] : nil)
            for _ in 0..<20 {
                try library.get(words[1])
                async let own: Void = useRuntime()
                try library.get(words[1])
                try await own
            }
        } catch {
            print(error)
            exit(3)
        }
    }
}

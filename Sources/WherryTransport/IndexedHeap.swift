// Wherry: a heap whose elements store their index.
// SPDX-License-Identifier: Apache-2.0

/// The order of a heap's elements, and where each element stores its index.
protocol HeapOrder {
    associatedtype Element: AnyObject
    static func precedes(_ a: Element, _ b: Element) -> Bool
    /// Accesses the index of an element, -1 outside of the heap. Used only by the heap.
    static func place(of element: Element) -> Int
    static func setPlace(of element: Element, _ place: Int)
}

/// A heap that removes its first element, or any other one, in logarithmic time.
struct IndexedHeap<Order: HeapOrder> {
    private(set) var members: [Order.Element] = []

    var isEmpty: Bool { members.isEmpty }
    var first: Order.Element? { members.first }

    func contains(_ element: Order.Element) -> Bool { Order.place(of: element) >= 0 }

    mutating func insert(_ element: Order.Element) {
        Order.setPlace(of: element, members.count)
        members.append(element)
        rise(members.count - 1)
    }

    /// Removes an element. No effect if it is not in the heap.
    mutating func remove(_ element: Order.Element) {
        let place = Order.place(of: element)
        guard place >= 0 else { return }
        Order.setPlace(of: element, -1)
        let last = members.removeLast()
        guard last !== element else { return }
        members[place] = last
        Order.setPlace(of: last, place)
        update(last)
    }

    /// Restores the heap after the order of an element changed.
    mutating func update(_ element: Order.Element) {
        rise(Order.place(of: element))
        sink(Order.place(of: element))
    }

    /// Removes and returns all elements, unordered.
    mutating func removeAll() -> [Order.Element] {
        let all = members
        for element in all { Order.setPlace(of: element, -1) }
        members = []
        return all
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard Order.precedes(members[index], members[parent]) else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            let child = 2 * index + 1
            if child < members.count, Order.precedes(members[child], members[least]) {
                least = child
            }
            if child + 1 < members.count, Order.precedes(members[child + 1], members[least]) {
                least = child + 1
            }
            guard least != index else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        members.swapAt(a, b)
        Order.setPlace(of: members[a], a)
        Order.setPlace(of: members[b], b)
    }
}

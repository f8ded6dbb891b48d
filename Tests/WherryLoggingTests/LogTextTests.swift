// Wherry: tests of the text formats of log records
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryLogging

@Suite struct LogTextTests {
    private var record: LogRecord {
        var record = LogRecord(
            .info, .started, at: 0.5,
            [.everybody("a\r\nb"), .brief("short"), .debug("complete")])
        record.transferID = 7
        return record
    }

    @Test("a sink gets the lines of its level, without control characters")
    func levels() {
        #expect(record.told(at: .info).text == "a\\r\\nb\nshort")
        #expect(record.told(at: .debug).text == "a\\r\\nb\ncomplete")
    }

    @Test("a file has the time and the level on every line")
    func dated() {
        let start = "1970-01-01T00:00:00.500Z info #7: =========== "
        #expect(LogText.dated(record.told(at: .info)) == "\(start)a\\r\\nb\n\(start)short\n")
    }

    @Test("a record in JSON has no missing values")
    func json() {
        #expect(
            LogText.json(LogRecord(.warning, .warned, at: -1, [])) == """
                {"time":"1970-01-01T00:00:00.000Z","level":"warning","event":"warned","text":""}

                """)
    }
}

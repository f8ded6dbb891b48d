// Wherry: media types of file names.
// SPDX-License-Identifier: Apache-2.0

/// Media types by file name extension. The same on every machine, because no system table is read.
package enum FileTypes {
    /// The media type of arbitrary bytes.
    package static let unknown = "application/octet-stream"

    /// Returns the media type of a name or path by its last extension (case-insensitive);
    /// `application/octet-stream` if the extension is unknown or missing.
    ///
    /// A leading dot starts no extension: `.png` is a hidden file without one.
    package static func type(of path: String) -> String {
        let name = self.name(of: path)
        guard let dot = name.utf8.lastIndex(of: 0x2E), dot > name.utf8.startIndex else {
            return unknown
        }
        let ending = name[name.utf8.index(after: dot)...]
        guard ending.utf8.count <= 8 else { return unknown }
        return types[String(ending).lowercased()] ?? unknown
    }

    /// Returns the last component of a path.
    package static func name(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: 0x2F) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    private static let types: [String: String] = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac",
        "apk": "application/vnd.android.package-archive",
        "avi": "video/x-msvideo", "avif": "image/avif", "bin": "application/octet-stream",
        "bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css", "csv": "text/csv",
        "deb": "application/vnd.debian.binary-package", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif",
        "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif", "htm": "text/html",
        "html": "text/html", "ico": "image/vnd.microsoft.icon", "ics": "text/calendar",
        "jar": "application/java-archive", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "jxl": "image/jxl",
        "m4a": "audio/mp4", "m4v": "video/mp4", "md": "text/markdown", "mid": "audio/midi",
        "mjs": "text/javascript", "mkv": "video/x-matroska", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "odt": "application/vnd.oasis.opendocument.text", "oga": "audio/ogg", "ogg": "audio/ogg",
        "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf", "pdf": "application/pdf",
        "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rar": "application/vnd.rar", "rtf": "application/rtf", "svg": "image/svg+xml",
        "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff", "ttf": "font/ttf",
        "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav",
        "weba": "audio/webm", "webm": "video/webm", "webp": "image/webp", "woff": "font/woff",
        "woff2": "font/woff2", "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml", "xz": "application/x-xz", "yaml": "application/yaml",
        "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}

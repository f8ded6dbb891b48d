// Wherry: previews of running image loads.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryImaging
import WherrySystem
import WherryTransport

extension ImageLoadTable {
    /// Copies the new part of a body for the decoders that need it. Called on the transport's thread,
    /// which decodes nothing.
    func bodyDidGrow(_ load: ImageLoad, _ exchange: Exchange, attempt: Int) {
        let actions = handle(
            load, .preview(.grew(attempt: attempt, count: exchange.collectedCount)))
        // Targets that began together share the bytes.
        var copies: [Int: Bytes] = [:]
        for case .preview(.copy(let track, let offset)) in actions {
            guard let bytes = copies[offset] ?? exchange.collected(from: offset) else {
                feed(load, .preview(.lost(track)))
                continue
            }
            copies[offset] = bytes
            // Add the bytes before the machine knows of them: a step that takes them too early finds
            // nothing later, and a step that takes them too late would not follow.
            self.track(track, of: load, creates: true)?.add(bytes)
            feed(load, .preview(.copied(track)))
        }
        perform(actions, of: load)
    }

    /// Carries out an action of the preview machine.
    func perform(_ action: PreviewMachine.Action, of load: ImageLoad) {
        switch action {
        case .copy, .decode, .deliver: break  // by the caller that reported the event
        case .submit(let track):
            guard let client = leader(of: load)?.client else { return }
            client.workers.submit { [self] in step(track, load, client) }
        case .release(let track):
            let released = withTracks(of: load) { $0.removeValue(forKey: track) }
            withExtendedLifetime(released) {}
        }
    }

    /// Decodes on the calling thread, unless all loads that wanted the preview have ended.
    private func step(_ track: PreviewMachine.Track, _ load: ImageLoad, _ client: Client) {
        guard handle(load, .preview(.ready(track))).contains(.preview(.decode(track))),
            let decoder = self.track(track, of: load, creates: false)
        else { return }
        var preview: DecodedPreview?
        var outcome = PreviewMachine.Outcome.none
        do throws(ImagingError) {
            preview = try decoder.decode()
            outcome = preview != nil ? .preview : decoder.isEnded ? .stopped : .none
        } catch {
            // If the image is damaged, the load fails with its own error.
            outcome = .stopped
            client.note(.debug, .warned, [.everybody("Image previews end:\(error.message)")]) {
                $0.reason = error.reason
            }
        }
        var actions = handle(load, .preview(.decoded(track, outcome)))
        if let preview, actions.contains(.preview(.deliver(track.target))) {
            for member in members(of: load)
            where member.wantsPreviews && member.target == track.target {
                member.emit(.preview(preview))
            }
            actions += handle(load, .preview(.delivered(track)))
        }
        perform(actions, of: load)
    }

    private func track(
        _ track: PreviewMachine.Track, of load: ImageLoad, creates: Bool
    ) -> PreviewTrack? {
        withTracks(of: load) { tracks in
            if let known = tracks[track] { return known }
            guard creates else { return nil }
            let new = PreviewTrack(track.target)
            tracks[track] = new
            return new
        }
    }
}

import type { ClientCodec, WireFormat } from '../../formats/wire-format.ts'
import type { PresetTarget } from './preset.ts'

/** A format clients may use to request text. */
export interface ClientFormat {
  /** The name in records. */
  name: string
  task: 'text'
  /** Merges a preset into a body. */
  presetTarget: PresetTarget
  requestCodec: ClientCodec
  /** Usually the same codec, but some clients send one format and expect another. */
  replyCodec: ClientCodec
  /** Upstreams of this wire format can be sent the body, and the client their reply, unchanged. */
  wireFormat: WireFormat | null
}

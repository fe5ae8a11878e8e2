import type { KeyContext } from '../../app/account-cache.ts'
import type { ModelCall } from '../../call/call.ts'
import type { DataRegion } from '../../catalogue/vocabulary.ts'
import type { Statement } from '../../db/batch.ts'
import type { ClientCodec, Dialect } from '../../dialects/dialect.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import type { Caller } from './authenticate.ts'
import type { RequestOptions } from './options.ts'
import type { PresetTarget } from './preset.ts'

/** What an operation hands over: a body that its schema accepts, and the formats it is in. */
export interface IncomingRequest {
  caller: Caller
  region: DataRegion
  httpRequest: Request
  body: JsonObject
  /** What the client sent, and what it was parsed into, before anything was added. */
  source: Source
  format: ClientFormat
  /** Its id, where that was told before it was begun. */
  id?: string
  /** Called when it is admitted: what goes wrong from then on is part of the reply. */
  onAdmitted?: () => void
  /** Written together with the charge: `reply` is the answer in the client's format. */
  store?: (reply: JsonObject) => Promise<Statement[]>
}

export interface Source {
  text: string
  body: JsonObject
  /** JSON values in the text. */
  values: number
}

/** Each stage takes milliseconds: between two of them other requests should have a turn. */
export function isLarge({ text, values }: Pick<Source, 'text' | 'values'>): boolean {
  return values > largeValueCount || text.length > largeTextLength
}

const largeValueCount = 5000
const largeTextLength = 1024 * 1024

/** A format clients may use. */
export interface ClientFormat {
  /** Its name in records. */
  name: string
  /** How a preset goes into its bodies. */
  presetTarget: PresetTarget
  /** Reads the body. */
  requestCodec: ClientCodec
  /** Writes the answer: as a rule the same side, but some clients mix two formats. */
  replyCodec: ClientCodec
  /** The dialect whose upstreams may be given the body, and the client their answer, as they are. */
  dialect: Dialect | null
}

/** A request, read: what every stage works from. */
export interface InferenceRequest extends IncomingRequest {
  keyContext: KeyContext
  call: ModelCall
  options: RequestOptions
  presetId: string | null
  /** What is asked and answered is kept, for its workspace to read. */
  logsContent: boolean
  /** The id of the generation. */
  id: string
  /** When it arrived: milliseconds of the wall clock, and of the steady one. */
  at: number
  startedAt: number
}

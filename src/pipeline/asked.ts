import type { Call } from '../call/call.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { Statement } from '../db/batch.ts'
import type { ClientSide, Dialect } from '../dialects/dialect.ts'
import type { JsonObject } from '../lib/loose.ts'
import type { Standing } from '../memory.ts'
import type { Caller } from './authenticate.ts'
import type { PresetTarget } from './preset.ts'
import type { Wishes } from './wishes.ts'

/** What an operation hands over: a body that its schema accepts, and the formats it is in. */
export interface Question {
  caller: Caller
  region: DataRegion
  request: Request
  body: JsonObject
  /** What the client sent, and what it was parsed into, before anything was added. */
  source: Source
  format: Format
  /** Its id, where that was told before it was begun. */
  id?: string
  /** Called when it is admitted: what goes wrong from then on is part of the reply. */
  admitted?: () => void
  /** Written together with the charge: `reply` is the answer in the client's format. */
  keep?: (reply: JsonObject) => Promise<Statement[]>
}

export interface Source {
  text: string
  body: JsonObject
  /** JSON values in the text. */
  values: number
}

/** Each stage takes milliseconds: between two of them other requests should have a turn. */
export function isLarge({ text, values }: Pick<Source, 'text' | 'values'>): boolean {
  return values > manyValues || text.length > longText
}

const manyValues = 5000
const longText = 1024 * 1024

/** A format clients may use. */
export interface Format {
  /** Its name in records. */
  name: string
  /** How a preset goes into its bodies. */
  presets: PresetTarget
  /** Reads the body. */
  reads: ClientSide
  /** Writes the answer: as a rule the same side, but some clients mix two formats. */
  writes: ClientSide
  /** The dialect whose upstreams may be given the body, and the client their answer, as they are. */
  dialect: Dialect | null
}

/** A request, read: what every stage works from. */
export interface Asked extends Question {
  standing: Standing
  call: Call
  wishes: Wishes
  presetId: string | null
  /** What is asked and answered is kept, for its workspace to read. */
  keepsContent: boolean
  /** The id of the generation. */
  id: string
  /** When it arrived: milliseconds of the wall clock, and of the steady one. */
  at: number
  startedAt: number
}

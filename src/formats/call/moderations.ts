import type { JsonObject } from '../../platform/json/json-values.ts'
import type { BilledUnits } from './units.ts'
import type { Usage } from './usage.ts'

/** A request to classify content, in the gateway's internal form. */
export interface ModerationsCall {
  /** A text, texts, or parts of one content, as the client sent them. */
  input: unknown
  /** The texts of the input. */
  texts: string[]
  /** The number of results. */
  count: number
  /** Fields outside this form. */
  extra: JsonObject
}

export interface ModerationsReply {
  /** One for each text, or one for all parts; categories as the model names them. */
  results: JsonObject[]
  usage: Usage | null
  units: readonly BilledUnits[]
}

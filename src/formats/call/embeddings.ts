import type { JsonObject } from '../../platform/json/json-values.ts'
import type { InputPart, TextPart } from './part.ts'
import type { BilledUnits } from './units.ts'
import type { Usage } from './usage.ts'

/** A request for embeddings in the gateway's internal form. */
export interface EmbeddingsCall {
  /** The inputs, at least one. */
  inputs: EmbeddingInput[]
  dimensions?: number
  encoding: VectorEncoding
  /** The purpose of the embeddings, such as `search_query`; any text. */
  inputType?: string
  /** The client's identifier of its end user. */
  user?: string
  /** Fields outside this form; they reach only upstreams of the client's format. */
  extra: JsonObject
}

/** `base64`: float32 numbers, little-endian. */
export type VectorEncoding = 'float' | 'base64'

/** The input of one embedding. */
export type EmbeddingInput =
  | { kind: 'text'; text: string }
  | { kind: 'tokens'; tokens: number[] }
  | { kind: 'parts'; parts: EmbeddingPart[] }

export type EmbeddingPart = TextPart | Extract<InputPart, { kind: 'image' | 'audio' | 'video' | 'file' }>

/** The parts of an input; a list of tokens has none. */
export function partsOf(input: EmbeddingInput): EmbeddingPart[] {
  return input.kind === 'text' ? [input] : input.kind === 'parts' ? input.parts : []
}

/** An embedding for each input, in order. */
export interface EmbeddingsReply {
  /** JSON texts in the requested encoding: a list of numbers, or a string. */
  vectors: string[]
  usage: Usage | null
  units: readonly BilledUnits[]
}

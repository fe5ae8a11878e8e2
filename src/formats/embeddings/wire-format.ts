import type { EmbeddingInput, EmbeddingPart, EmbeddingsCall, EmbeddingsReply } from '../call/embeddings.ts'
import type { JsonMediaWireFormat } from '../media.ts'
import { asVector, type Vector } from './vector.ts'

/** A reply whose vectors are as the upstream sent them. */
export interface DecodedEmbeddings extends Omit<EmbeddingsReply, 'vectors'> {
  vectors: Vector[]
}

export type InputKind = Exclude<EmbeddingInput['kind'], 'parts'> | EmbeddingPart['kind']

/** A wire format for embeddings. Lists of numbers in the body of a reply are `NumberList`s. */
export interface EmbeddingsWireFormat extends JsonMediaWireFormat<EmbeddingsCall, DecodedEmbeddings> {
  /** Kinds of content that an input may be or contain. */
  accepts: readonly InputKind[]
}

/** Null unless every value is a vector. */
export function collectVectors(values: readonly unknown[]): Vector[] | null {
  const vectors: Vector[] = []
  for (const value of values) {
    const vector = asVector(value)
    if (vector === undefined) return null
    vectors.push(vector)
  }
  return vectors
}

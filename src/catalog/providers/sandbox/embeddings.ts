import {
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsCall,
  type EmbeddingsReply,
  partsOf,
} from '../../../formats/call/embeddings.ts'
import { type Usage, zeroUsage } from '../../../formats/call/usage.ts'
import { encodeVector } from '../../../formats/embeddings/vector.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { TimeSlicer } from '../../../platform/time/time-slicer.ts'
import type { MediaSimulator } from '../simulation.ts'
import { embedText, maxDimensions } from './artifacts/vectors.ts'
import { buildFailure, readDirectives } from './directives.ts'
import { computePromptUsage } from './tokens.ts'

const defaultDimensions = 1536

/** Texts with words in common have similar vectors; what is not text is embedded by its hash. */
export const simulateEmbeddings: MediaSimulator<EmbeddingsCall, EmbeddingsReply> = async (
  call,
  _model,
  { sleep, signal },
) => {
  const texts = call.inputs.map(toText)
  const { directives } = readDirectives(texts.join('\n'))
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  const failure = buildFailure(directives) ?? findFailure(call) ?? (directives.empty && emptyFailure)
  if (failure) return { failure }
  const vectors: string[] = []
  // Of all texts together: each alone may be too short to yield.
  const slicer = new TimeSlicer()
  for (const text of texts) {
    for (let turn = slicer.pendingYield; turn; turn = slicer.pendingYield) await turn
    signal.throwIfAborted()
    const startedAt = performance.now()
    const numbers = await embedText(readDirectives(text).rest, call.dimensions ?? defaultDimensions)
    vectors.push(encodeVector(numbers, call.encoding))
    slicer.recordWork(startedAt)
  }
  return { reply: { vectors, usage: directives.noUsage ? null : countUsage(call), units: [] } }
}

const emptyFailure = {
  kind: 'provider_unavailable',
  status: null,
  message: 'The sandbox was directed to send no embeddings.',
} as const

function findFailure({ dimensions = 1 }: EmbeddingsCall) {
  if (dimensions <= maxDimensions) return undefined
  const message = `dimensions: must be at most ${maxDimensions}.`
  return { kind: 'invalid_request', status: 400, message, code: 'sandbox_invalid_request' } as const
}

function toText(input: EmbeddingInput): string {
  if (input.kind === 'tokens') return input.tokens.join(' ')
  return partsOf(input).map(describePart).join(' ')
}

function describePart(part: EmbeddingPart): string {
  return part.kind === 'text' ? part.text : `${part.kind} ${sha256(JSON.stringify(part))}`
}

function countUsage({ inputs }: EmbeddingsCall): Usage {
  const messages = inputs.map((input) => ({ role: 'user' as const, parts: partsOf(input) }))
  const usage = computePromptUsage({ messages, stream: false, unknown: [] })
  for (const input of inputs) if (input.kind === 'tokens') usage.input += input.tokens.length
  return { ...zeroUsage, ...usage }
}

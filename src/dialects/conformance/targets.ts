import type { ModelCall } from '../../call/call.ts'
import type { ReasoningFormat } from '../../call/part.ts'
import { type GenerateDialect, serviceTiers } from '../../catalogue/vocabulary.ts'
import type { Target } from '../dialect.ts'

/** Whose signatures the best known upstream of each format understands. */
export const nativeSignatures: Record<GenerateDialect, ReasoningFormat> = {
  chat: 'unknown',
  messages: 'vendor_a-v1',
  responses: 'vendor_b-responses-v1',
  gemini: 'vendor_c-v1',
}

/** The format in which a vendor signs its thinking. */
export const nativeDialects: Partial<Record<ReasoningFormat, GenerateDialect>> = {
  'vendor_a-v1': 'messages',
  'vendor_b-responses-v1': 'responses',
  'vendor_d-responses-v1': 'responses',
  'vendor_c-v1': 'gemini',
}

/** Where a request for a tier is routed to; nobody who speaks Messages has lanes to choose from. */
export function resolveTierTarget(
  dialect: GenerateDialect,
  { serviceTier }: ModelCall,
): Pick<Target, 'tier'> {
  const tier = dialect === 'messages' ? undefined : serviceTiers.find((known) => known === serviceTier)
  return { tier: tier ?? null }
}

/** An upstream that knows every word of its format, and a model that reasons. */
export function createTarget(dialect: GenerateDialect, changes: Partial<Target> = {}): Target {
  return {
    model: 'upstream-model',
    stream: false,
    maxOutputTokens: 8192,
    reasoning: { efforts: null, budget: dialect === 'messages' || dialect === 'gemini' },
    signatureFormat: nativeSignatures[dialect],
    reasoningHistory: { field: 'reasoning_content' },
    unsupportedFields: new Set(),
    capabilities: new Set(['developer_role', 'max_completion_tokens', 'stream_usage']),
    reasoningMode: null,
    tier: null,
    ...changes,
  }
}

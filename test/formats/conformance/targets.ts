import type { ModelCall } from '../../../src/formats/call/call.ts'
import type { ReasoningFormat } from '../../../src/formats/call/part.ts'
import { type GenerateWireFormat, serviceTiers } from '../../../src/formats/vocabulary.ts'
import type { Target } from '../../../src/formats/wire-format.ts'

/** The signature format of the main vendor of each wire format. */
export const nativeSignatures: Record<GenerateWireFormat, ReasoningFormat> = {
  chat: 'unknown',
  messages: 'vendor_a-v1',
  responses: 'vendor_b-responses-v1',
  gemini: 'vendor_c-v1',
}

/** The wire format in which each vendor sends signatures. */
export const nativeWireFormats: Partial<Record<ReasoningFormat, GenerateWireFormat>> = {
  'vendor_a-v1': 'messages',
  'vendor_b-responses-v1': 'responses',
  'vendor_d-responses-v1': 'responses',
  'vendor_c-v1': 'gemini',
}

/** The tier that a request is routed to; upstreams of Messages have no selectable tiers. */
export function resolveTierTarget(
  wireFormat: GenerateWireFormat,
  { serviceTier }: ModelCall,
): Pick<Target, 'tier'> {
  const tier = wireFormat === 'messages' ? undefined : serviceTiers.find((known) => known === serviceTier)
  return { tier: tier ?? null }
}

/** An upstream that supports every field of its format, with a reasoning model. */
export function createTarget(wireFormat: GenerateWireFormat, changes: Partial<Target> = {}): Target {
  return {
    model: 'upstream-model',
    stream: false,
    maxOutputTokens: 8192,
    reasoning: { efforts: null, budget: wireFormat === 'messages' || wireFormat === 'gemini' },
    signatureFormat: nativeSignatures[wireFormat],
    reasoningHistory: { field: 'reasoning_content' },
    unsupportedFields: new Set(),
    capabilities: new Set(['developer_role', 'max_completion_tokens', 'stream_usage']),
    reasoningMode: null,
    tier: null,
    ...changes,
  }
}

import { type ReasoningFormat, reasoningFormats } from './call/part.ts'

/** The names in the published SDKs; several SDKs discard an entry with an unknown format. */
const sdkFormatNames: Record<ReasoningFormat, string> = {
  unknown: 'unknown',
  'vendor_b-responses-v1': 'openai-responses-v1',
  'azure-vendor_b-responses-v1': 'azure-openai-responses-v1',
  'bedrock-vendor_b-responses-v1': 'bedrock-openai-responses-v1',
  'vendor_d-responses-v1': 'xai-responses-v1',
  'bedrock-vendor_d-responses-v1': 'bedrock-xai-responses-v1',
  'meta-responses-v1': 'meta-responses-v1',
  'vendor_a-v1': 'anthropic-claude-v1',
  'vendor_c-v1': 'google-gemini-v1',
}

/** The set of names of reasoning formats that a client receives. */
export type FormatNames = 'sdk' | 'neutral'

export function encodeReasoningFormat(format: ReasoningFormat, names: FormatNames = 'sdk'): string {
  return names === 'neutral' ? format : sdkFormatNames[format]
}

/** Accepts either name; undefined for an unknown format. */
export function decodeReasoningFormat(name: unknown): ReasoningFormat | undefined {
  return reasoningFormats.find((format) => format === name || sdkFormatNames[format] === name)
}

import { type ReasoningFormat, reasoningFormats } from '../call/part.ts'
import { textOf } from '../lib/loose.ts'

/** The formats under the names that clients of other gateways know. */
const aliases = new Map<string, ReasoningFormat>([
  ['anthropic-claude-v1', 'vendor_a-v1'],
  ['openai-responses-v1', 'vendor_b-responses-v1'],
  ['google-gemini-v1', 'vendor_c-v1'],
  ['xai-responses-v1', 'vendor_d-responses-v1'],
])

/** The format a client names; undefined when it names none that is known. */
export function reasoningFormatOf(name: unknown): ReasoningFormat | undefined {
  return reasoningFormats.find((known) => known === name) ?? aliases.get(textOf(name) ?? '')
}

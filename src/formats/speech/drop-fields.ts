import type { SpeechCapabilities } from '../../catalog/model.ts'
import type { SpeechCall } from '../call/speech.ts'
import { Losses } from '../fields.ts'
import type { SpeechField } from '../vocabulary.ts'

/** The call without what the endpoint or its format (`lacking`) does not support, and the names of what was dropped. */
export function dropFields(
  call: SpeechCall,
  speech: SpeechCapabilities | null | undefined,
  lacking: readonly SpeechField[] = [],
): { supported: SpeechCall; dropped: string[] } {
  const losses = new Losses()
  const supported = { ...call }
  for (const name of call.unknown) losses.add(name)
  for (const field of [...lacking, ...(speech?.unsupported_fields ?? [])]) {
    if (supported[field] === undefined) continue
    losses.add(field)
    delete supported[field]
  }
  return { supported, dropped: losses.list() }
}

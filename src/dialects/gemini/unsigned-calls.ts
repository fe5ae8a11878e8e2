import { type JsonObject, objectOf } from '../../lib/loose.ts'
import { field, listOf } from './names.ts'

/** The word the vendor documents for calls that another model made, in place of a signature. */
const excuse = 'skip_thought_signature_validator'

/**
 * Models that think in levels refuse a turn in which the first call of a step bears no signature. Only the
 * turn that is going on is looked at: it begins after the last thing a user said.
 */
export function excuseUnsigned(contents: unknown[]): unknown[] {
  const begin = contents.findLastIndex((entry) => {
    const content = objectOf(entry)
    if (content?.role === 'model') return false
    return listOf(content?.parts).some(
      (part) => field(objectOf(part) ?? {}, 'functionResponse') === undefined,
    )
  })
  return contents.map((entry, at) => {
    const content = objectOf(entry)
    return content?.role === 'model' && at > begin ? excused(content) : entry
  })
}

function excused(content: JsonObject): JsonObject {
  const parts = listOf(content.parts)
  const first = parts.findIndex((part) => field(objectOf(part) ?? {}, 'functionCall') !== undefined)
  const call = objectOf(parts[first])
  if (!call || field(call, 'thoughtSignature') !== undefined) return content
  return { ...content, parts: parts.with(first, { ...call, thoughtSignature: excuse }) }
}

import { asBoolean, asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModerationsCall, ModerationsReply } from '../call/moderations.ts'
import { decodeError } from '../chat/error.ts'
import { decodeUsage, findUsage } from '../chat/usage.ts'
import type { JsonMediaWireFormat, MediaReplyContext } from '../media.ts'

/** The OpenAI format, for clients and upstreams. */
export const openaiModerations: JsonMediaWireFormat<ModerationsCall, ModerationsReply> = {
  name: 'moderations',
  defaults: { headers: {} },
  encodeRequest: ({ input, extra }, { model }) => ({
    path: '/moderations',
    headers: {},
    body: { ...extra, model, input },
    dropped: [],
  }),
  decodeReply,
  decodeError,
}

/** `{results: [{flagged, categories, category_scores}]}`; most vendors report no usage. */
function decodeReply(body: JsonObject, { count }: ModerationsCall): ModerationsReply | null {
  const results = asObjects(body.results)
  const isComplete =
    results.length === count && results.every(({ flagged }) => asBoolean(flagged) !== undefined)
  const usage = findUsage(body)
  return isComplete ? { results, usage: usage ? decodeUsage(usage) : null, units: [] } : null
}

export function encodeModerations(
  { results }: ModerationsReply,
  { id, model, metadata }: MediaReplyContext,
): JsonObject {
  return { id, model, results, ...(metadata && { service_metadata: metadata }) }
}

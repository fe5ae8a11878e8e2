import { simulators } from '../../catalog/providers/simulators.ts'
import type { ModerationsCall, ModerationsReply } from '../../formats/call/moderations.ts'
import type { JsonMediaWireFormat } from '../../formats/media.ts'
import { openaiModerations } from '../../formats/moderations/openai.ts'
import { moderationsRequest } from '../../formats/moderations/schema.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { receiveJson } from './receive.ts'
import { simulateMedia } from './simulation.ts'
import type { MediaTask } from './task.ts'

export const moderationsTask: MediaTask<
  ModerationsCall,
  JsonMediaWireFormat<ModerationsCall, ModerationsReply>,
  ModerationsReply
> = {
  name: 'moderations',
  fields: describeBodyFields(moderationsRequest.shape),
  wireFormats: { moderations: openaiModerations },
  receive: receiveJson,
  simulate: (gateway, exchange, call, endpoint) =>
    simulateMedia(simulators.get(endpoint.provider.slug)?.moderations, gateway, exchange, call, endpoint),
}

/** Clients may leave the model out: then it is the configured one, or the first of a real provider. */
export function withModerationModel({ catalog, settings }: Gateway, body: JsonObject): JsonObject {
  if (body.model !== undefined) return body
  if (settings.moderation.model !== null) return { ...body, model: settings.moderation.model }
  const model = catalog.models.find(({ callable }) =>
    callable.some(({ wireFormats, provider }) => wireFormats.includes('moderations') && !provider.inProcess),
  )
  if (model) return { ...body, model: model.id }
  throw gatewayError(
    'not_offered',
    'No moderation model is configured. Declare a model in headgate.yaml with an endpoint that has `dialects: [moderations]`.',
  )
}

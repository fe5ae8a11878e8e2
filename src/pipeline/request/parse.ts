import type { Gateway } from '../../app/gateway.ts'
import { newTimeOrderedHex } from '../../lib/ids.ts'
import { shouldLogContent } from '../settlement/content-log.ts'
import { RequestContent } from './content.ts'
import type { IncomingRequest, InferenceRequest } from './inference-request.ts'
import { parseOptions } from './options.ts'
import { expandPreset } from './preset.ts'

export function newGenerationId(): string {
  return `gen-${newTimeOrderedHex()}`
}

/** Expands the preset, decodes the body and adds the context of the caller's key. */
export async function parseRequest(gateway: Gateway, incoming: IncomingRequest): Promise<InferenceRequest> {
  const { caller, format, httpRequest } = incoming
  const startedAt = performance.now()
  const loading = gateway.accounts.findContext(caller.key)
  const keyContext = loading instanceof Promise ? await loading : loading
  const expanding = expandPreset(gateway, caller.organizationId, format.presetTarget, incoming.body)
  const { body, presetId } = expanding instanceof Promise ? await expanding : expanding
  const id = incoming.id ?? newGenerationId()
  const { body: _body, source, ...rest } = incoming
  return {
    ...rest,
    presetId,
    keyContext,
    content: RequestContent.parse(format, body, source),
    options: parseOptions(body, httpRequest.headers, keyContext.defaultModel),
    logsContent: shouldLogContent(keyContext.logging, { id, keyId: caller.key.id, region: incoming.region }),
    id,
    at: gateway.clock.now(),
    startedAt,
    replyTransforms: [],
    replyObservers: [],
    onSettled: [],
    replyHeaders: {},
  }
}

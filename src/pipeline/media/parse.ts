import type { Gateway } from '../../app/gateway.ts'
import type { TaskName } from '../../catalogue/vocabulary.ts'
import { asString } from '../../lib/json-values.ts'
import type { Unguarded } from '../request/inference-request.ts'
import { describeRequest } from '../request/parse.ts'
import type { IncomingMedia, MediaRequest } from './task.ts'

/** Requests with longer prompts are processed in slices. */
const largeCharacters = 1024 * 1024

/** Adds the context of the caller's key and the options of the request. */
export async function parseMediaRequest<Call>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  task: TaskName,
): Promise<Unguarded<MediaRequest<Call>>> {
  const { caller, region, httpRequest, body, call, prompt, size } = incoming
  const startedAt = performance.now()
  const keyContext = await gateway.accounts.findContext(caller.key)
  const characters = size.promptTokens
  return {
    ...describeRequest(gateway, incoming, body, keyContext, startedAt),
    caller,
    region,
    httpRequest,
    format: { name: task, task },
    content: {
      call: prompt,
      body,
      received: { characters, isLarge: characters > largeCharacters, model: asString(body.model) ?? null },
      measure: () => size,
    },
    presetId: null,
    media: call,
  }
}

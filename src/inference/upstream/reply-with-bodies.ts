import { hasOutput } from '../../catalog/model.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import { estimatePromptTokens } from '../../formats/call/size.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { filterUsable } from '../plan/model-access.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { buildRequestBodies } from '../routers/bodybuilder.ts'

const charactersPerToken = 4

/** The reply of service/bodybuilder, with models that the caller can use. */
export async function* replyWithBodies(
  gateway: Gateway,
  { content: { call }, keyContext, region, options }: InferenceRequest,
): AsyncGenerator<ReplyEvent> {
  const texts = gateway.catalog.models.filter((model) => hasOutput(model, 'text'))
  const models = filterUsable(gateway, texts, { ...keyContext, region })
  const text = JSON.stringify(buildRequestBodies(call, models), null, 2)
  yield { type: 'reply-start', model: options.models[0] ?? '' }
  yield { type: 'part-start', choice: 0, part: 0, content: { kind: 'text', text: '' } }
  yield { type: 'part-delta', choice: 0, part: 0, delta: { text } }
  yield { type: 'part-end', choice: 0, part: 0 }
  yield { type: 'choice-end', choice: 0, reason: 'stop', native: 'stop' }
  const output = Math.ceil(text.length / charactersPerToken)
  yield { type: 'usage', usage: { ...zeroUsage, input: estimatePromptTokens(call), output } }
  yield { type: 'reply-end' }
}

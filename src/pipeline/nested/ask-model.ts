import type { Gateway } from '../../app/gateway.ts'
import type { ModelCall, NativeTool } from '../../call/call.ts'
import { responses } from '../../dialects/responses/responses.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../lib/json-values.ts'
import type { AskModelFn, ModelAnswer, ModelQuestion } from '../../tools/tool.ts'
import { encodePrompt } from '../request/content.ts'
import type { IncomingRequest, InferenceRequest } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { AnswerReader, createNestedFormat } from './answer.ts'
import { addNestedRequest } from './bill-line.ts'
import { createNestedHttpRequest } from './http-request.ts'

export type HandleInferenceFn = (gateway: Gateway, incoming: IncomingRequest) => Promise<Response>

/**
 * Asks models on behalf of a request. Each question is a request of the same key through the same pipeline: guarded,
 * routed, admitted with a hold of its own, settled and recorded. It asks no other models itself.
 */
export function createAskModel(
  gateway: Gateway,
  outer: InferenceRequest,
  handleInference: HandleInferenceFn,
): AskModelFn {
  return async (question) => {
    if (outer.isNested) throw invalidFieldError('tools', 'a request of a tool cannot ask another model')
    if (question.model.includes('@preset/'))
      throw invalidFieldError('model', `"${question.model}" must be a model, not a preset`)
    const id = newGenerationId()
    const startedAt = performance.now()
    const answer = new AnswerReader(question)
    try {
      await readToEnd(handleInference(gateway, buildIncoming(gateway, outer, question, answer, id)))
      return buildAnswer(id, answer, question)
    } finally {
      const { provider, usage, cost, isCharged } = answer
      addNestedRequest(outer, { id, purpose: question.purpose, provider, usage, cost, isCharged, startedAt })
    }
  }
}

function buildIncoming(
  gateway: Gateway,
  outer: InferenceRequest,
  { model, call, tools = [], maxToolCalls, signal }: ModelQuestion,
  answer: AnswerReader,
  id: string,
): IncomingRequest {
  const { caller, region, options } = outer
  const native = tools.map(toNativeTool)
  const nestedCall: ModelCall = {
    ...call,
    stream: true,
    ...((call.tools || native.length > 0) && { tools: [...(call.tools ?? []), ...native] }),
  }
  const prompt = encodePrompt(responses, call)
  const { data_collection, zdr } = options.preferences
  const body = omitUndefined({
    ...prompt,
    model,
    stream: true,
    tools: [...((prompt.tools as JsonObject[] | undefined) ?? []), ...tools],
    max_tool_calls: maxToolCalls,
    provider: omitUndefined({ data_collection, zdr }),
    session_id: options.sessionId ?? undefined,
    user: options.user ?? undefined,
  })
  const text = JSON.stringify(body)
  return {
    id,
    caller,
    region,
    httpRequest: createNestedHttpRequest(gateway, outer.httpRequest, signal),
    body,
    source: { text, body, values: 0 },
    format: createNestedFormat(nestedCall, answer),
    isNested: true,
    onSettled: [(settled) => answer.settle(settled)],
  }
}

function toNativeTool(value: JsonObject): NativeTool {
  return { kind: 'native', dialect: 'responses', type: asString(value.type) ?? '', value }
}

/** The events have gone to the reader; the body is empty, and its end is that of the request. */
async function readToEnd(responding: Promise<Response>): Promise<void> {
  const response = await responding
  await response.arrayBuffer()
}

/** A reply without an end was aborted: with the other request, or after its time. */
function buildAnswer(id: string, answer: AnswerReader, { signal }: ModelQuestion): ModelAnswer {
  if (answer.error) throw answer.error
  if (!answer.isComplete)
    throw gatewayError('upstream_timeout', signal.aborted ? 'The request was cancelled.' : undefined)
  const { model, provider, parts, finishReason, usage, cost } = answer
  return { id, model, provider, parts, finishReason, usage, costNanos: cost }
}

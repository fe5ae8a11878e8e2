import type { ModelCall, NativeTool } from '../../formats/call/call.ts'
import { responses } from '../../formats/responses/responses.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { withNestedSpan } from '../../platform/tracing/span-recorder.ts'
import { addNestedRequest } from '../hold/bill-line.ts'
import { encodePrompt } from '../request/content.ts'
import type { IncomingRequest, InferenceRequest } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { nestTrace } from '../settle/event-trace.ts'
import type { CallModelFn, NestedModelReply, NestedModelRequest } from '../tools/tool.ts'
import { withNestedHttpRequest } from './http-request.ts'
import { createNestedFormat, NestedReplyReader } from './reply-reader.ts'

export type HandleInferenceFn = (gateway: Gateway, incoming: IncomingRequest) => Promise<Response>

/**
 * Sends requests to models on behalf of another request: with the same key and through the same pipeline, so that
 * each is guarded, routed, admitted with its own hold, settled and recorded. A nested request cannot nest further.
 */
export function createCallModel(
  gateway: Gateway,
  outer: InferenceRequest,
  handleInference: HandleInferenceFn,
): CallModelFn {
  return async (nested) => {
    if (outer.isNested) throw invalidFieldError('tools', 'a nested request cannot call another model')
    if (nested.model.includes('@preset/'))
      throw invalidFieldError('model', `"${nested.model}" must be a model, not a preset`)
    const id = newGenerationId()
    const startedAt = performance.now()
    const reader = new NestedReplyReader(nested)
    const trace = nestTrace(outer, 'text', nested.purpose, nested.parent)
    try {
      return await withNestedSpan(trace.spans, async () => {
        await withNestedHttpRequest(gateway, outer.httpRequest, nested.signal, (httpRequest) =>
          readToEnd(
            handleInference(gateway, buildIncoming(outer, nested, reader, { id, httpRequest, trace })),
          ),
        )
        return buildReply(id, reader, nested)
      })
    } finally {
      const { provider, usage, cost, isCharged } = reader
      addNestedRequest(outer, { id, purpose: nested.purpose, provider, usage, cost, isCharged, startedAt })
    }
  }
}

function buildIncoming(
  outer: InferenceRequest,
  { model, purpose, call, tools = [], maxToolCalls }: NestedModelRequest,
  reader: NestedReplyReader,
  origin: Pick<IncomingRequest, 'id' | 'httpRequest' | 'trace'>,
): IncomingRequest {
  const { caller, region, options, funds } = outer
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
    ...origin,
    caller,
    region,
    body,
    source: { text, body, values: 0 },
    format: createNestedFormat(nestedCall, reader),
    isNested: true,
    outer: { id: outer.id, purpose },
    tags: options.tags,
    priority: options.priority,
    ...(funds && { outerFunds: funds }),
    onSettled: [(settled) => reader.settle(settled)],
  }
}

function toNativeTool(value: JsonObject): NativeTool {
  return { kind: 'native', wireFormat: 'responses', type: asString(value.type) ?? '', value }
}

/** The reader receives the events; the body is empty, and ends with the request. */
async function readToEnd(responding: Promise<Response>): Promise<void> {
  const response = await responding
  await response.arrayBuffer()
}

/** A reply without an end was aborted: the outer request was canceled, or the time limit was exceeded. */
function buildReply(id: string, reader: NestedReplyReader, { signal }: NestedModelRequest): NestedModelReply {
  if (reader.error) throw reader.error
  if (!reader.isComplete)
    throw gatewayError('upstream_timeout', signal.aborted ? 'The request was canceled.' : undefined)
  const { model, provider, parts, finishReason, usage, cost } = reader
  return { id, model, provider, parts, finishReason, usage, costNanos: cost }
}

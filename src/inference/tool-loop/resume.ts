import type { Message } from '../../formats/call/call.ts'
import type { ToolCallPart, ToolResultPart } from '../../formats/call/part.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { holdFee, holdTurn } from '../hold/extend-hold.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { PreparedTools } from '../tools/prepared-tools.ts'
import { ToolCalls } from './tool-calls.ts'

/**
 * Runs the calls that the client has approved and adds their results to the conversation, which is changed in place.
 * Null if there are none.
 */
export function resumeTools(gateway: Gateway, request: Admitted<InferenceRequest>): Promise<void> | null {
  const { work } = request
  const tools = work?.tools
  return work && tools && tools.approved.length > 0 ? runApproved(gateway, request, work, tools) : null
}

async function runApproved(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
  work: RequestWork,
  tools: PreparedTools,
): Promise<void> {
  const { call } = request.content
  const running = new ToolCalls({
    gateway,
    request,
    work,
    tools,
    model: tools.request.model,
    conversation: call.messages,
    signal: request.httpRequest.signal,
    reserve: (nanos) => holdFee(gateway, request, nanos),
    takePart: () => tools.openingParts++,
  })
  const calls = tools.approved.flatMap((approved) => findTarget(tools, approved))
  for await (const event of running.run(calls, tools.maxCalls)) tools.opening.push(event)
  const messages = fillResults(call.messages, running.results)
  request.content = request.content.replaceCall({ ...call, messages })
  await holdTurn(gateway, request)
}

function findTarget({ functions }: PreparedTools, call: ToolCallPart) {
  const target = functions.get(call.name)
  return target ? [{ call, target }] : []
}

function fillResults(messages: readonly Message[], results: readonly ToolResultPart[]): Message[] {
  const byId = new Map(results.map((result) => [result.id, result]))
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => (part.kind === 'tool-result' ? (byId.get(part.id) ?? part) : part)),
  }))
}

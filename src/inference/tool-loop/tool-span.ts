import type { ToolCallPart } from '../../formats/call/part.ts'
import type { OpenSpan, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import type { PreparedFunction } from '../tools/prepared-tools.ts'
import type { NestedRequests } from '../tools/tool.ts'

const maxNameLength = 128
/** Ids of the model's vendor; a longer one may be text. */
const callIdPattern = /^[\w.:-]{1,128}$/

/** Begins the span of a call, by the GenAI conventions. */
export function beginToolSpan(
  spans: SpanRecorder,
  call: ToolCallPart,
  { tool, instance, name }: PreparedFunction,
): OpenSpan | null {
  const described = instance.describeSpan?.({ ...call, name })
  // A guardrail may have redacted the name that its server gave the tool.
  const named = call.name === name ? described?.tool : described && call.name
  const toolName = (named ?? tool.name).slice(0, maxNameLength)
  return spans.begin(`execute_tool ${toolName}`, {
    kind: described?.kind ?? 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': toolName,
      'gen_ai.tool.type': 'extension',
      ...(callIdPattern.test(call.id) && { 'gen_ai.tool.call.id': call.id }),
      ...described?.attributes,
    },
  })
}

/** The nested requests of a call, whose spans are below its own. */
export function nestBelow({ callModel, generateImage }: NestedRequests, parent: OpenSpan): NestedRequests {
  return {
    callModel: (request) => callModel({ ...request, parent }),
    generateImage: (request) => generateImage({ ...request, parent }),
  }
}

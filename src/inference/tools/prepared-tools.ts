import type { Tool } from '../../formats/call/call.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ToolCallPart } from '../../formats/call/part.ts'
import type { NestedRequests, ServerTool, ToolInstance, ToolRequest } from './tool.ts'

/** A function that the model is offered, and the tool that runs it. */
export interface PreparedFunction {
  tool: Pick<ServerTool, 'name'>
  instance: ToolInstance
  /** The name in the instance. The model may be offered another one, if the client has a tool of that name. */
  name: string
}

/** A condition of `stop_server_tools_when`. */
export type StopCondition =
  | { type: 'step_count_is'; step_count: number }
  | { type: 'has_tool_call'; tool_name: string }
  | { type: 'max_tokens_used'; max_tokens: number }
  | { type: 'max_cost'; max_cost_in_dollars: number }
  | { type: 'finish_reason_is'; reason: string }

/** The server tools of a request. */
export interface PreparedTools {
  /** Functions by the name the model is offered. */
  functions: ReadonlyMap<string, PreparedFunction>
  maxCalls: number
  stopWhen: readonly StopCondition[]
  /** The request, for every call. */
  request: ToolRequest
  nested: NestedRequests
  /** The tools that the model is offered in its next turn. */
  offerTools(): Tool[]
  /** Calls that the client has approved: they are run before the first turn. */
  approved: readonly ToolCallPart[]
  /** The first events of the reply, and the number of its parts that they contain. */
  opening: ReplyEvent[]
  openingParts: number
}

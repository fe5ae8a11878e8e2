import type { Schemas } from '../../api/client.ts'

type Kind = Schemas['ShadowComparison']['differences'][number]['kind']

const kinds: Record<Kind, string> = {
  status: 'Status',
  error: 'Error',
  finish_reason: 'Finish reason',
  choices: 'Number of choices',
  parts: 'Kinds of content',
  tool_calls: 'Tool calls',
  tool_arguments: 'Arguments of a tool call',
  json_shape: 'Fields of a JSON answer',
  structured_output: 'Validity of structured output',
}

export function describeKind(kind: Kind): string {
  return kinds[kind]
}

const reasons: Record<string, string> = {
  too_large: 'Too large',
  queue_full: 'Too many mirrors waited',
  tools: 'Server tools or MCP',
  plugins: 'Plugins',
  cached: 'Answered from a cache',
  rejected: 'Rejected before a provider was called',
  canceled: 'The client disconnected',
  budget: 'Beyond the budget',
  rate_limit: 'Rate limit',
  no_endpoints: 'No endpoint for the mirror',
  policy: 'A guardrail forbids the route of the mirror',
  invalid: 'Not valid here',
  disabled: 'The shadow was disabled or deleted meanwhile',
  shutdown: 'The server was stopped',
  internal: 'Error of the gateway',
}

export function describeReason(reason: string): string {
  return reasons[reason] ?? reason
}
